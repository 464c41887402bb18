"""Every check of every act: whatever changed after the job was seen, the answer says so and not one key is touched."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from itertools import product
from typing import Any

import pytest
from redis import Redis

from jobs.broker.commands import server_time
from tests.support.acts import cancel, delete, enqueue, remove, requeue, stop, target
from tests.support.keyspace import snapshot

pytestmark = pytest.mark.parametrize("rq_version", ["3.0"])

JOB, QUEUE, INTERMEDIATE = "rq:job:a-job", "rq:queue:orders", "rq:queue:orders:intermediate"
FAR = 9_999_999_999


# The jobs, each as its act would take it ------------------------------------------------------------------------------


def failed(real_rq, client):
    real_rq.fail("fx.boom", 7, job_id="a-job")


def queued(real_rq, client):
    real_rq.enqueue("fx.ok", 7, job_id="a-job")


def scheduled(real_rq, client):
    real_rq.enqueue("fx.ok", 7, job_id="a-job", seconds=3600)


def deferred(real_rq, client):
    real_rq.enqueue("fx.ok", 1, job_id="parent")
    real_rq.enqueue("fx.ok", 7, job_id="a-job", depends_on="parent")


def started(real_rq, client):
    queued(real_rq, client)
    client.delete(QUEUE)
    client.hset(JOB, mapping={"status": "started", "worker_name": "w", "started_at": "2026-03-14T15:09:26.000000Z"})
    client.zadd("rq:executions:a-job", {"run": FAR})
    client.zadd("rq:wip:orders", {"a-job:run": FAR})


def gone(real_rq, client):
    failed(real_rq, client)
    client.delete(JOB)


RESTING = [
    (requeue, failed),
    *((delete, make) for make in (failed, queued, scheduled, deferred)),
    *((cancel, make) for make in (queued, scheduled, deferred)),
    (enqueue, scheduled),
]
OF_A_JOB = [*RESTING, (stop, started)]
EVERY = [*OF_A_JOB, (remove, gone)]
LISTED = [pair for pair in RESTING if pair[1] is not queued]


# What may have changed meanwhile --------------------------------------------------------------------------------------


def _of_another_type(key):
    """Redis lets SET replace a value of any type."""
    return lambda client: client.set(key, "x")


DAMAGE = [
    *(JOB, "rq:results:a-job", "rq:executions:a-job", f"{JOB}:dependents", "rq:job::a-job:dependencies"),
    *(QUEUE, INTERMEDIATE, "rq:queues", "rq:wip:orders", "rq:failed:orders", "rq:finished:orders"),
    *("rq:scheduled:orders", "rq:deferred:orders", "rq:canceled:orders", "rq:ready:orders"),
]
CHANGES: dict[str, tuple[list[Any], Callable[[Redis], Any], str]] = {
    "gone": (OF_A_JOB, lambda client: client.delete(JOB), "gone"),
    "without a status": (OF_A_JOB, lambda client: client.hdel(JOB, "status"), "gone"),
    "of another queue": (OF_A_JOB, lambda client: client.hset(JOB, "origin", "payroll"), "gone"),
    "of another status": (EVERY, lambda client: client.hset(JOB, "status", "finished"), "changed"),
    "of a status that no RQ knows": (EVERY, lambda client: client.hset(JOB, "status", "odd"), "changed"),
    "queued or begun another time": (
        [pair for pair in OF_A_JOB if pair[1] is not failed],
        lambda client: client.hset(JOB, "enqueued_at", "2026-03-14T15:09:26.000001Z"),
        "changed",
    ),
    "with a newer result": (
        [pair for pair in RESTING if pair[1] is failed],
        lambda client: client.xadd("rq:results:a-job", {"type": 2}),
        "changed",
    ),
    "taken out of its registry": (
        LISTED,
        lambda client: client.delete("rq:failed:orders", "rq:scheduled:orders", "rq:deferred:orders"),
        "changed",
    ),
    "rate limited": (OF_A_JOB, lambda client: client.hset(JOB, "rate_limit_key", "bank"), "rate_limited"),
    "running": (
        [*RESTING, (remove, gone)],
        lambda client: client.zadd("rq:executions:a-job", {"run": FAR}),
        "running",
    ),
    "with a lease that still runs": (
        [*RESTING, (remove, gone)],
        lambda client: client.zadd("rq:wip:orders", {"a-job:run": FAR}),
        "running",
    ),
    "with a run that RQ has yet to give up": (
        [(requeue, failed), (enqueue, scheduled)],
        lambda client: client.zadd("rq:wip:orders", {"a-job:run": 1}),
        "running",
    ),
    "in a worker's hand": (RESTING, lambda client: client.rpush(INTERMEDIATE, "a-job"), "taken"),
    "already queued": (
        [(requeue, failed), (enqueue, scheduled)],
        lambda client: client.rpush(QUEUE, "b-job", "a-job"),
        "queued",
    ),
    "without a run": (
        [(stop, started)],
        lambda client: client.delete("rq:executions:a-job", "rq:wip:orders"),
        "changed",
    ),
    "listed nowhere": ([(remove, gone)], lambda client: client.delete("rq:failed:orders"), "gone"),
    "another queue's": ([(remove, gone)], lambda client: client.hset(JOB, "origin", "payroll"), "gone"),
    **{
        f"damaged at {key}": (
            [pair for pair in EVERY if not (pair[1] is gone and key == JOB)],
            _of_another_type(key),
            "damaged",
        )
        for key in DAMAGE
    },
}
CASES = [
    pytest.param(act, make, change, answer, id=f"{act.__name__}-{make.__name__}-{name}")
    for name, (pairs, change, answer) in CHANGES.items()
    for act, make in pairs
]


@pytest.mark.parametrize(("act", "make", "change", "answer"), CASES)
def test_what_changed_since_it_was_seen_is_left_as_it_is(real_rq, redis_client, act, make, change, answer):
    make(real_rq, redis_client)
    seen = target("a-job")
    change(redis_client)
    before = snapshot(redis_client)
    assert act(seen) == answer
    assert snapshot(redis_client) == before


@pytest.mark.parametrize(("act", "make"), EVERY)
def test_after_the_deadline_nothing_is_done(real_rq, redis_client, act, make):
    make(real_rq, redis_client)
    late = target("a-job", deadline=server_time("default") - timedelta(milliseconds=1))
    before = snapshot(redis_client)
    assert act(late) == "too_late"
    assert snapshot(redis_client) == before


@pytest.mark.parametrize(("act", "make"), EVERY)
def test_the_same_act_sent_again_does_nothing_more(real_rq, redis_client, act, make):
    make(real_rq, redis_client)
    seen = target("a-job")
    with redis_client.pubsub() as worker:
        worker.subscribe("rq:pubsub:nobody")
        worker.get_message(timeout=5)
        assert act(seen) == "done"
        after = snapshot(redis_client)
        assert act(seen) == "already_done"
    assert snapshot(redis_client) == after


WRONG_STATES = [
    (requeue, (queued, scheduled, deferred, started)),
    (cancel, (failed, started)),
    (enqueue, (failed, deferred, started)),
    (stop, (failed, queued, scheduled, deferred)),
    (remove, (failed, queued, scheduled, deferred, started)),
]


@pytest.mark.parametrize(("act", "make"), [pair for act, makes in WRONG_STATES for pair in product([act], makes)])
def test_an_act_is_for_jobs_of_its_own_states_alone(real_rq, redis_client, act, make):
    make(real_rq, redis_client)
    before = snapshot(redis_client)
    assert act(target("a-job")) == "changed"
    assert snapshot(redis_client) == before


def test_a_worker_that_nobody_is_hears_nothing(real_rq, redis_client):
    started(real_rq, redis_client)
    before = snapshot(redis_client)
    assert stop(target("a-job")) == "unheard"
    assert snapshot(redis_client) == before
