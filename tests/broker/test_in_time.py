"""A client for somebody who waits: the same store and account, and no more patience than a page has."""

from __future__ import annotations

import gc
import os
import time
import weakref
from contextlib import suppress

import pytest
from redis import BlockingConnectionPool, ConnectionPool, Redis, exceptions
from redis.backoff import NoBackoff
from redis.retry import Retry
from redis.sentinel import Sentinel

from jobs.broker import connections
from jobs.broker.connections import CONNECT_SECONDS, READ_SECONDS, in_time
from opsboard.runner.valkey import free_port
from tests.safety.servers import be_silent, full_server, serving

PATIENT = 60
"""What a project may have set; and what a test that hangs would take."""
RETRY = Retry(NoBackoff(), 200)


class OwnPool(ConnectionPool):
    """A project's own, of which nobody knows how it makes its connections."""


def patient(port: int, **options) -> Redis:
    return Redis(host="127.0.0.1", port=port, socket_timeout=PATIENT, socket_connect_timeout=PATIENT, **options)


def test_it_asks_the_same_store_as_the_same_account(valkey, redis_client):
    redis_client.execute_command("ACL", "SETUSER", "one", "on", ">secret", "~*", "+@all")
    account = {"username": "one", "password": "secret", "db": 3, "client_name": "shop"}
    found = in_time(patient(valkey.port, **account))
    assert found.execute_command("ACL", "WHOAMI") == b"one"
    info = found.client_info()
    assert (info["db"], info["name"]) == (3, "shop")
    redis_client.execute_command("ACL", "DELUSER", "one")


@pytest.mark.parametrize("made", ["plain", "by address", "blocking", "with retries"])
def test_a_silent_store_is_given_up_on_in_seconds_whatever_the_project_has_set(made, monkeypatch):
    monkeypatch.setattr(connections, "READ_SECONDS", 0.2)
    with serving(be_silent) as port:
        address = f"redis://127.0.0.1:{port}/0?socket_timeout={PATIENT}"
        client = {
            "plain": lambda: patient(port),
            "by address": lambda: Redis.from_url(address),
            "blocking": lambda: Redis(connection_pool=BlockingConnectionPool.from_url(address)),
            "with retries": lambda: patient(port, retry=RETRY, retry_on_error=[exceptions.TimeoutError]),
        }[made]()
        began = time.monotonic()
        with pytest.raises(exceptions.TimeoutError):
            in_time(client).ping()
    assert time.monotonic() - began < PATIENT / 3


def test_nor_is_one_waited_for_that_takes_no_connection(monkeypatch):
    monkeypatch.setattr(connections, "CONNECT_SECONDS", 0.2)
    with full_server() as port:
        began = time.monotonic()
        with pytest.raises(exceptions.RedisError):
            in_time(patient(port)).ping()
    assert time.monotonic() - began < PATIENT / 3


def test_the_client_that_was_given_is_as_patient_as_it_was(valkey):
    client = patient(valkey.port)
    before = dict(client.connection_pool.connection_kwargs)
    found = in_time(client)
    assert found is not client and client.connection_pool.connection_kwargs == before
    limits = found.connection_pool.connection_kwargs
    assert (limits["socket_connect_timeout"], limits["socket_timeout"]) == (CONNECT_SECONDS, READ_SECONDS)
    assert PATIENT not in [value for name, value in limits.items() if "timeout" in name]


def test_the_clients_of_one_pool_share_one_and_those_of_two_have_two(valkey):
    client = patient(valkey.port)
    other = Redis(connection_pool=client.connection_pool)
    assert in_time(client) is in_time(other) is not in_time(patient(valkey.port))


def test_it_goes_with_the_pool_that_it_was_made_for(valkey):
    pool = weakref.ref((client := patient(valkey.port)).connection_pool)
    made = weakref.ref(in_time(client).connection_pool)
    del client
    # The first frees the entry, the second what was kept by it and knows itself.
    gc.collect()
    gc.collect()
    assert (pool(), made()) == (None, None)


def test_a_server_that_is_found_through_sentinel_or_by_a_pool_of_ones_own_is_asked_as_before():
    master = Sentinel([("127.0.0.1", free_port())]).master_for("store")
    own = Redis(connection_pool=OwnPool.from_url("redis://127.0.0.1:1/0"))
    assert (in_time(master), in_time(own)) == (master, own)


def test_a_process_that_forks_does_not_share_its_connection_with_the_child(valkey, redis_client):
    client = patient(valkey.port)
    parents = in_time(client).client_id()
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        with suppress(BaseException):
            os.write(writing, str(in_time(client).client_id()).encode())
        os._exit(0)
    os.waitpid(pid, 0)
    os.close(writing)
    childs = int(os.read(reading, 100))
    os.close(reading)
    assert childs != parents and in_time(client).client_id() == parents
