"""The acts on jobs that wait, run or are gone, on what real queues and workers of both versions hold."""

from __future__ import annotations

from datetime import timedelta

import pytest

from jobs.broker.commands import marks, server_time
from tests.support.acts import MARK, cancel, delete, enqueue, remove, stop, target
from tests.support.keyspace import snapshot
from tests.support.real_rq import wait_until

ORDERS = "rq:queue:orders"
LATER = {"seconds": 3600}


def status(client, job_id):
    return client.hget(f"rq:job:{job_id}", "status")


# Enqueue now ----------------------------------------------------------------------------------------------------------


def test_a_scheduled_job_that_is_queued_now_runs_at_once(real_rq, redis_client):
    job_id = real_rq.enqueue("fx.effect", 7, **LATER)
    assert enqueue(target(job_id)) == "done"
    assert redis_client.zcard("rq:scheduled:orders") == 0
    real_rq.burst("orders")
    assert (status(redis_client, job_id), redis_client.get("effect:7")) == (b"finished", b"1")


def test_an_id_that_its_queue_has_lost_is_put_back(real_rq, redis_client):
    job_id = real_rq.enqueue("fx.effect", 7)
    redis_client.delete(ORDERS)
    assert enqueue(target(job_id)) == "done"
    assert redis_client.lrange(ORDERS, 0, -1) == [job_id.encode()]


@pytest.mark.parametrize("rq_version", ["3.0"])
def test_an_id_far_back_in_a_very_long_queue_is_not_lost(real_rq, redis_client):
    job_id = real_rq.enqueue("fx.effect", 7)
    redis_client.lpush(ORDERS, *range(60_000))
    assert enqueue(target(job_id)) == "queued"
    assert redis_client.llen(ORDERS) == 60_001


def test_what_the_scheduler_may_be_queueing_this_second_is_left_to_it(real_rq, redis_client):
    job_id = real_rq.enqueue("fx.effect", 7, **LATER)
    redis_client.zadd("rq:scheduled:orders", {job_id: server_time("default").timestamp() + 1})
    redis_client.set("rq:scheduler-lock:orders", "a scheduler")
    before = snapshot(redis_client)
    assert [act(target(job_id)) for act in (enqueue, cancel, delete)] == ["taken"] * 3
    assert snapshot(redis_client) == before


def test_what_is_overdue_without_a_scheduler_can_be_queued_by_hand(real_rq, redis_client):
    job_id = real_rq.enqueue("fx.effect", 7, **LATER)
    redis_client.zadd("rq:scheduled:orders", {job_id: 1})
    assert enqueue(target(job_id)) == "done"


# Cancel ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, LATER], ids=["queued", "scheduled"])
def test_a_cancelled_job_does_not_run(real_rq, redis_client, options):
    job_id = real_rq.enqueue("fx.effect", 7, **options)
    redis_client.rpush(ORDERS, job_id)
    assert cancel(target(job_id)) == "done"
    real_rq.burst("orders")
    assert (status(redis_client, job_id), redis_client.get("effect:7")) == (b"canceled", None)
    assert redis_client.zcard("rq:scheduled:orders") == 0 and redis_client.zscore("rq:canceled:orders", job_id)


def test_a_cancelled_job_stays_so_when_what_it_waited_for_is_done(real_rq, redis_client):
    parent = real_rq.enqueue("fx.ok", 1)
    child = real_rq.enqueue("fx.effect", 7, depends_on=parent)
    assert cancel(target(child)) == "done"
    real_rq.burst("orders")
    assert (status(redis_client, child), redis_client.get("effect:7")) == (b"canceled", None)


def test_what_a_worker_of_several_queues_has_taken_is_not_cancelled(real_rq, redis_client):
    """It takes the id out by BLPOP, and for a moment nothing says where it is."""
    job_id = real_rq.enqueue("fx.effect", 7)
    redis_client.lpop(ORDERS)
    before = snapshot(redis_client)
    assert cancel(target(job_id)) == "taken"
    assert snapshot(redis_client) == before


# Delete ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", ["queued", "scheduled", "deferred", "canceled", "finished", "lost"])
def test_a_job_of_any_state_is_deleted_without_a_trace(real_rq, redis_client, state):
    parent = real_rq.enqueue("fx.ok", 1, job_id="parent", queue="payroll")
    job_id = _make(real_rq, redis_client, state, parent)
    assert delete(target(job_id), dependency_ids=("parent",)) == "done"
    assert job_id.encode() not in b" ".join(_everything(redis_client))


def _make(real_rq, client, state, parent):
    if state == "finished":
        return real_rq.fail("fx.ok", 7)
    options = {"scheduled": LATER, "deferred": {"depends_on": parent}}.get(state, {})
    job_id = real_rq.enqueue("fx.ok", 7, **options)
    if state == "canceled":
        real_rq.evaluate(f"rq.job.Job.fetch({job_id!r}, connection=connection).cancel()")
    if state == "lost":
        client.delete(ORDERS)
    return job_id


def _everything(client):
    return [repr((key, stored)).encode() for key, stored in snapshot(client).items()]


def test_a_running_job_is_neither_deleted_nor_cancelled_nor_queued(real_rq, redis_client):
    job_id = real_rq.enqueue("fx.slow", 7, 60)
    real_rq.start("orders").wait_for_horse()
    wait_until(lambda: status(redis_client, job_id) == b"started", "the job runs")
    assert [act(target(job_id)) for act in (delete, cancel, enqueue)] == ["running", "changed", "changed"]
    assert not redis_client.exists(MARK)


# Stop -----------------------------------------------------------------------------------------------------------------


def test_a_worker_that_is_told_to_stop_ends_the_run(real_rq, redis_client):
    job_id = real_rq.enqueue("fx.slow", 7, 60)
    worker = real_rq.start("orders")
    worker.wait_for_horse()
    wait_until(lambda: status(redis_client, job_id) == b"started", "the job runs")
    assert stop(target(job_id), worker_name=worker.name) == "done"
    wait_until(lambda: status(redis_client, job_id) == b"stopped", "the job is stopped")
    assert "audit-1" in marks("default", ["audit-1"])


def test_a_worker_that_does_not_listen_leaves_everything_as_it_was(real_rq, redis_client):
    job_id = real_rq.enqueue("fx.slow", 7, 60)
    worker = real_rq.start("orders")
    worker.wait_for_horse()
    wait_until(lambda: status(redis_client, job_id) == b"started", "the job runs")
    worker.kill_session()
    before = snapshot(redis_client)
    assert stop(target(job_id), worker_name=worker.name) == "unheard"
    assert snapshot(redis_client) == before


# Remove entry ---------------------------------------------------------------------------------------------------------


def test_an_id_without_a_job_is_taken_out_of_every_list(real_rq, redis_client):
    job_id = real_rq.fail("fx.boom", 7)
    redis_client.delete(f"rq:job:{job_id}")
    for registry in ("finished", "scheduled", "deferred", "canceled", "ready"):
        redis_client.zadd(f"rq:{registry}:orders", {job_id: 1, "other": 2})
    redis_client.zadd("rq:wip:orders", {f"{job_id}:run": 1, f"{job_id}-x:run": 1})
    redis_client.rpush(ORDERS, job_id, job_id, "other")
    assert remove(target(job_id)) == "done"
    assert redis_client.lrange(ORDERS, 0, -1) == [b"other"]
    assert redis_client.zrange("rq:wip:orders", 0, -1) == [f"{job_id}-x:run".encode()]
    redis_client.delete("rq:wip:orders")
    assert job_id.encode() not in b" ".join(_everything(redis_client))


def test_what_a_heartbeat_wrote_after_the_job_was_deleted_is_cleared_too(real_rq, redis_client):
    job_id = real_rq.fail("fx.boom", 7)
    redis_client.delete(f"rq:job:{job_id}")
    redis_client.hset(f"rq:job:{job_id}", "last_heartbeat", "2026-03-14T15:09:26.000000Z")
    assert remove(target(job_id)) == "done"
    assert job_id.encode() not in b" ".join(_everything(redis_client))


@pytest.mark.parametrize("rq_version", ["3.0"])
def test_a_job_that_came_back_is_not_cleared_away(real_rq, redis_client):
    job_id = real_rq.fail("fx.boom", 7)
    whole = redis_client.dump(f"rq:job:{job_id}")
    redis_client.delete(f"rq:job:{job_id}")
    seen = target(job_id)
    redis_client.restore(f"rq:job:{job_id}", 0, whole)
    before = snapshot(redis_client)
    assert remove(seen) == "changed"
    assert snapshot(redis_client) == before


@pytest.mark.parametrize("rq_version", ["3.0"])
def test_a_lease_that_still_runs_keeps_an_entry(real_rq, redis_client):
    job_id = real_rq.fail("fx.boom", 7)
    redis_client.delete(f"rq:job:{job_id}")
    lease = (server_time("default") + timedelta(seconds=60)).timestamp()
    redis_client.zadd("rq:wip:orders", {f"{job_id}:run": lease})
    before = snapshot(redis_client)
    assert remove(target(job_id)) == "running"
    assert snapshot(redis_client) == before
