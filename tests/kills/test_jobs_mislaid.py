"""Jobs that RQ loses sight of, or files twice: between queue and worker, and where a step of several is left out."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from jobs.broker.rows import read_registry
from jobs.domain.findings import Finding
from jobs.selectors.rows import job_rows
from tests.kills.hands import LONG_AGO, begin, clean_up, let_go, wait_for_status
from tests.kills.rows import (
    AFTER_ALL,
    DONE,
    FINISHED,
    GONE,
    NOT_FAILED,
    QUEUED,
    RUNNING,
    UNKNOWN,
    UNKNOWN_AND_ALIVE,
    Answer,
    Row,
    check,
)

LOST = Row(Finding.LOST, "stands in no queue: no worker will ever find it. Nothing of it ran.", True, NOT_FAILED)
STUCK = Row(Finding.RESULT_UNKNOWN, "RQ found it taken from the queue and not begun", False, UNKNOWN_AND_ALIVE)


def test_a_worker_of_several_queues_that_dies_with_a_job_in_hand_loses_it(real_rq, redis_client):
    """It pops first and says so afterwards; RQ never finds out."""
    real_rq.enqueue("fx.effect", 1, job_id="job")
    redis_client.lpop("rq:queue:orders")
    check("job", LOST)
    real_rq.burst("orders", "mail")
    check("job", LOST)
    assert redis_client.get("effect:1") is None


def test_a_job_lost_on_the_way_to_its_retry_may_have_acted_before(real_rq, redis_client):
    real_rq.enqueue("fx.boom_after_effect", 1, job_id="job", retry={"max": 1})
    real_rq.burst("orders", arguments=("--max-jobs", "1"))
    redis_client.lpop("rq:queue:orders")
    lost = LOST._replace(words="no worker will ever find it. It may have run before.", is_dead=False)
    check("job", lost)
    check("job", lost._replace(is_dead=True), later=AFTER_ALL)


def test_a_requeued_job_that_is_lost_may_have_acted_before(real_rq, redis_client):
    real_rq.fail("fx.boom_after_effect", 1, job_id="job")
    real_rq.evaluate("rq.job.Job.fetch('job', connection=connection).requeue()")
    redis_client.delete("rq:queue:orders", "rq:results:job")
    check("job", LOST._replace(words="no worker will ever find it. It may have run before.", is_dead=False))


def test_a_job_that_a_worker_has_taken_and_not_begun_is_on_its_way(real_rq, redis_client):
    real_rq.enqueue("fx.effect", 1, job_id="job")
    redis_client.lmove("rq:queue:orders", "rq:queue:orders:intermediate", "RIGHT", "LEFT")
    on_its_way = Row(Finding.QUEUED, "A worker has taken it from its queue and not begun it yet", False, QUEUED)
    check("job", on_its_way)
    _tidy_up_twice(real_rq, redis_client)
    check("job", STUCK)
    check("job", STUCK._replace(is_dead=True, answer=UNKNOWN), later=AFTER_ALL)


def _tidy_up_twice(rq, redis):
    """A worker marks what it finds there, and a later one, a minute on, declares it failed."""
    rq.burst("orders")
    mark = "rq:queue:orders:intermediate:first_seen:job"
    assert redis.get(mark)
    redis.set(mark, LONG_AGO)
    rq.burst("orders")


def test_rq_can_take_a_job_for_stuck_that_then_runs(real_rq, redis_client):
    """Its mark is by the job's id and lives a day: of a job that comes that way again it says that it has long been."""
    begin(real_rq, redis_client, "fx.wait_for_go", "job")
    let_go(redis_client, "job")
    wait_for_status(redis_client, "job", "finished")
    redis_client.set("rq:queue:orders:intermediate:first_seen:job", LONG_AGO)
    real_rq.end_workers()
    real_rq.enqueue("fx.effect", "job", job_id="job")
    redis_client.lmove("rq:queue:orders", "rq:queue:orders:intermediate", "RIGHT", "LEFT")
    redis_client.delete("rq:results:job")
    real_rq.burst("orders")
    check("job", STUCK)


def test_an_id_whose_data_has_run_out_is_gone(real_rq, redis_client):
    real_rq.fail("fx.boom", 1, job_id="job")
    redis_client.delete("rq:job:job", "rq:results:job")
    check("job", Row(Finding.GONE, "Its data is gone from Redis; only its id is still listed.", True, GONE))


def test_a_heartbeat_after_the_delete_leaves_half_a_hash(real_rq, redis_client):
    real_rq.fail("fx.boom", 1, job_id="job")
    redis_client.delete("rq:job:job", "rq:results:job")
    redis_client.hset("rq:job:job", "last_heartbeat", "2026-01-01T00:00:00.000000Z")
    words = "Most of its data is gone from Redis, its state with it."
    check("job", Row(Finding.UNRECOGNISED, words, True, GONE))


SUCCEEDED = Row(Finding.FINISHED, "It finished.", True, FINISHED)
LEFT_OVER = {
    # What RQ makes of a finished job whose entry among the running ones was left behind.
    "2.12": Row(Finding.DONE_BUT_MARKED_FAILED, "RQ recorded its success, and is filed as failed", True, DONE),
    "3.0": SUCCEEDED,
}


def test_a_finished_job_that_was_left_among_the_running_ones_stays_finished(real_rq, redis_client, rq_version):
    begin(real_rq, redis_client, "fx.wait_for_go", "job")
    run = redis_client.zrange("rq:wip:orders", 0, 0)[0]
    let_go(redis_client, "job")
    wait_for_status(redis_client, "job", "finished")
    redis_client.zadd("rq:wip:orders", {run: LONG_AGO})
    check("job", SUCCEEDED)
    clean_up(real_rq)
    check("job", LEFT_OVER[rq_version])


def test_a_finished_job_whose_run_was_left_open_may_still_be_at_work(real_rq, redis_client):
    begin(real_rq, redis_client, "fx.wait_for_go", "job")
    run = redis_client.zrange("rq:executions:job", 0, 0, withscores=True)[0]
    let_go(redis_client, "job")
    wait_for_status(redis_client, "job", "finished")
    redis_client.zadd("rq:executions:job", {run[0]: run[1]})
    check("job", SUCCEEDED._replace(words="A run of it still holds a lease", is_dead=False))
    redis_client.zadd("rq:executions:job", {run[0]: LONG_AGO})
    check("job", SUCCEEDED._replace(words="A run of it never reported its end.", is_dead=False))


@pytest.mark.parametrize("registry", ["failed", "canceled"])
def test_an_entry_that_was_left_behind_is_said_and_changes_nothing(real_rq, redis_client, registry):
    real_rq.enqueue("fx.ok", 1, job_id="waiting")
    redis_client.zadd(f"rq:{registry}:orders", {"waiting": 9999999999})
    words = {"failed": "An old entry still lists it as failed.", "canceled": "It was cancelled, which did not hold it"}
    check("waiting", Row(Finding.QUEUED, words[registry], True, QUEUED))


def test_a_finished_job_that_is_also_listed_as_failed_is_done(real_rq, redis_client, db):
    real_rq.enqueue("fx.ok", 1, job_id="job")
    real_rq.burst("orders")
    redis_client.zadd("rq:failed:orders", {"job": 9999999999})
    check("job", Row(Finding.DONE_BUT_MARKED_FAILED, "It finished, and is filed as failed all the same.", True, DONE))
    rows = read_registry("default", "failed", ["orders"], with_errors=True).rows
    (row,) = job_rows("default", "failed", rows, datetime.now(UTC))
    assert (row.state, row.note) == ("done_but_marked_failed", "It is still listed here, but is now finished.")


def test_a_job_between_its_workers_word_and_its_first_step_is_just_beginning(real_rq, redis_client):
    """The worker registers the run before its horse says that it began."""
    real_rq.enqueue("fx.ok", 1, job_id="job")
    redis_client.lpop("rq:queue:orders")
    redis_client.zadd("rq:executions:job", {"run": time.time() + 150})
    check("job", Row(Finding.RUNNING, "A worker is just beginning it.", False, RUNNING))
    redis_client.zadd("rq:executions:job", {"run": LONG_AGO})
    lost = LOST._replace(words="no worker will ever find it. It may have run before.", is_dead=False)
    check("job", lost)


def test_a_failed_job_that_somebody_is_moving_is_left_alone(real_rq, redis_client):
    """RQ's requeue takes it from the list first: a crash there leaves it in none."""
    real_rq.fail("fx.boom", 1, job_id="job")
    redis_client.zrem("rq:failed:orders", "job")
    failed = "It failed: the function raised an error."
    check("job", Row(Finding.FAILED_KNOWN, failed, True, Answer("refuse·not_listed", "refuse·not_listed")))
