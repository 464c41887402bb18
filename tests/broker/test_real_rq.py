"""The tests' own ground: that the RQ they talk to is real, and that what measures it measures."""

from __future__ import annotations

import pytest

from tests.support.keyspace import snapshot
from tests.support.real_rq import wait_until
from tests.support.traffic import count_traffic


def test_each_version_is_the_one_it_says(real_rq, rq_version):
    assert real_rq.evaluate("rq.VERSION").startswith(rq_version + ".")


def test_a_stock_worker_fails_a_job_and_records_why(real_rq, redis_client):
    job_id = real_rq.fail("fx.boom", 7, job_id="seven", meta={"shop": 3})
    assert redis_client.hget(f"rq:job:{job_id}", "status") == b"failed"
    assert redis_client.zscore("rq:failed:orders", "seven")


def test_a_worker_outlives_its_killed_horse(real_rq, redis_client):
    worker = real_rq.start("orders")
    real_rq.enqueue("fx.slow", 7, 60, job_id="seven")
    worker.kill_horse()
    wait_until(lambda: redis_client.hget("rq:job:seven", "status") == b"failed", "the worker notices")
    assert worker.stop() == 0


def test_a_lost_host_leaves_its_job_started(real_rq, redis_client):
    worker = real_rq.start("orders")
    real_rq.enqueue("fx.slow", 7, 60, job_id="seven")
    worker.wait_for_horse()
    wait_until(lambda: redis_client.hget("rq:job:seven", "status") == b"started", "the horse says that it began")
    worker.kill_session()
    assert redis_client.hget("rq:job:seven", "status") == b"started"


def test_arguments_may_be_of_a_class_that_only_the_worker_knows(real_rq, redis_client):
    real_rq.fail("fx.boom", expression="(fx.Parcel(7),)", job_id="seven")
    assert b"fx" in redis_client.hget("rq:job:seven", "description")


def test_a_snapshot_shows_a_changed_value_and_a_lost_expiry(redis_client):
    redis_client.hset("hash", "field", "a")
    redis_client.set("string", "a", ex=100)
    before = snapshot(redis_client)
    assert snapshot(redis_client) == before
    redis_client.persist("string")
    assert snapshot(redis_client) != before


@pytest.mark.parametrize(
    "change", ["hset hash field b", "rpush list b", "zadd zset 2 a", "xadd stream * a c", "sadd set b"]
)
def test_a_snapshot_shows_a_change_of_every_type(redis_client, change):
    for command in ("hset hash field a", "rpush list a", "zadd zset 1 a", "xadd stream * a b", "sadd set a"):
        redis_client.execute_command(*command.split())
    before = snapshot(redis_client)
    redis_client.execute_command(*change.split())
    assert snapshot(redis_client) != before


def test_traffic_counts_commands_and_round_trips_but_no_handshake(redis_client, valkey):
    with count_traffic(redis_client) as traffic, type(redis_client).from_url(valkey.url) as fresh:
        fresh.get("a")
        fresh.pipeline(transaction=False).get("a").llen("b").execute()
    assert (traffic.commands, traffic.round_trips, traffic.connections) == (3, 2, 1)
    assert traffic.by_command == {"get": 2, "llen": 1}
