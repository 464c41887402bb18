"""A worker of RQ's in the test's own process, and a queue that its jobs go through."""

from __future__ import annotations

import pytest
from rq import Queue, SimpleWorker
from rq.decorators import job as rq_job

from tests.safety import work


@pytest.fixture(autouse=True)
def forget_what_jobs_did():
    work.BEHAVIOUR.clear()
    work.CALLS.clear()


@pytest.fixture
def queue(redis_client) -> Queue:
    return Queue("safe", connection=redis_client, default_timeout=30)


@pytest.fixture
def declared(queue):
    """The jobs of `work` with RQ's decorator above them, as application code has it."""
    return {name: rq_job(queue, connection=queue.connection)(getattr(work, name)) for name in ("touch", "act")}


@pytest.fixture
def run_all(queue):
    """Run what is queued, and what is due, until nothing is left; returns the worker's own count."""

    def run(**options) -> None:
        SimpleWorker([queue], connection=queue.connection).work(burst=True, **options)

    return run
