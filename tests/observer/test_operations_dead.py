"""Attempts are taken over when, and only when, it is proved that they are dead."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict, replace
from datetime import timedelta

import pytest
from django.db import connections as databases
from django.utils import timezone
from rq import Worker

from jobs.broker.records import Result, ResultKind
from jobs.domain.excerpts import Excerpt
from jobs.models import Attempt, Operation
from jobs.observer import operations, operations_exits
from jobs.safety import processes
from tests.safety import work
from tests.support.operations import accepted, begun, due
from tests.support.real_rq import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


def take_over():
    return operations.take_over_dead(timezone.now())


@pytest.fixture
def sleeper():
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def identity(sleeper):
    """Of a process that lives as long as `sleeper` does."""
    stat = wait_until(lambda: processes._stat_of(sleeper.pid), "it has begun")
    return asdict(replace(processes.own_identity(), pid=sleeper.pid, process_started=stat.started))


def test_an_attempt_whose_lease_is_over_is_taken_over_once():
    operation = accepted()
    begun(operation, lease=-1)
    due(operation)
    assert (take_over(), take_over()) == (1, 0)
    attempt = Attempt.objects.get()
    assert (attempt.outcome, attempt.death_proof) == ("lost", "lease_over")
    operation.refresh_from_db()
    assert operation.status == "retry_wait" and operation.due_at <= timezone.now()


def test_an_attempt_whose_process_is_gone_is_taken_over_long_before_its_lease_is_over(sleeper, identity):
    begun(accepted(), lease=3600, **identity)
    assert take_over() == 0
    sleeper.kill()
    sleeper.wait()
    assert take_over() == 1
    assert Attempt.objects.get().death_proof == "process_gone"


@pytest.mark.parametrize("other", [{"boot_id": "another"}, {"pid_namespace": "1"}, {"process_started": ""}], ids=str)
def test_a_process_that_may_be_of_another_host_or_container_is_not_taken_for_gone(sleeper, identity, other):
    begun(accepted(), lease=3600, **(identity | other))
    sleeper.kill()
    sleeper.wait()
    assert take_over() == 0


def test_an_attempt_that_ends_while_it_is_looked_at_is_not_taken_over(monkeypatch):
    operation = accepted()
    attempt = begun(operation, lease=-1)
    seen = due(operation)
    Operation.objects.update(status="completed", current_attempt=None, due_at=None)
    assert not operations.take_over(attempt, "process_gone", seen)
    assert not operations.take_over(attempt, "lease_over", seen)
    operation.refresh_from_db()
    assert operation.status == "completed" and Attempt.objects.get().outcome == ""


# A real horse ---------------------------------------------------------------------------------------------------------


def hold(_order):
    time.sleep(60)


@pytest.fixture
def worker(declared, queue):
    """A real worker in a process of its own, whose horse runs a job that goes on for long."""
    work.BEHAVIOUR["touch"] = hold
    declared["touch"].submit(5)
    databases.close_all()
    pid = os.fork()
    if pid == 0:
        try:
            Worker([queue], connection=queue.connection).work(burst=True)
        finally:
            os._exit(0)
    yield pid
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def the_horse():
    return Attempt.objects.exclude(pid=None).first()


def test_a_killed_horse_is_noticed_by_the_next_pass(worker):
    attempt = wait_until(the_horse, "the horse has claimed it")
    assert take_over() == 0
    os.kill(attempt.pid, signal.SIGKILL)
    wait_until(take_over, "it is dead")
    attempt.refresh_from_db()
    assert (attempt.outcome, attempt.death_proof) == ("lost", "process_gone")


def test_a_horse_of_another_host_is_taken_over_once_its_worker_has_recorded_its_end(worker, queue, monkeypatch):
    attempt = wait_until(the_horse, "the horse has claimed it")
    monkeypatch.setattr(processes, "own_identity", lambda: processes.Identity(boot_id="another", pid_namespace="7"))
    assert take_over() == operations_exits.take_over_ended("default", timezone.now()) == 0
    os.kill(attempt.pid, signal.SIGKILL)
    wait_until(lambda: queue.failed_job_registry.get_job_ids(cleanup=False), "its worker files it")
    assert take_over() == 0
    assert operations_exits.take_over_ended("default", timezone.now()) == 1
    attempt.refresh_from_db()
    assert (attempt.outcome, attempt.death_proof) == ("lost", "exit_recorded")


# What RQ has put on record --------------------------------------------------------------------------------------------

KILLED = "Work-horse terminated unexpectedly; waitpid returned 9 (signal 9); "
STOPPED = "Job stopped by user, work-horse terminated."
TIMED_OUT = """Traceback (most recent call last):
  File "/app/lib/python3.11/site-packages/rq/worker/base.py", line 1500, in perform_job
  File "/app/lib/python3.11/site-packages/rq/job.py", line 1539, in _execute
  File "/app/shop/jobs.py", line 7, in send
rq.timeouts.JobTimeoutException: Task exceeded maximum timeout value (180 seconds)
"""
RAISED = TIMED_OUT.replace("rq.timeouts.JobTimeoutException: Task exceeded", "ValueError: exceeded")
ABANDONED = "Moved to FailedJobRegistry, due to AbandonedJobError, at 2026-01-01 00:00:00"
STUCK = "Job was stuck in intermediate queue."
ATTEMPT = Attempt(worker_name="w-1", started_at=timezone.now(), execution_id="")


def end(text=KILLED, **changes):
    began = ATTEMPT.started_at - timedelta(seconds=1)
    usual = Result(
        id="1-0",
        kind=ResultKind.FAILED,
        created_at=began + timedelta(minutes=1),
        worker_name="w-1",
        execution_id="run-1",
        started_at=began,
        ended_at=began + timedelta(minutes=1),
        error=Excerpt(text),
    )
    return replace(usual, **changes)


@pytest.mark.parametrize("text", [KILLED, STOPPED, TIMED_OUT], ids=["killed", "stopped", "timed-out"])
def test_an_end_that_the_worker_saw_proves_death(text):
    assert operations_exits.proves_exit(ATTEMPT, end(text))


@pytest.mark.parametrize("text", [ABANDONED, STUCK, RAISED, ""], ids=["abandoned", "stuck", "raised", "no-text"])
def test_what_rq_only_concludes_proves_nothing(text):
    assert not operations_exits.proves_exit(ATTEMPT, end(text))


@pytest.mark.parametrize(
    "changes",
    [
        {"worker_name": "w-2"},
        {"started_at": None},
        {"ended_at": None},
        {"started_at": ATTEMPT.started_at + timedelta(seconds=1)},
        {"ended_at": ATTEMPT.started_at - timedelta(seconds=1)},
        {"started_at": ATTEMPT.started_at - timedelta(minutes=2)},
        {"kind": ResultKind.SUCCESSFUL},
    ],
    ids=["other-worker", "no-start", "no-end", "later-run", "earlier-run", "much-earlier-start", "success"],
)
def test_the_end_of_another_run_proves_nothing(changes):
    assert not operations_exits.proves_exit(ATTEMPT, end(**changes))


def test_the_end_of_another_execution_proves_nothing():
    attempt = Attempt(worker_name="w-1", started_at=ATTEMPT.started_at, execution_id="run-2")
    assert not operations_exits.proves_exit(attempt, end())
    assert operations_exits.proves_exit(attempt, end(execution_id="run-2"))
