"""From what was read of a job to its evidence: whose clock, whose lease and whose worker each fact is."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from jobs.broker.details import read_job
from jobs.broker.evidence import evidence_of
from jobs.domain.evidence import WorkerSign
from tests.support.real_rq import wait_until


def detail(job_id="job"):
    return read_job("default", "orders", job_id, now=datetime.now(UTC))


@pytest.fixture
def running(real_rq, redis_client):
    """A job that a worker runs, and names."""
    real_rq.enqueue("fx.wait_for_go", "job", job_id="job")
    real_rq.start("orders")
    wait_until(lambda: redis_client.hget("rq:job:job", "status") == b"started", "the job begins")
    return detail()


def test_the_lease_is_the_one_that_rq_gives_the_run_up_by(running, redis_client):
    ((_, score),) = redis_client.zrange("rq:wip:orders", 0, -1, withscores=True)
    assert abs(evidence_of(running).lease_until.timestamp() - score) < 2


@pytest.mark.parametrize("rq_version", ["3.0"])
def test_a_success_is_as_late_as_its_workers_clock_says(real_rq, redis_client):
    """That clock also wrote the start it is compared with; the server's may differ."""
    real_rq.enqueue("fx.ok", 1, job_id="job")
    real_rq.burst("orders")
    done = detail()
    assert evidence_of(done).succeeded_at == done.results[0].ended_at
    undated = replace(done, results=(replace(done.results[0], ended_at=None),))
    assert evidence_of(undated).succeeded_at == done.results[0].created_at


@pytest.mark.parametrize("rq_version", ["3.0"])
def test_where_results_may_have_run_out_an_earlier_run_may_have_acted(real_rq):
    """Requeued and waiting for longer than a failure is kept, a job has lost what its earlier runs left."""
    real_rq.fail("fx.gone", 1, job_id="job", failure_ttl=600)
    fresh = detail()
    assert not evidence_of(fresh).earlier_runs_may_have_acted
    old = replace(fresh, job=replace(fresh.job, created_at=fresh.job.created_at - timedelta(seconds=601)))
    assert evidence_of(old).earlier_runs_may_have_acted
    assert evidence_of(old).first_started_at == old.job.created_at
    assert evidence_of(replace(fresh, results=())).earlier_runs_may_have_acted


def worker_sign(found, **changes):
    return evidence_of(replace(found, worker=replace(found.worker, **changes))).worker


@pytest.mark.parametrize("rq_version", ["3.0"])
def test_what_a_worker_says_of_itself_is_what_is_seen_of_it(running, now):
    assert evidence_of(running).worker is WorkerSign.ALIVE
    assert worker_sign(running, state="idle") is WorkerSign.IDLE
    assert worker_sign(running, died_at=now) is WorkerSign.DIED
    assert worker_sign(running, exists=False) is WorkerSign.MISSING


@pytest.mark.parametrize("rq_version", ["3.0"])
def test_a_worker_born_after_the_run_began_is_another_of_the_same_name(running):
    began = running.job.started_at
    assert worker_sign(running, born_at=began + timedelta(seconds=1)) is WorkerSign.MISSING
    assert worker_sign(running, born_at=began, state="idle") is WorkerSign.IDLE


@pytest.mark.parametrize("rq_version", ["3.0"])
def test_of_a_job_that_another_worker_may_run_nothing_is_known_of_the_one_it_names(running):
    (run,) = running.executions
    elsewhere = replace(running, executions=(run, replace(run, worker_name="another")))
    assert evidence_of(elsewhere).worker is WorkerSign.UNKNOWN
    assert evidence_of(replace(running, worker=None)).worker is WorkerSign.UNKNOWN
    forgotten = replace(running, executions=(replace(run, worker_name=None),))
    assert evidence_of(forgotten).worker is WorkerSign.ALIVE
