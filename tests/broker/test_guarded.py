"""The reading client cannot write, however it is asked."""

from __future__ import annotations

import pytest
from redis import Redis

from jobs.broker import connections
from jobs.broker.errors import UnknownConnection, WriteOnReadPath
from jobs.broker.guarded import WATCH_COMMANDS


@pytest.fixture
def reader(redis_client):
    with connections.reading("default") as client:
        yield client


WRITES = [
    ("SET", "a", "b"),
    ("set", "a", "b"),
    ("DEL", "a"),
    ("FLUSHALL",),
    ("EVAL", "return 1", 0),
    ("ZADD", "a", 1, "b"),
    ("HSET", "a", "b", "c"),
    ("SORT", "a", "STORE", "b"),
    ("GETEX", "a", "PERSIST"),
    ("XREADGROUP", "GROUP", "a", "b", "STREAMS", "c", ">"),
    ("EXPIRE", "a", 1),
    ("PUBLISH", "a", "b"),
    ("CONFIG", "SET", "maxmemory", "1"),
    ("KEYS", "*"),
    ("MULTI",),
]


@pytest.mark.parametrize("command", WRITES, ids=lambda command: command[0])
def test_a_command_that_is_no_plain_read_never_leaves_the_process(reader, redis_client, command):
    with pytest.raises(WriteOnReadPath):
        reader.execute_command(*command)
    with pytest.raises(WriteOnReadPath):
        reader.pipeline().execute_command(*command)
    assert redis_client.dbsize() == 0


def test_the_methods_of_the_library_are_refused_like_their_commands(reader):
    for act in (lambda: reader.set("a", "b"), lambda: reader.delete("a"), lambda: reader.pipeline().rpush("a", "b")):
        with pytest.raises(WriteOnReadPath):
            act()


def test_no_transaction_can_be_begun(reader):
    with pytest.raises(WriteOnReadPath):
        reader.pipeline(transaction=True)


def test_every_allowed_command_is_one_that_the_server_calls_read_only(redis_client):
    without_keys = {"PING", "INFO", "TIME"}
    known = redis_client.command()
    assert [name for name in WATCH_COMMANDS - without_keys if "readonly" not in known[name.lower()]["flags"]] == []


def test_only_the_observer_may_go_through_whole_keys(reader):
    for ask in (lambda client: client.scan(), lambda client: client.zscan("rq:failed:orders")):
        with pytest.raises(WriteOnReadPath):
            ask(reader)
        with connections.watching("default") as watcher:
            ask(watcher)


@pytest.mark.parametrize("command", WRITES, ids=lambda command: command[0])
def test_the_observer_writes_as_little_as_a_page(redis_client, command):
    with connections.watching("default") as watcher:
        for client in (watcher, watcher.pipeline()):
            with pytest.raises(WriteOnReadPath):
                client.execute_command(*command)


def test_a_connection_that_nobody_configured_is_unknown(redis_client):
    with pytest.raises(UnknownConnection):
        connections.get("nowhere")


def test_a_host_projects_queues_name_the_connections(settings, redis_client, valkey):
    del settings.OPSBOARD_CONNECTIONS
    settings.RQ_QUEUES = {
        "default": {"URL": valkey.url},
        "mail": {"URL": valkey.url},
        "far": {"HOST": "127.0.0.1", "PORT": valkey.port, "DB": 3},
    }
    connections.reset()
    assert connections.names() == ("default", "far")
    with connections.reading("far") as client:
        assert client.ping()


def test_the_acting_client_never_sends_a_command_twice(redis_client):
    client = connections.acting_client("default")
    assert isinstance(client, Redis)
    assert client.get_retry().get_retries() == 0
