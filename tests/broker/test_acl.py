"""deploy/redis-acl.conf: enough for the code, and no more than that."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from redis import Redis, exceptions

from exports.requesting import request_export
from exports.tasks import build_export
from jobs.broker import connections
from jobs.broker.deliveries import Dispatch, declared_by, push_again
from jobs.broker.guarded import READ_COMMANDS, WATCH_COMMANDS
from jobs.models import Operation
from opsboard.runner.valkey import EmbeddedValkey, free_port
from tests.exports.shop import a_person

ACL = Path(__file__).parents[2] / "deploy/redis-acl.conf"
# Whole commands: with too few arguments a server answers before it asks who may.
READS = """EXISTS rq:a|GET rq:a|HGET rq:a b|HMGET rq:a b|HSTRLEN rq:a b|INFO|LINDEX rq:a 0|LLEN rq:a|LPOS rq:a b
LRANGE rq:a 0 -1|PING|PTTL rq:a|SCARD rq:a|SMEMBERS rq:a|TIME|TTL rq:a|TYPE rq:a|XLEN rq:a|XRANGE rq:a - +
XREAD STREAMS rq:a 0|XREVRANGE rq:a + -|ZCARD rq:a|ZCOUNT rq:a 0 1|ZRANGE rq:a 0 -1|ZRANGEBYSCORE rq:a 0 1
ZREVRANGE rq:a 0 -1|ZREVRANGEBYSCORE rq:a 1 0|ZREVRANK rq:a b|ZSCORE rq:a b""".replace("\n", "|").split("|")
WRITES = [
    "SET rq:a 1",
    "DEL rq:a",
    "HSET rq:a b c",
    "RPUSH rq:a b",
    "ZADD rq:a 1 b",
    "EXPIRE rq:a 9",
    "XADD rq:a * b c",
]
WATCHES = ["SCAN 0", "ZSCAN rq:a 0"]
"""What the observer sends besides."""
DANGERS = ["FLUSHALL", "CONFIG GET *", "KEYS *", "ACL LIST", "SHUTDOWN", "MONITOR", "SAVE"]
SCRIPTS = Path(__file__).parents[2] / "jobs/broker/lua"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server whose configuration takes in the file as it ships, passwords aside."""
    users = re.findall(r"^user .*$", ACL.read_text().replace("CHANGE-ME", "secret"), re.MULTILINE)
    embedded = EmbeddedValkey(folder=tmp_path_factory.mktemp("acl"), port=free_port(), users=users)
    process = embedded.start()
    yield embedded
    process.kill()
    process.wait()


@pytest.fixture
def account(server, request):
    with Redis.from_url(server.url_for(f"opsboard-{request.param}", "secret"), protocol=2) as client:
        yield client


@pytest.mark.parametrize("account", ["reader", "actor"], indirect=True)
@pytest.mark.parametrize("command", READS)
def test_whatever_the_reading_client_may_send_is_allowed(account, command):
    account.execute_command(*command.split(" "))


@pytest.mark.parametrize("account", ["reader"], indirect=True)
@pytest.mark.parametrize("command", WATCHES)
def test_whatever_the_observer_may_send_is_allowed_to_the_reader(account, command):
    account.execute_command(*command.split(" "))


def test_these_are_all_that_they_may_send():
    assert {command.split(" ")[0] for command in READS} == READ_COMMANDS
    assert {command.split(" ")[0] for command in [*READS, *WATCHES]} == WATCH_COMMANDS


@pytest.mark.parametrize("account", ["reader"], indirect=True)
@pytest.mark.parametrize("command", [*WRITES, *DANGERS, "EVAL return 0", "PUBLISH rq:pubsub:a b"])
def test_the_reader_changes_nothing(account, command):
    with pytest.raises(exceptions.NoPermissionError):
        account.execute_command(*command.split(" "))


@pytest.mark.parametrize("account", ["actor"], indirect=True)
@pytest.mark.parametrize("command", [*DANGERS, *WATCHES, "SET other 1", "GET other", "PUBLISH other b", "SCRIPT FLUSH"])
def test_the_actor_touches_nothing_but_jobs_and_marks(account, command):
    with pytest.raises(exceptions.NoPermissionError):
        account.execute_command(*command.split(" "))


@pytest.mark.parametrize("account", ["reader"], indirect=True)
def test_the_reader_reads_no_other_application(account):
    with pytest.raises(exceptions.NoPermissionError):
        account.get("session:7")


@pytest.mark.parametrize("script", sorted(SCRIPTS.glob("*.lua")), ids=lambda path: path.stem)
def test_every_command_of_every_script_is_allowed_to_the_actor(script):
    allowed = set(re.findall(r"\+([a-z]+)", ACL.read_text().partition("user opsboard-actor")[2]))
    called = {name.lower() for name in re.findall(r"redis\.p?call\('(\w+)'", script.read_text())}
    assert called <= allowed


@pytest.mark.parametrize("account", ["reader", "actor"], indirect=True)
def test_both_protocols_of_the_client_connect(server, account):
    user = account.get_connection_kwargs()["username"]
    for protocol in (2, 3):
        with Redis.from_url(server.url_for(user, "secret", database=1), protocol=protocol) as client:
            assert client.ping()


def test_the_actor_can_put_an_operation_on_its_queue(server, settings):
    """What the observer does with one that got lost, by RQ's own commands."""
    url = server.url_for("opsboard-actor", "secret")
    settings.OPSBOARD_CONNECTIONS = {"default": {"url": url, "read_url": None, "prefix": "rq"}}
    connections.reset()
    operation = Operation(
        operation_id="ship:7",
        connection="default",
        queue="orders",
        job_id="7" * 32,
        job_type="shop.tasks.ship",
        args={"order_id": 7},
        dispatch=Dispatch(timeout=30).to_json(),
    )
    push_again(operation)
    with Redis.from_url(url) as client:
        assert client.lrange("rq:queue:orders", 0, -1) == [b"7" * 32]


@pytest.mark.django_db(transaction=True)
def test_the_actor_can_queue_an_export_as_the_pages_do(server, monkeypatch):
    """Through RQ's own commands too, and a client that is given up on soon."""
    queue = declared_by(build_export.delay).queue
    with Redis.from_url(server.url_for("opsboard-actor", "secret")) as client:
        monkeypatch.setattr(queue, "connection", client)
        operation = request_export(a_person("clara"), "2025", "").export.operation
        assert client.lrange("rq:queue:exports", 0, -1) == [operation.job_id.encode()]
