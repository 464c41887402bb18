"""Results that nobody knows are noticed before RQ does, each once, and nothing else is put to a person."""

from __future__ import annotations

import logging
from datetime import timedelta
from functools import partial
from threading import Barrier, Thread

import pytest
from django.db import OperationalError
from django.db import connection as database
from django.utils import timezone

from jobs.broker import connections, running
from jobs.broker.errors import ScanNotAllowed
from jobs.domain.verdicts import Verdict
from jobs.ledger import reviews as ledger
from jobs.models import FailedJob, JobType, Operation, Review
from jobs.observer import unknown
from tests.support.keyspace import snapshot
from tests.support.observer import sweep_through
from tests.support.reviews import say, take
from tests.support.runs import RUN, ago, began_at, begin, file_as_abandoned, hold, mislay, rq_time, succeed

pytestmark = [pytest.mark.django_db, pytest.mark.parametrize("rq_version", ["3.0"])]


def look(later=timedelta(0)):
    return unknown.look("default", timezone.now() + later)


def questions():
    """By job, what is asked of it and why."""
    found = Review.objects.values_list("operation__job_id", "code", "finding")
    return {job_id: (code, finding) for job_id, code, finding in found}


ASKED_OF_A_LOST_RUN = ("result_unknown", "lease_expired")
ASKED_OF_A_LOST_JOB = ("result_unknown", "lost")


# Runs -----------------------------------------------------------------------------------------------------------------


def test_a_run_whose_lease_is_over_is_put_to_a_person_once_with_its_last_sign_of_life(real_rq, redis_client):
    begin(real_rq, redis_client, "job", lease=-1)
    before, asked_at = snapshot(redis_client), timezone.now()
    assert [unknown.look("default", asked_at), look()] == [1, 0]
    review = Review.objects.select_related("operation").get()
    assert (review.code, review.finding, review.opened_by_name) == ("result_unknown", "lease_expired", "")
    beat = float(redis_client.hget(f"rq:execution:job:{RUN}", "last_heartbeat"))
    assert (review.last_sign_of_life.timestamp(), review.opened_at) == (pytest.approx(beat, abs=0.001), asked_at)
    assert (review.operation.operation_id, review.operation.status) == ("rq:default:job", "unknown")
    assert (review.operation.queue, review.operation.job_type) == ("orders", "fx.effect")
    assert review.evidence["worker_name"] == "w-1" and not review.evidence["is_dead"]
    assert snapshot(redis_client) == before


def test_a_run_that_holds_its_lease_is_left_alone_however_late_our_own_clock_says_it_is(real_rq, redis_client):
    begin(real_rq, redis_client, "job", lease=5)
    assert look() == look(timedelta(days=1)) == 0


def test_a_run_whose_lease_is_over_is_noticed_however_early_our_own_clock_says_it_is(real_rq, redis_client):
    begin(real_rq, redis_client, "job", lease=-1)
    assert look(timedelta(days=-1)) == 1


def test_a_run_whose_worker_has_signed_off_or_is_gone_is_noticed_before_its_lease_is_over(real_rq, redis_client):
    for job_id in ("left", "gone", "replaced", "at-work"):
        begin(real_rq, redis_client, job_id, worker=f"w-{job_id}")
    redis_client.hset("rq:worker:w-left", "death", rq_time(ago(1)))
    redis_client.delete("rq:worker:w-gone")
    redis_client.hset("rq:worker:w-replaced", "birth", rq_time(ago(1)))
    look()
    assert questions() == dict.fromkeys(("left", "gone", "replaced"), ("result_unknown", "worker_gone"))


def test_nobody_is_asked_of_a_repeatable_type_even_if_it_is_declared_unsafe_later(real_rq, redis_client):
    declared = JobType.objects.create(path="fx.effect", idempotency="repeatable")
    begin(real_rq, redis_client, "job", lease=-1)
    mislay(real_rq, redis_client, "lost")
    assert (look(), look()) == (0, 0)
    declared.idempotency = "unsafe"
    declared.save()
    assert (look(), look()) == (0, 0)


def test_a_review_stays_open_when_its_type_is_declared_repeatable_later(real_rq, redis_client):
    begin(real_rq, redis_client, "job", lease=-1)
    look()
    JobType.objects.create(path="fx.effect", idempotency="repeatable")
    assert look() == 0 and Review.objects.get().closed_at is None


def test_a_job_that_is_run_again_beside_its_lost_run_is_looked_at_until_nothing_runs(real_rq, redis_client):
    begin(real_rq, redis_client, "job", lease=-1)
    redis_client.zadd("rq:executions:job", {"another": ago(-120).timestamp()})
    assert look() == 0
    redis_client.zrem("rq:executions:job", "another")
    assert look() == 1


def test_a_run_that_was_registered_and_never_began_is_lost_with_its_job(real_rq, redis_client):
    mislay(real_rq, redis_client, "job", ran=False)
    hold(redis_client, "job", 30)
    assert look() == 0
    hold(redis_client, "job", -1)
    assert look() == 1 and questions() == {"job": ASKED_OF_A_LOST_JOB}


def test_a_run_that_was_registered_just_now_and_never_began_has_its_grace(real_rq, redis_client):
    mislay(real_rq, redis_client, "job", ran=False, waits=50)
    hold(redis_client, "job", -1)
    assert look() == 0
    redis_client.hset("rq:job:job", "enqueued_at", rq_time(ago(61)))
    assert look() == 1


def test_the_next_run_of_a_job_is_asked_about_once_the_first_question_is_answered(real_rq, redis_client, operator):
    begin(real_rq, redis_client, "job", lease=-1)
    look()
    again = {"started_at": rq_time(ago(100)), "enqueued_at": rq_time(ago(101))}
    redis_client.hset("rq:job:job", mapping=again)
    redis_client.zadd("rq:wip:orders", {"job:second": ago(1).timestamp()})
    assert look() == 0
    review = Review.objects.get()
    Review.objects.filter(pk=review.pk).update(closed_at=timezone.now(), verdict="did_not_happen")
    assert look() == 1 and Review.objects.filter(operation=review.operation).count() == 2


def test_a_later_run_that_was_filed_while_the_first_question_was_open_is_asked_about_afterwards(
    real_rq, redis_client, operator
):
    begin(real_rq, redis_client, "job", lease=-1)
    look()
    redis_client.hset("rq:job:job", mapping={"started_at": rq_time(ago(100)), "enqueued_at": rq_time(ago(101))})
    file_as_abandoned(redis_client, "job")
    for _again in range(2):
        sweep_through("default", timezone.now())
    first = Review.objects.get()
    take(first, operator)
    say(first, operator, Verdict.DID_NOT_HAPPEN)
    assert (FailedJob.objects.get().verdict, FailedJob.objects.get().is_open) == ("", True)
    for _again in range(2):
        sweep_through("default", timezone.now())
    later = Review.objects.get(closed_at=None)
    assert later.run != first.run and later.operation == first.operation


@pytest.mark.parametrize("is_same_run", [True, False])
def test_what_was_said_before_rq_filed_the_run_is_said_of_its_failure_and_of_no_other(
    is_same_run, real_rq, redis_client, operator
):
    begin(real_rq, redis_client, "job", lease=-1)
    look()
    review = Review.objects.get()
    take(review, operator)
    say(review, operator, Verdict.ABANDON)
    if not is_same_run:
        redis_client.hset("rq:job:job", "started_at", rq_time(ago(1)))
    file_as_abandoned(redis_client, "job")
    sweep_through("default", timezone.now())
    row = FailedJob.objects.get()
    assert (row.verdict, row.is_open) == (("abandon", False) if is_same_run else ("", True))


# Jobs that no list holds ----------------------------------------------------------------------------------------------


def test_a_job_that_no_list_holds_is_put_to_a_person_at_the_second_look(real_rq, redis_client):
    mislay(real_rq, redis_client, "job")
    before = snapshot(redis_client)
    assert [look(), look(), look()] == [0, 1, 0]
    assert questions() == {"job": ASKED_OF_A_LOST_JOB}
    assert snapshot(redis_client) == before


def test_a_lost_job_that_provably_never_began_is_put_to_nobody(real_rq, redis_client):
    mislay(real_rq, redis_client, "job", ran=False)
    assert (look(), look()) == (0, 0)


def test_a_job_that_was_queued_just_now_is_not_lost_yet(real_rq, redis_client):
    mislay(real_rq, redis_client, "job", waits=50)
    assert (look(), look()) == (0, 0)


@pytest.mark.parametrize(
    "found_again",
    [
        lambda redis: redis.rpush("rq:queue:orders", "job"),
        lambda redis: redis.rpush("rq:queue:orders:intermediate", "job"),
        lambda redis: redis.zadd("rq:scheduled:orders", {"job": 1}),
        lambda redis: redis.hset("rq:job:job", "enqueued_at", rq_time(ago(70))),
        lambda redis: redis.hset("rq:job:job", "status", "finished"),
        lambda redis: redis.delete("rq:job:job"),
        lambda redis: redis.zadd("rq:executions:job", {"run": ago(-120).timestamp()}),
    ],
    ids=["queue", "intermediate", "schedule", "queued-anew", "finished", "gone", "begun"],
)
def test_a_job_that_is_somewhere_at_the_second_look_was_only_on_its_way(real_rq, redis_client, found_again):
    mislay(real_rq, redis_client, "job")
    look()
    found_again(redis_client)
    assert look() == 0


@pytest.fixture
def long_queue(real_rq, redis_client):
    """2,500 ids that nobody takes."""
    redis_client.rpush("rq:queue:orders", *(f"other-{number}" for number in range(2_500)))


@pytest.mark.parametrize("behind", ["other-0", "other-999", "other-1500", "other-2499"])
def test_a_job_far_back_in_a_long_queue_is_not_lost(real_rq, redis_client, long_queue, behind):
    mislay(real_rq, redis_client, "job")
    redis_client.linsert("rq:queue:orders", "AFTER", behind, "job")
    assert (look(), look()) == (0, 0)


@pytest.mark.parametrize("behind", ["other-0", "other-2499"])
def test_a_job_that_is_far_back_in_a_long_queue_at_the_second_look_is_not_lost(
    real_rq, redis_client, long_queue, behind
):
    mislay(real_rq, redis_client, "job")
    look()
    redis_client.linsert("rq:queue:orders", "AFTER", behind, "job")
    assert look() == 0


def test_a_job_that_a_long_queue_does_not_hold_is_lost(real_rq, redis_client, long_queue):
    mislay(real_rq, redis_client, "job")
    assert (look(), look()) == (0, 1)


def test_what_a_queue_hides_that_is_too_long_to_read_is_said_once_and_nobody_is_asked(
    real_rq, redis_client, long_queue, monkeypatch, caplog
):
    monkeypatch.setattr(running, "QUEUE_READ", 2_000)
    monkeypatch.setattr(unknown, "ROUND", timedelta(0))
    mislay(real_rq, redis_client, "job")
    with caplog.at_level(logging.WARNING, "opsboard.observer"):
        assert [look(), look(), look()] == [0, 0, 0]
    assert [record.getMessage() for record in caplog.records] == [
        "default: a queue is too long to look whether each of its jobs is in it"
    ]


def test_a_job_that_counts_as_running_without_a_run_on_record_is_noticed(real_rq, redis_client):
    begin(real_rq, redis_client, "job")
    redis_client.delete("rq:wip:orders")
    assert (look(), look()) == (0, 0)  # its own list still has the run
    redis_client.delete("rq:executions:job")
    unknown._memories.clear()
    assert (look(), look()) == (0, 1)
    assert questions() == {"job": ASKED_OF_A_LOST_RUN}


def test_the_search_goes_on_where_it_stopped_and_rests_after_its_end(real_rq, redis_client, monkeypatch):
    mislay(real_rq, redis_client, "job")
    for number in range(11):
        redis_client.copy("rq:job:job", f"rq:job:job-{number}")
    redis_client.mset({f"rq:other:{number}": "" for number in range(200)})
    monkeypatch.setattr(unknown, "SLICES", 1)
    monkeypatch.setattr(running, "SCAN_COUNT", 20)
    looks = [look() for _ in range(25)]
    assert sum(looks) == 12 and max(looks) < 12
    redis_client.copy("rq:job:job", "rq:job:later")
    assert [look() for _ in range(25)] == [0] * 25
    monkeypatch.setattr(unknown, "ROUND", timedelta(0))
    assert sum(look() for _ in range(25)) == 1


def test_more_suspects_than_one_look_takes_up_are_all_noticed_in_the_end(real_rq, redis_client, monkeypatch):
    monkeypatch.setattr(unknown, "SUSPECTS", 2)
    monkeypatch.setattr(unknown, "ROUND", timedelta(0))
    for kind, lay in {"run": partial(begin, lease=-1), "new": partial(mislay, ran=False), "lost": mislay}.items():
        for number in range(3):
            lay(real_rq, redis_client, f"{kind}-{number}")
    assert sum(look() for _ in range(6)) == 6


# Cancelled while it ran -----------------------------------------------------------------------------------------------


@pytest.fixture
def cancelled(real_rq, redis_client):
    """Cancelled by RQ's own means while its run goes on: the queue's list of runs forgets it then."""
    begin(real_rq, redis_client, "job")
    real_rq.evaluate("rq.job.Job.fetch('job', connection=connection).cancel() and None")
    assert not redis_client.exists("rq:wip:orders") and redis_client.exists("rq:executions:job")


def test_a_cancelled_run_that_is_lost_is_put_to_a_person(cancelled, redis_client):
    assert [look() for _ in range(5)] == [0] * 5
    redis_client.zadd("rq:executions:job", {RUN: ago(-59).timestamp()})  # kept a minute longer than its lease
    assert (look(), look()) == (1, 0)
    review = Review.objects.get()
    assert (review.code, review.finding) == ("result_unknown", "result_unknown")
    assert "it was cancelled while it ran, which does not end a run, and its lease ran out" in review.sentence


def test_a_cancelled_run_that_ends_on_record_is_put_to_nobody(cancelled, redis_client):
    look()
    succeed(redis_client, "job", began=began_at(redis_client, "job"))
    redis_client.delete("rq:executions:job")
    assert (look(), look()) == (0, 0)


# Those that RQ has filed ----------------------------------------------------------------------------------------------


def test_a_run_that_rq_gave_up_is_asked_about_when_it_is_indexed(real_rq, redis_client):
    begin(real_rq, redis_client, "job", lease=-1)
    file_as_abandoned(redis_client, "job")
    sweep_through("default", timezone.now())
    assert questions() == {"job": ("result_unknown", "result_unknown")}
    assert FailedJob.objects.get().is_open


def test_a_run_that_was_noticed_before_rq_gave_it_up_is_not_asked_about_twice(real_rq, redis_client):
    begin(real_rq, redis_client, "job", lease=-1)
    look()
    file_as_abandoned(redis_client, "job")
    sweep_through("default", timezone.now())
    assert questions() == {"job": ASKED_OF_A_LOST_RUN}


def test_what_is_filed_as_failed_and_done_at_once_is_put_to_nobody(real_rq, redis_client):
    begin(real_rq, redis_client, "job", lease=-1)
    file_as_abandoned(redis_client, "job")
    succeed(redis_client, "job", began=began_at(redis_client, "job"))
    sweep_through("default", timezone.now())
    assert FailedJob.objects.get().finding == "done_but_marked_failed"
    assert (look(), look(), questions()) == (0, 0, {})


def test_a_lost_job_that_an_old_entry_lists_as_failed_has_its_second_look_too(real_rq, redis_client):
    mislay(real_rq, redis_client, "job")
    redis_client.zadd("rq:failed:orders", {"job": ago(-86_400).timestamp()})
    sweep_through("default", timezone.now())
    assert (questions(), look(), look()) == ({}, 0, 1)


# Crashes, rivals and damage -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", ["_create", "set_status"])
def test_a_look_that_breaks_off_leaves_nothing_half_done_and_the_next_one_does_it(
    real_rq, redis_client, monkeypatch, step
):
    for job_id in ("job", "another"):
        begin(real_rq, redis_client, job_id, lease=-1)
    whole, calls = getattr(ledger, step), []

    def break_off_at_the_second(*args):
        calls.append(args)
        if len(calls) == 2:
            raise OperationalError(step)
        return whole(*args)

    with monkeypatch.context() as broken, pytest.raises(OperationalError):
        broken.setattr(ledger, step, break_off_at_the_second)
        look()
    assert not Review.objects.exists() and not Operation.objects.exists()
    assert look() == 2


@pytest.mark.django_db(transaction=True)
def test_two_observers_at_once_open_one_review_of_each_run(real_rq, redis_client):
    for number in range(4):
        begin(real_rq, redis_client, f"job-{number}", lease=-1)
    start, opened = Barrier(2), []

    def observe():
        try:
            runs = running.started_runs("default", ["orders"]).runs
            suspects = [unknown.Suspect("orders", run.job_id, run.entry) for run in runs]
            (batch,) = unknown._read("default", suspects, at)
            start.wait(30)
            opened.append(unknown._open_all([seen for _suspect, seen in batch], at))
        finally:
            database.close()

    at = timezone.now()
    threads = [Thread(target=observe) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sum(opened) == len(opened) * 2 == 4
    assert Review.objects.count() == Operation.objects.count() == 4


def test_damage_of_every_kind_neither_raises_nor_is_asked_about_and_hides_no_other(real_rq, redis_client):
    begin(real_rq, redis_client, "job", lease=-1)
    mislay(real_rq, redis_client, "lost")
    odd = [b"\xff\xfe", b"a:b", b"n\0l", b"x" * 600, b""]
    redis_client.zadd("rq:wip:orders", {one + b":run": 1 for one in odd} | {b"no-run": 1, b"ghost:run": 1})
    for job_id in (*odd, b"odd-origin", b"odd-texts"):
        redis_client.copy("rq:job:lost", b"rq:job:" + job_id)
    redis_client.hset("rq:job:odd-origin", "origin", b"\xff\0")
    redis_client.hset("rq:job:odd-texts", mapping={"worker_name": b"\0\xff", "started_at": b"n\0w", "created_at": "?"})
    redis_client.hset("rq:job:odd-texts", "last_heartbeat", rq_time(ago(200)))
    for key in ("rq:job:wrong", "rq:executions:lost", "rq:wip:other", "rq:queue:other", "rq:worker:wrong"):
        redis_client.set(key, "of another type")
    redis_client.hset("rq:job:half", "last_heartbeat", "2026-01-01T00:00:00.000000Z")
    redis_client.sadd("rq:queues", "rq:queue:other", "nonsense", b"rq:queue:\xff\0")
    look(), look()
    assert set(questions()) == {"job", "lost", "odd-texts"}


def test_an_account_that_may_not_scan_is_told_so_and_its_runs_are_looked_at_all_the_same(
    real_rq, redis_client, valkey, settings
):
    begin(real_rq, redis_client, "job", lease=-1)
    allowed = "+@read +@connection +time +info -scan"
    redis_client.execute_command("ACL", "SETUSER", "reader", "on", ">word", "~rq:*", *allowed.split())
    url = valkey.url.replace("redis://", "redis://reader:word@")
    settings.OPSBOARD_CONNECTIONS = {"default": {"url": valkey.url, "read_url": url, "prefix": "rq"}}
    connections.reset()
    try:
        with pytest.raises(ScanNotAllowed, match=r"lacks \+scan"):
            look()
    finally:
        redis_client.execute_command("ACL", "DELUSER", "reader")
    assert set(questions()) == {"job"}
