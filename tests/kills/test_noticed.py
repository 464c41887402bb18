"""Runs really killed, stopped and lost: a person is asked about each whose result nobody knows, and about no other."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from jobs.actions.guarded import Wish, carry_out
from jobs.actions.jobs import ACTS
from jobs.actions.reviews import Saying, claim, resolve
from jobs.domain.verdicts import Verdict
from jobs.models import FailedJob, JobType, Queue, Resolution, Review
from tests.kills.hands import LONG_AGO, begin, clean_up, let_go, let_lease_run_out, wait_for_status
from tests.support.acts import read
from tests.support.observer import watch
from tests.support.real_rq import wait_until
from tests.support.reviews import GIVEN
from tests.support.runs import ago, rq_time

pytestmark = pytest.mark.django_db(transaction=True)


def asked():
    """By job, the finding for which a person was asked."""
    watch()
    return dict(Review.objects.values_list("operation__job_id", "finding"))


def the_review():
    return Review.objects.select_related("operation").get()


def test_of_all_that_one_worker_ran_only_what_was_cut_off_is_asked_about(real_rq, redis_client):
    JobType.objects.create(path="fx.die", idempotency="repeatable")
    for job_id, function, args, options in (
        ("horse-killed", "fx.end_by_signal", (1, 9), {}),
        ("out-of-memory", "fx.run_out_of_memory", (1,), {}),
        ("time-limit", "fx.slow", (1, 30), {"job_timeout": 1}),
        ("repeatable-killed", "fx.die", (1,), {}),
        ("known-error", "fx.boom_after_effect", (1,), {}),
        ("never-entered", "fx.no_such_function", (1,), {}),
        ("returned", "fx.effect", (1,), {"on_success": "fx.on_success_boom"}),
        ("finished", "fx.effect", (1,), {}),
    ):
        real_rq.enqueue(function, *args, job_id=job_id, **options)
    real_rq.burst("orders")
    assert asked() == dict.fromkeys(("horse-killed", "out-of-memory", "time-limit"), "result_unknown")
    assert "crashed (signal 11" in Review.objects.get(operation__job_id="out-of-memory").sentence


def test_worker_and_horse_killed_is_asked_about_when_the_lease_is_over_and_only_once(real_rq, redis_client):
    real_rq.enqueue("fx.die_after_effect", "job", job_id="job")
    real_rq.start("orders").wait()
    assert asked() == {}
    let_lease_run_out(redis_client, "job")
    assert asked() == {"job": "lease_expired"}
    assert the_review().last_sign_of_life == read("job").job.last_heartbeat
    clean_up(real_rq)
    assert asked() == {"job": "result_unknown"} and FailedJob.objects.get().is_open
    assert redis_client.get("effect:job") == b"1"


def test_a_stopped_run_is_asked_about_unless_its_type_is_repeatable(real_rq, redis_client):
    JobType.objects.create(path="fx.wait_for_go_then_boom", idempotency="repeatable")
    for job_id, function in (("unsafe", "fx.wait_for_go"), ("repeatable", "fx.wait_for_go_then_boom")):
        begin(real_rq, redis_client, function, job_id)
        real_rq.evaluate(f"rq.command.send_stop_job_command(connection, {job_id!r})")
        wait_for_status(redis_client, job_id, "stopped")
        real_rq.end_workers()
    assert asked() == {"unsafe": "stopped"}


def test_a_horse_that_outlives_its_worker_closes_its_review_itself(real_rq, redis_client, operator):
    """Nobody may say meanwhile that it did not happen, and nobody may run it again afterwards."""
    begin(real_rq, redis_client, "fx.wait_for_go", "job").kill()
    assert asked() == {}
    let_lease_run_out(redis_client, "job")
    assert asked() == {"job": "lease_expired"}
    clean_up(real_rq)
    assert asked() == {"job": "result_unknown"}
    answer = say(operator, Verdict.DID_NOT_HAPPEN)
    assert not answer.is_done and "Its last run may still be going on" in answer.sentence
    let_go(redis_client, "job")
    wait_for_status(redis_client, "job", "finished")
    watch()
    late = Resolution.objects.get()
    assert (late.verdict, late.source, late.evidence["result_id"]) == ("happened", "late_evidence", newest("job"))
    assert (the_review().verdict, the_review().operation.status) == ("happened", "completed")
    assert not FailedJob.objects.get().is_open
    assert retry(operator).sentence.startswith("It finished: running it again would do its work twice.")
    assert redis_client.get("effect:job") == b"1" and redis_client.llen("rq:queue:orders") == 0


def newest(job_id):
    return read(job_id).newest_result.id


def say(person, verdict):
    review, now = the_review(), datetime.now(UTC)
    assert claim(person, review.pk, now).is_done
    review.refresh_from_db()
    known = {"version": review.version, "seen": read("job").seen}
    return resolve(Saying(actor=person, review_id=review.pk, verdict=verdict, given=GIVEN[verdict], now=now, **known))


def retry(person):
    queue, seen = Queue.objects.get(), read("job").seen
    return carry_out(ACTS["retry_job"], Wish(actor=person, queue=queue, job_id="job", seen=seen, now=datetime.now(UTC)))


def test_a_run_that_was_given_up_and_finished_all_the_same_is_asked_about_by_nobody(real_rq, redis_client):
    begin(real_rq, redis_client, "fx.wait_for_go", "job").kill()
    let_lease_run_out(redis_client, "job")
    clean_up(real_rq)
    let_go(redis_client, "job")
    wait_for_status(redis_client, "job", "finished")
    assert redis_client.zscore("rq:failed:orders", "job") and redis_client.zscore("rq:finished:orders", "job")
    assert asked() == {} and FailedJob.objects.get().finding == "done_but_marked_failed"


def test_a_job_that_its_worker_took_into_death_is_asked_about_only_if_it_had_run(real_rq, redis_client):
    """A worker of several queues pops first and says so afterwards."""
    real_rq.enqueue("fx.boom_after_effect", 1, job_id="ran", retry={"max": 1})
    real_rq.burst("orders", arguments=("--max-jobs", "1"))
    real_rq.enqueue("fx.effect", 2, job_id="new")
    redis_client.delete("rq:queue:orders")
    assert asked() == {}
    for job_id in ("ran", "new"):
        redis_client.hset(f"rq:job:{job_id}", "enqueued_at", rq_time(ago(61)))
    real_rq.burst("orders", "mail")
    assert asked() == {"ran": "lost"}
    assert redis_client.get("effect:1") == b"1" and redis_client.get("effect:2") is None


def test_a_cancelled_run_that_is_lost_is_asked_about_though_rq_never_notices(real_rq, redis_client):
    worker = begin(real_rq, redis_client, "fx.wait_for_go", "job")
    real_rq.evaluate("rq.job.Job.fetch('job', connection=connection).cancel() and None")
    assert asked() == {}
    worker.kill_session()
    (run,) = redis_client.zrange("rq:executions:job", 0, -1)
    redis_client.zadd("rq:executions:job", {run: LONG_AGO})
    clean_up(real_rq)
    assert asked() == {"job": "result_unknown"}
    assert read("job").job.status == "canceled"


def test_a_cancelled_run_that_ends_is_not_asked_about(real_rq, redis_client):
    begin(real_rq, redis_client, "fx.wait_for_go", "job")
    real_rq.evaluate("rq.job.Job.fetch('job', connection=connection).cancel() and None")
    assert asked() == {}
    let_go(redis_client, "job")
    wait_for_status(redis_client, "job", "finished")
    wait_until(lambda: not redis_client.exists("rq:executions:job"), "RQ takes the run off its list, a step later")
    assert asked() == {}
