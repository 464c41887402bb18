"""Operations as workers leave them: the jobs of tests/safety/work.py, run by a worker of RQ's in the test's process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from django.db import connection
from django.test.utils import CaptureQueriesContext
from redis import Redis
from rq import Queue, SimpleWorker
from rq.decorators import job as rq_job

from jobs.models import Operation
from jobs.safety import PermanentError
from tests.safety import work


class Workshop:
    """A queue, the jobs that go through it, and the operations that come of them."""

    def __init__(self, client: Redis, queue: str = "orders") -> None:
        self.client, self.queue = client, Queue(queue, connection=client, default_timeout=30)

    def declared(self, name: str) -> Any:
        """One of the jobs, with RQ's decorator above it."""
        return rq_job(self.queue, connection=self.client)(getattr(work, name))

    def work(self) -> None:
        """Run what is queued until nothing is left."""
        # Within the transaction of a test a worker that closes the database's connections would end the test's own.
        with patch("jobs.safety.setup.close_old_connections"):
            SimpleWorker([self.queue], connection=self.client).work(burst=True)

    def touch(self, number: int = 5, *, error: Exception | None = None) -> Operation:
        """A job without effects has run, and failed with this error if there is one."""
        with behaving("touch", error):
            self.declared("touch").delay(number)
            self.work()
        return Operation.objects.get(operation_id=f"plain:{number}")

    def failed(self, number: int = 5) -> Operation:
        """It failed for good, before anything was begun."""
        return self.touch(number, error=PermanentError("no such period"))

    def act(self, kind: str, number: int = 5, *, error: Exception | None = None) -> Operation:
        """A job with one effect of this class has run; the call ended with this error if there is one."""
        with behaving(f"{kind}-{number}", error):
            self.declared("act").delay(kind, number)
            self.work()
        return Operation.objects.get(operation_id=f"act:{kind}:{number}")

    def in_review(self, number: int = 5) -> Operation:
        """Its unsafe call was cut off: nobody knows whether it happened."""
        return self.act("unsafe", number, error=OSError("no answer"))

    def queued(self) -> list[str]:
        """The ids that stand in the queue."""
        return list(self.queue.get_job_ids())

    def job_status(self, operation: Operation) -> str:
        """How the newest job of it stands in Redis."""
        status: Any = self.client.hget(f"rq:job:{operation.job_id}", "status")
        return status.decode() if status else ""


@contextmanager
def behaving(key: str, error: Exception | None) -> Iterator[None]:
    """For as long as the block lasts, what goes by this key fails so."""

    def fail(_given: Any) -> None:
        assert error is not None
        raise error

    if error is not None:
        work.BEHAVIOUR[key] = fail
    try:
        yield
    finally:
        work.BEHAVIOUR.clear()
        work.CALLS.clear()


def queries_of(call: Any) -> int:
    """How many queries it makes."""
    with CaptureQueriesContext(connection) as queries:
        call()
    return len(queries)
