"""The workers, idle, busy, leaving and dead."""

from __future__ import annotations

import os
import signal

import pytest

from jobs.broker.workers import read_workers
from tests.support.real_rq import wait_until


def by_name():
    return {worker.name: (worker, jobs) for worker, jobs in read_workers("default")}


def test_an_idle_worker_is_shown_with_its_queues(real_rq):
    started = real_rq.start("orders", "mail")
    worker, jobs = wait_until(lambda: by_name().get(started.name), "the worker is listed")
    assert (worker.queues, worker.pid, jobs) == (("orders", "mail"), started.pid, ())
    assert worker.version.startswith(real_rq.version)


def test_a_busy_worker_names_the_job_it_runs(real_rq):
    job_id = real_rq.enqueue("fx.slow", 7, 30)
    started = real_rq.start("orders")
    started.wait_for_horse()
    wait_until(lambda: by_name()[started.name][1], "the worker names its job")
    worker, (job,) = by_name()[started.name]
    assert (worker.state, job.job_id, job.origin) == ("busy", job_id, "orders")


def test_a_worker_that_was_told_to_end_says_so(real_rq):
    real_rq.enqueue("fx.slow", 7, 30)
    started = real_rq.start("orders")
    started.wait_for_horse()
    os.kill(started.pid, signal.SIGTERM)
    wait_until(lambda: by_name()[started.name][0].shutdown_requested_at, "the shutdown is on record")


@pytest.mark.parametrize("rq_version", ["3.0"])
def test_a_name_without_a_record_is_a_worker_that_is_gone(real_rq, redis_client):
    redis_client.sadd("rq:workers", "rq:worker:<b>gone</b>", "nonsense")
    ((name, (worker, jobs)),) = by_name().items()
    assert (name, worker.exists, jobs) == ("<b>gone</b>", False, ())
