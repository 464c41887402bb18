"""The overview's numbers, as real workers of both versions leave them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from jobs.broker.queues import queue_names, read_overview
from tests.support.real_rq import wait_until
from tests.support.traffic import count_traffic


def counts(now=None, sees=lambda queue: True):
    _, rows = read_overview("default", sees, now or datetime.now(UTC))
    return {row.name: row for row in rows}


def test_jobs_are_counted_by_state(real_rq):
    real_rq.fail("fx.boom", 1)
    real_rq.fail("fx.ok", 2)
    real_rq.enqueue("fx.ok", 3)
    real_rq.enqueue("fx.ok", 4, seconds=3600)
    row = counts()["orders"]
    assert (row.queued, row.counts["failed"], row.counts["finished"], row.counts["scheduled"]) == (1, 1, 1, 1)
    assert row.next_due_at > datetime.now(UTC) + timedelta(minutes=50)


def test_the_oldest_waiting_job_counts_even_behind_a_younger_one(real_rq, redis_client):
    old = real_rq.enqueue("fx.ok", 1)
    real_rq.enqueue("fx.ok", 2, at_front=True)
    redis_client.hset(f"rq:job:{old}", "enqueued_at", "2026-01-01T00:00:00.000000Z")
    assert counts()["orders"].oldest_enqueued_at == datetime(2026, 1, 1, tzinfo=UTC)


def test_workers_count_only_while_their_record_lives(real_rq, redis_client):
    real_rq.enqueue("fx.ok", 1)
    worker = real_rq.start("orders")
    assert counts()["orders"].workers_alive == 1
    worker.kill_session()
    redis_client.delete(f"rq:worker:{worker.name}")
    assert counts()["orders"].workers_alive == 0


def test_a_scheduler_is_known_by_its_lock(real_rq):
    real_rq.enqueue("fx.ok", 1, seconds=3600)
    assert counts()["orders"].has_scheduler is False
    real_rq.start("orders", arguments=("--with-scheduler",))
    wait_until(lambda: counts()["orders"].has_scheduler, "the scheduler holds the queue's lock")


def test_a_lease_that_ran_out_is_counted(real_rq, redis_client):
    real_rq.enqueue("fx.ok", 1)
    redis_client.zadd("rq:wip:orders", {"a:1": 1000, "b:2": 9999999999})
    row = counts()["orders"]
    assert (row.expired_leases, row.counts["started"]) == (1, 2)


@pytest.mark.parametrize("rq_version", ["3.0"])
def test_queues_that_one_may_not_see_are_not_even_asked_for(real_rq, redis_client):
    for queue in ("orders", "payroll"):
        real_rq.enqueue("fx.ok", 1, queue=queue)
    counts()
    with count_traffic(redis_client) as traffic:
        assert set(counts(sees=lambda queue: queue == "orders")) == {"orders"}
    assert traffic.by_command["llen"] == 1


@pytest.mark.parametrize("rq_version", ["3.0"])
@pytest.mark.parametrize("queues", [1, 40])
def test_the_overview_is_three_round_trips_for_any_number_of_queues(real_rq, redis_client, queues):
    redis_client.sadd("rq:queues", *[f"rq:queue:q{at}" for at in range(queues)])
    counts()
    with count_traffic(redis_client) as traffic:
        counts()
    assert traffic.round_trips == 3


@pytest.mark.parametrize("rq_version", ["3.0"])
def test_the_store_says_whether_it_may_drop_jobs(real_rq, redis_client):
    try:
        redis_client.config_set("maxmemory", "100mb")
        redis_client.config_set("maxmemory-policy", "allkeys-lru")
        health, _ = read_overview("default", lambda queue: True, datetime.now(UTC))
        assert health.may_drop_jobs and health.eviction_policy == "allkeys-lru"
    finally:
        redis_client.config_set("maxmemory-policy", "noeviction")
        redis_client.config_set("maxmemory", "0")
    health, _ = read_overview("default", lambda queue: True, datetime.now(UTC))
    assert not health.may_drop_jobs


@pytest.mark.parametrize("rq_version", ["3.0"])
def test_odd_queue_names_are_kept_and_strange_members_left_out(real_rq, redis_client):
    redis_client.sadd("rq:queues", "rq:queue:mail/eu", "rq:queue:ünï", "nonsense", "rq:queue:")
    assert queue_names("default") == ["mail/eu", "ünï"]


@pytest.mark.parametrize("rq_version", ["3.0"])
def test_keys_of_the_wrong_type_are_counted_as_nothing(real_rq, redis_client):
    redis_client.sadd("rq:queues", "rq:queue:orders")
    for key in ("rq:queue:orders", "rq:failed:orders", "rq:wip:orders", "rq:workers:orders"):
        redis_client.set(key, "x")
    row = counts()["orders"]
    assert (row.queued, row.counts["failed"], row.workers_alive) == (0, 0, 0)
