"""Enqueue, cancel, stop and strike off, from the wish to the record; delete where no job has failed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from django.core.exceptions import PermissionDenied

from jobs.actions.guarded import JobNotFound, Wish, carry_out
from jobs.actions.jobs import ACTS, cancel_job, delete_job, enqueue_job, remove_entry, stop_job
from jobs.models import AuditEntry, JobType
from jobs.permissions import QueueNotVisible
from tests.support.acts import read
from tests.support.keyspace import snapshot
from tests.support.real_rq import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.parametrize("rq_version", ["3.0"])]

LATER = {"seconds": 3600}
OTHERS = [verb for verb in ACTS if verb not in ("retry_job", "delete_job")]


def wish(person, queue, job_id, **changes):
    detail = read(job_id, queue.name)
    asked = Wish(
        actor=person, queue=queue, job_id=job_id, seen=detail.seen if detail else "gone", now=datetime.now(UTC)
    )
    return replace(asked, **changes)


def declare(promise, path="fx.effect"):
    if promise:
        JobType.objects.create(path=path, idempotency=promise, remembered_for_seconds=86_400)


def lose(redis_client, job_id, *, minutes=2):
    """Take a queued job out of its queue, as a worker that dies right after the pop does; it was queued a while ago."""
    redis_client.delete("rq:queue:orders")
    queued_at = datetime.now(UTC) - timedelta(minutes=minutes)
    redis_client.hset(f"rq:job:{job_id}", "enqueued_at", queued_at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"))
    return job_id


def is_on_record(verb, status, code):
    entry = AuditEntry.objects.get()
    return (entry.actor_name, entry.verb, entry.status, entry.decision_code) == ("otto", verb, status, code)


# Enqueue now ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("promise", [None, "unsafe", "repeatable"])
def test_a_scheduled_job_is_queued_before_its_time_unasked(operator, orders, real_rq, redis_client, promise):
    declare(promise)
    job_id = real_rq.enqueue("fx.effect", 7, **LATER)
    outcome = enqueue_job(wish(operator, orders, job_id))
    assert outcome.is_done and outcome.sentence == f"Job {job_id} is on the queue orders now."
    assert redis_client.lrange("rq:queue:orders", 0, -1) == [job_id.encode()]
    assert is_on_record("enqueue_job", "done", "scheduled")


def test_a_lost_job_of_which_nothing_ran_is_queued_once_that_was_confirmed(operator, orders, real_rq, redis_client):
    job_id = lose(redis_client, real_rq.enqueue("fx.effect", 7))
    assert enqueue_job(wish(operator, orders, job_id)).is_unconfirmed
    assert enqueue_job(wish(operator, orders, job_id, confirmed="never_started")).is_done
    real_rq.burst("orders")
    assert redis_client.get("effect:7") == b"1"


def test_a_job_that_a_worker_may_be_taking_now_has_to_wait(operator, orders, real_rq, redis_client):
    job_id = lose(redis_client, real_rq.enqueue("fx.effect", 7), minutes=0)
    before = snapshot(redis_client)
    outcome = enqueue_job(wish(operator, orders, job_id, confirmed="never_started"))
    assert outcome.status == "refused" and "Ask again after" in outcome.sentence
    assert is_on_record("enqueue_job", "refused", "just_queued") and snapshot(redis_client) == before


@pytest.mark.parametrize(
    ("promise", "status", "code"),
    [
        (None, "refused", "result_unknown"),
        ("unsafe", "refused", "result_unknown"),
        ("keyed", "refused", "result_unknown"),
        ("checkable", "refused", "result_unknown"),
        ("repeatable", "done", "repeatable"),
    ],
)
def test_a_lost_job_that_had_begun_is_queued_only_when_repeatable(
    operator, orders, real_rq, redis_client, promise, status, code
):
    declare(promise)
    job_id = lose(redis_client, real_rq.enqueue("fx.effect", 7), minutes=60)
    redis_client.hset(f"rq:job:{job_id}", "started_at", "2026-01-01T00:00:00.000000Z")
    outcome = enqueue_job(wish(operator, orders, job_id, confirmed="repeatable"))
    assert outcome.status == status and is_on_record("enqueue_job", status, code)
    assert redis_client.llen("rq:queue:orders") == (status == "done")


@pytest.mark.parametrize("promise", [None, "keyed"])
def test_what_rq_will_retry_by_itself_is_not_hastened(operator, orders, real_rq, redis_client, promise):
    declare(promise, "fx.boom")
    job_id = real_rq.fail("fx.boom", 7, retry={"max": 2, "interval": 600})
    before = snapshot(redis_client)
    assert enqueue_job(wish(operator, orders, job_id)).status == "refused"
    assert is_on_record("enqueue_job", "refused", "retry_pending") and snapshot(redis_client) == before


def test_what_rq_will_retry_by_itself_runs_at_once_when_repeatable(operator, orders, real_rq, redis_client):
    declare("repeatable", "fx.boom")
    job_id = real_rq.fail("fx.boom", 7, retry={"max": 2, "interval": 600})
    assert enqueue_job(wish(operator, orders, job_id)).is_done
    assert redis_client.lrange("rq:queue:orders", 0, -1) == [job_id.encode()]


def test_an_unreadable_job_is_not_queued(operator, orders, real_rq, redis_client):
    job_id = real_rq.enqueue("fx.effect", 7, **LATER)
    redis_client.hset(f"rq:job:{job_id}", "data", b"\x80\x05garbage")
    assert enqueue_job(wish(operator, orders, job_id)).status == "refused"
    assert is_on_record("enqueue_job", "refused", "unreadable")


# Cancel ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", ["queued", "scheduled", "deferred"])
def test_a_waiting_job_is_cancelled_once_that_was_confirmed(operator, orders, real_rq, redis_client, state):
    parent = real_rq.enqueue("fx.ok", 1, queue="payroll")
    options = {"scheduled": LATER, "deferred": {"depends_on": parent}}.get(state, {})
    job_id = real_rq.enqueue("fx.effect", 7, **options)
    before = snapshot(redis_client)
    assert cancel_job(wish(operator, orders, job_id)).is_unconfirmed
    assert snapshot(redis_client) == before
    outcome = cancel_job(wish(operator, orders, job_id, confirmed="cancel"))
    assert outcome.is_done and outcome.sentence == f"Job {job_id} is cancelled: it will not run."
    real_rq.burst("payroll", "orders")
    assert redis_client.hget(f"rq:job:{job_id}", "status") == b"canceled" and redis_client.get("effect:7") is None


def test_what_rq_would_retry_by_itself_can_be_cancelled(operator, orders, real_rq, redis_client):
    job_id = real_rq.fail("fx.boom", 7, retry={"max": 2, "interval": 600})
    assert cancel_job(wish(operator, orders, job_id, confirmed="cancel")).is_done
    assert redis_client.zcard("rq:scheduled:orders") == 0


@pytest.mark.parametrize("path", ["fx.boom", "fx.ok"])
def test_a_job_that_does_not_wait_is_not_cancelled(operator, orders, real_rq, redis_client, path):
    job_id = real_rq.fail(path, 7, result_ttl=-1)
    before = snapshot(redis_client)
    assert cancel_job(wish(operator, orders, job_id, confirmed="cancel")).status == "refused"
    assert is_on_record("cancel_job", "refused", "not_waiting") and snapshot(redis_client) == before


# Stop -----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def running(real_rq, redis_client):
    """A job and the worker that runs it."""
    job_id = real_rq.enqueue("fx.slow", 7, 60)
    worker = real_rq.start("orders")
    worker.wait_for_horse()
    wait_until(lambda: redis_client.hget(f"rq:job:{job_id}", "status") == b"started", "the job runs")
    return job_id, worker


def test_a_running_job_is_stopped_once_that_was_confirmed(operator, orders, running, redis_client):
    job_id, _worker = running
    assert stop_job(wish(operator, orders, job_id)).is_unconfirmed
    outcome = stop_job(wish(operator, orders, job_id, confirmed="stop"))
    assert outcome.is_done and "was told to stop it" in outcome.sentence
    wait_until(lambda: redis_client.hget(f"rq:job:{job_id}", "status") == b"stopped", "the job is stopped")
    assert AuditEntry.objects.filter(verb="stop_job", status="done", decision_code="stop").count() == 1


def test_a_worker_that_hears_nothing_is_said_and_nothing_was_done(operator, orders, running, redis_client):
    job_id, worker = running
    worker.kill_session()
    before = snapshot(redis_client)
    outcome = stop_job(wish(operator, orders, job_id, confirmed="stop"))
    assert outcome.status == "not_done" and "no worker heard it" in outcome.sentence
    assert is_on_record("stop_job", "not_done", "stop") and snapshot(redis_client) == before


@pytest.mark.parametrize("act", [cancel_job, delete_job, enqueue_job, remove_entry])
def test_a_running_job_is_left_alone_by_every_other_act(operator, orders, running, redis_client, act):
    job_id, worker = running
    worker.kill_session()
    before = snapshot(redis_client)
    for confirmed in ("cancel", "delete", "repeatable", "remove_entry"):
        assert act(wish(operator, orders, job_id, confirmed=confirmed, typed="slow")).status == "refused"
    assert snapshot(redis_client) == before


@pytest.mark.parametrize("options", [{}, LATER])
def test_a_job_that_is_not_running_is_not_stopped(operator, orders, real_rq, redis_client, options):
    job_id = real_rq.enqueue("fx.ok", 7, **options)
    assert stop_job(wish(operator, orders, job_id, confirmed="stop")).status == "refused"
    assert is_on_record("stop_job", "refused", "not_running")


# Strike off -----------------------------------------------------------------------------------------------------------


def test_an_id_without_data_is_struck_off_once_that_was_confirmed(operator, orders, real_rq, redis_client):
    redis_client.zadd("rq:failed:orders", {"ghost": 9e9, "other": 9e9})
    assert remove_entry(wish(operator, orders, "ghost")).is_unconfirmed
    outcome = remove_entry(wish(operator, orders, "ghost", confirmed="remove_entry"))
    assert outcome.is_done and outcome.sentence == "The id ghost is struck off the lists of orders."
    assert redis_client.zrange("rq:failed:orders", 0, -1) == [b"other"]


def test_an_id_with_data_is_not_struck_off(operator, orders, real_rq, redis_client):
    job_id = real_rq.fail("fx.boom", 7)
    before = snapshot(redis_client)
    assert remove_entry(wish(operator, orders, job_id, confirmed="remove_entry")).status == "refused"
    assert is_on_record("remove_entry", "refused", "data_there") and snapshot(redis_client) == before


@pytest.mark.parametrize("verb", [verb for verb in ACTS if verb != "remove_entry"])
def test_nothing_else_is_done_to_an_id_without_data(operator, orders, real_rq, redis_client, verb):
    redis_client.zadd("rq:failed:orders", {"ghost": 9e9})
    outcome = carry_out(ACTS[verb], wish(operator, orders, "ghost"))
    assert outcome.status == "refused" and "Its data is gone from Redis" in outcome.sentence
    assert is_on_record(verb, "refused", "data_gone")
    assert redis_client.zscore("rq:failed:orders", "ghost")


# All of them ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def job_of(running, real_rq, redis_client):
    """For each act a job that it could be carried out on, and what confirms it."""
    later = real_rq.enqueue("fx.effect", 7, **LATER)
    redis_client.zadd("rq:failed:orders", {"ghost": 9e9})
    running[1].kill_session()
    return {
        "enqueue_job": (later, ""),
        "cancel_job": (later, "cancel"),
        "stop_job": (running[0], "stop"),
        "remove_entry": ("ghost", "remove_entry"),
    }


@pytest.mark.parametrize("verb", OTHERS)
def test_without_the_right_nothing_is_done_and_the_attempt_is_on_record(viewer, orders, job_of, redis_client, verb):
    job_id, confirmed = job_of[verb]
    before = snapshot(redis_client)
    with pytest.raises(PermissionDenied):
        carry_out(ACTS[verb], wish(viewer, orders, job_id, confirmed=confirmed))
    assert (AuditEntry.objects.get().status, AuditEntry.objects.get().verb) == ("refused", verb)
    assert snapshot(redis_client) == before


@pytest.mark.parametrize("verb", OTHERS)
def test_a_queue_one_may_not_see_does_not_exist(outsider, orders, job_of, redis_client, verb):
    job_id, confirmed = job_of[verb]
    before = snapshot(redis_client)
    with pytest.raises(QueueNotVisible):
        carry_out(ACTS[verb], wish(outsider, orders, job_id, confirmed=confirmed))
    assert AuditEntry.objects.get().status == "refused" and snapshot(redis_client) == before


@pytest.mark.parametrize("verb", OTHERS)
def test_a_stale_view_is_told_so(operator, orders, job_of, redis_client, verb):
    job_id, confirmed = job_of[verb]
    before = snapshot(redis_client)
    outcome = carry_out(ACTS[verb], wish(operator, orders, job_id, confirmed=confirmed, seen="queued@/"))
    assert outcome.status == "changed" and outcome.sentence.startswith("Not done: the job ")
    assert is_on_record(verb, "changed", "changed") and snapshot(redis_client) == before


@pytest.mark.parametrize("verb", ACTS)
def test_a_job_that_is_not_there_is_not_found_on_record(operator, orders, real_rq, verb):
    with pytest.raises(JobNotFound):
        carry_out(ACTS[verb], wish(operator, orders, "no-such-job"))
    assert is_on_record(verb, "refused", "gone")
