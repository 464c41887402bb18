"""Workers and horses that are stopped, killed and lost while a job runs, step by step to what RQ makes of it."""

from __future__ import annotations

import os
import signal
import time

import pytest

from jobs.domain.findings import Finding
from tests.kills.hands import begin, clean_up, forget_worker, let_go, let_lease_run_out, wait_for_status
from tests.kills.rows import (
    AFTER_ALL,
    DONE,
    FINISHED,
    GONE,
    KNOWN,
    QUEUED,
    RETRY_PENDING,
    UNKNOWN,
    UNKNOWN_AND_ALIVE,
    Row,
    check,
)
from tests.kills.rows import RUNNING as IN_PROGRESS
from tests.support.real_rq import wait_until

RUNS = Row(Finding.RUNNING, "It is running.", False, IN_PROGRESS)
SUCCEEDED = Row(Finding.FINISHED, "It finished.", True, FINISHED)
LEASE_RAN_OUT = Row(Finding.LEASE_EXPIRED, "its lease ran out and RQ has not noticed yet", False, IN_PROGRESS)
ABANDONED = Row(Finding.RESULT_UNKNOWN, "its worker stopped giving signs of life", False, UNKNOWN_AND_ALIVE)
ABANDONED_LONG_AGO = ABANDONED._replace(is_dead=True, answer=UNKNOWN)


def test_a_worker_that_is_stopped_lets_its_job_finish(real_rq, redis_client):
    worker = begin(real_rq, redis_client, "fx.wait_for_go", "job")
    os.kill(worker.pid, signal.SIGTERM)
    wait_until(lambda: redis_client.hget(f"rq:worker:{worker.name}", "shutdown_requested_date"), "it is leaving")
    check("job", RUNS)
    let_go(redis_client, "job")
    assert worker.wait() == 0
    check("job", SUCCEEDED)


def test_a_worker_that_is_stopped_twice_takes_its_horse_along_and_leaves_the_job_started(real_rq, redis_client):
    worker = begin(real_rq, redis_client, "fx.wait_for_go", "job")
    os.kill(worker.pid, signal.SIGTERM)
    time.sleep(1.2)  # RQ takes a second signal within a second for the same one
    os.kill(worker.pid, signal.SIGTERM)
    worker.wait()
    check("job", Row(Finding.WORKER_GONE, "its worker has signed off, and its process may live on", False, IN_PROGRESS))
    let_lease_run_out(redis_client, "job")
    check("job", LEASE_RAN_OUT._replace(words="its worker has signed off, and its lease ran out"))
    clean_up(real_rq)
    check("job", ABANDONED)
    check("job", ABANDONED_LONG_AGO, later=AFTER_ALL)


@pytest.mark.parametrize("rest", ["worker", "no one"])
def test_a_signal_to_all_of_them_ends_the_horse_and_the_worker_writes_it_down(real_rq, redis_client, rest):
    worker = begin(real_rq, redis_client, "fx.wait_for_go", "job")
    os.kill(worker.wait_for_horse(), signal.SIGTERM)
    if rest == "no one":
        os.kill(worker.pid, signal.SIGTERM)
        worker.wait()
    wait_for_status(redis_client, "job", "failed")
    check("job", Row(Finding.RESULT_UNKNOWN, "told to end (signal 15", True, UNKNOWN))


def test_the_killed_horse_of_a_job_with_retries_waits_to_run_again_unasked(real_rq, redis_client):
    worker = begin(real_rq, redis_client, "fx.wait_for_go", "job", retry={"max": 1, "interval": 600})
    worker.kill_horse()
    wait_for_status(redis_client, "job", "scheduled")
    check("job", Row(Finding.RETRY_PENDING, "It ran before, and RQ will run it again by itself.", True, RETRY_PENDING))


def test_an_orphan_that_finishes_within_its_lease_has_finished(real_rq, redis_client):
    worker = begin(real_rq, redis_client, "fx.wait_for_go", "job")
    worker.kill()
    check("job", RUNS)
    forget_worker(redis_client, worker)
    check("job", Row(Finding.WORKER_GONE, "its worker is gone without a word", False, IN_PROGRESS))
    let_go(redis_client, "job")
    wait_for_status(redis_client, "job", "finished")
    check("job", SUCCEEDED)


def test_an_orphan_that_finishes_after_it_was_given_up_is_both_failed_and_finished(real_rq, redis_client):
    begin(real_rq, redis_client, "fx.wait_for_go", "job").kill()
    let_lease_run_out(redis_client, "job")
    check("job", LEASE_RAN_OUT)
    clean_up(real_rq)
    check("job", ABANDONED)
    let_go(redis_client, "job")
    wait_for_status(redis_client, "job", "finished")
    assert redis_client.zscore("rq:failed:orders", "job") and redis_client.zscore("rq:finished:orders", "job")
    check("job", Row(Finding.DONE_BUT_MARKED_FAILED, "It finished, and is filed as failed all the same.", True, DONE))


def test_an_orphan_that_fails_after_it_was_given_up_has_failed_with_its_own_error(real_rq, redis_client):
    begin(real_rq, redis_client, "fx.wait_for_go_then_boom", "job").kill()
    let_lease_run_out(redis_client, "job")
    clean_up(real_rq)
    let_go(redis_client, "job")
    wait_until(lambda: redis_client.xlen("rq:results:job") == 2, "the orphan fails")
    check("job", Row(Finding.FAILED_KNOWN, "It failed: the function raised an error.", True, KNOWN))


def test_given_up_with_retries_left_a_job_is_queued_while_its_orphan_runs_and_acts_twice(real_rq, redis_client):
    begin(real_rq, redis_client, "fx.wait_for_go", "job", retry={"max": 1}).kill()
    let_lease_run_out(redis_client, "job")
    clean_up(real_rq)
    check("job", Row(Finding.QUEUED, "A run of it never reported its end.", False, QUEUED))
    second = real_rq.start("orders")
    wait_for_status(redis_client, "job", "started")
    check("job", RUNS._replace(words="2 runs of it are on record as not ended"))
    redis_client.set("go:job", 1)
    wait_until(lambda: redis_client.get("effect:job") == b"2", "both act")
    wait_until(lambda: redis_client.xlen("rq:results:job") == 2, "both are recorded")
    second.stop()
    check("job", SUCCEEDED)


def test_an_orphan_that_finishes_while_the_job_is_queued_again_has_finished_and_will_run_again(real_rq, redis_client):
    begin(real_rq, redis_client, "fx.wait_for_go", "job", retry={"max": 1}).kill()
    let_lease_run_out(redis_client, "job")
    clean_up(real_rq)
    let_go(redis_client, "job")
    wait_for_status(redis_client, "job", "finished")
    check("job", SUCCEEDED._replace(words="It also stands in its queue, so it will run again."))


def test_a_lost_host_leaves_a_job_that_counts_as_running_until_it_is_given_up(real_rq, redis_client):
    worker = begin(real_rq, redis_client, "fx.wait_for_go", "job")
    worker.kill_session()
    check("job", RUNS)
    forget_worker(redis_client, worker)
    let_lease_run_out(redis_client, "job")
    check("job", LEASE_RAN_OUT._replace(words="its worker is gone without a word, and its lease ran out"))
    clean_up(real_rq)
    check("job", ABANDONED)
    redis_client.delete("rq:executions:job")
    check("job", ABANDONED)
    check("job", ABANDONED_LONG_AGO, later=AFTER_ALL)


def test_an_exit_with_success_leaves_the_job_running_for_ever_beside_an_idle_worker(real_rq, redis_client):
    real_rq.enqueue("fx.exit_at_once", 7, 0, job_id="job")
    worker = real_rq.start("orders")
    idle = f"rq:worker:{worker.name}"
    wait_until(lambda: redis_client.hmget(idle, "state", "death") == [b"idle", None], "the worker is idle")
    wait_until(lambda: redis_client.hget("rq:job:job", "status") == b"started" and not worker.horse, "the horse ended")
    check("job", RUNS)
    let_lease_run_out(redis_client, "job")
    words = "its process ended without a word, and its worker, alive and idle, takes no notice"
    check("job", LEASE_RAN_OUT._replace(words=words, is_dead=True))
    clean_up(real_rq)
    check("job", ABANDONED)


def test_a_run_that_cannot_be_interrupted_is_killed_by_its_worker_a_minute_after_its_limit(real_rq, redis_client):
    # A limit of a minute before the start: no alarm is set, and the worker finds the minute of grace over at once.
    real_rq.enqueue("fx.wait_for_go", "job", job_id="job", job_timeout=-59)
    real_rq.start("orders", arguments=("--job-monitoring-interval", "1"))
    wait_for_status(redis_client, "job", "failed")
    check("job", Row(Finding.RESULT_UNKNOWN, "it ran on past its time limit and the worker killed it", True, UNKNOWN))


def test_a_stopped_job_may_or_may_not_have_acted(real_rq, redis_client):
    begin(real_rq, redis_client, "fx.wait_for_go", "job", retry={"max": 3})
    real_rq.evaluate("rq.command.send_stop_job_command(connection, 'job')")
    wait_for_status(redis_client, "job", "stopped")
    check("job", Row(Finding.STOPPED, "somebody stopped it while it ran", True, UNKNOWN))


def test_a_job_cancelled_while_it_runs_goes_on_and_finishes(real_rq, redis_client):
    begin(real_rq, redis_client, "fx.wait_for_go", "job")
    real_rq.evaluate("rq.job.Job.fetch('job', connection=connection).cancel()")
    cancelled = ("refuse·canceled", "refuse·canceled")
    check("job", Row(Finding.CANCELED, "A run of it still holds a lease, so it may be at work now.", False, cancelled))
    let_go(redis_client, "job")
    wait_for_status(redis_client, "job", "finished")
    check("job", SUCCEEDED._replace(words="It was cancelled, which does not end a run."))


def test_a_job_cancelled_while_it_runs_is_retried_all_the_same(real_rq, redis_client):
    begin(real_rq, redis_client, "fx.wait_for_go_then_boom", "job", retry={"max": 1, "interval": 600})
    real_rq.evaluate("rq.job.Job.fetch('job', connection=connection).cancel()")
    let_go(redis_client, "job")
    wait_for_status(redis_client, "job", "scheduled")
    wait_until(lambda: not redis_client.exists("rq:executions:job"), "RQ takes the run off its list, a step later")
    words = "It was cancelled, which did not hold it: it will run all the same."
    check("job", Row(Finding.RETRY_PENDING, words, True, RETRY_PENDING))


def test_a_job_deleted_while_it_runs_comes_back(real_rq, redis_client):
    begin(real_rq, redis_client, "fx.wait_for_go", "job")
    real_rq.evaluate("rq.job.Job.fetch('job', connection=connection).delete()")
    redis_client.zadd("rq:failed:orders", {"job": 9999999999})
    check("job", Row(Finding.GONE, "Its data is gone from Redis; only its id is still listed.", True, GONE))
    redis_client.zrem("rq:failed:orders", "job")
    let_go(redis_client, "job")
    wait_for_status(redis_client, "job", "finished")
    check("job", SUCCEEDED)
