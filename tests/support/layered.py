"""Operations as workers leave them: the jobs of tests/safety/work.py, run by a worker of RQ's in the test's process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from unittest.mock import patch

from django.db import connection
from django.test import TestCase
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from redis import Redis
from rq import Queue, SimpleWorker
from rq.decorators import job as rq_job

from jobs.domain.decisions import Action, Decision
from jobs.domain.verdicts import Verdict
from jobs.ledger import reviews
from jobs.ledger.effect_reviews import open_effect_review
from jobs.ledger.late_evidence import take_late_evidence
from jobs.models import Attempt, Delivery, Effect, Operation, OperationEvent
from jobs.safety import PermanentError
from tests.safety import work


class Workshop:
    """A queue, the jobs that go through it, and the operations that come of them."""

    def __init__(self, client: Redis, queue: str = "orders") -> None:
        self.client, self.queue = client, Queue(queue, connection=client, default_timeout=30)
        forget()
        work.BEHAVIOUR.clear()
        work.CALLS.clear()

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

    def submitted(self, number: int = 5) -> Operation:
        """It waits in its queue."""
        with TestCase.captureOnCommitCallbacks(execute=True):
            operation: Operation = self.declared("touch").submit(number)
        operation.refresh_from_db()
        return operation

    def waiting(self, number: int = 7) -> Operation:
        """It failed once, and waits for its next attempt, which RQ has in its schedule."""
        return self._moved(
            self.failed(number), status="retry_wait", next_attempt_at=timezone.now() + timedelta(hours=1)
        )

    def scheduled(self, number: int = 7) -> Operation:
        """It failed once, and RQ has its job in the schedule for its next attempt."""
        operation = self.waiting(number)
        self.client.zrem("rq:failed:orders", operation.job_id)
        self.client.zadd("rq:scheduled:orders", {operation.job_id: 4e9})
        self.client.hset(f"rq:job:{operation.job_id}", "status", "scheduled")
        return operation

    def accepted(self, number: int = 5) -> Operation:
        """It was submitted, and the process ended before it was queued."""
        with TestCase.captureOnCommitCallbacks(execute=False):
            operation: Operation = self.declared("touch").submit(number)
        return operation

    def contradicted(self, number: int = 5) -> Operation:
        """It was said not to have happened, and then its attempt reported that it had."""
        operation = self.in_review(number)
        effect, review = operation.effects.get(), operation.reviews.get()
        word = reviews.Statement(actor=None, verdict=Verdict.DID_NOT_HAPPEN, version_seen=review.version)
        reviews.settle_review(review, word, now=timezone.now())
        take_late_evidence(effect, operation.attempts.get(), external_id="tx-1", result=None, now=timezone.now())
        return self._moved(operation)

    def repeat(self, operation: Operation, times: int) -> None:
        """So many attempts more, deliveries and skipped repeats."""
        now = timezone.now()
        for number in range(times):
            Attempt.objects.create(
                operation=operation, number=number + 2, fence=1, job_id="x", started_at=now, ended_at=now
            )
            job_id = f"repeat-{times}-{number}"
            Delivery.objects.create(
                operation=operation, connection="default", queue="orders", job_id=job_id, cause="lost", at=now
            )
            OperationEvent.objects.create(operation=operation, kind="dedup", code="sweeper", at=now)

    def lost(self, number: int = 8) -> Operation:
        """It ran, its time is over, and nobody has reported how it ended."""
        operation, over = self.failed(number), timezone.now() - timedelta(minutes=1)
        attempt = operation.attempts.get()
        unended = replace_attempt(attempt, lease_until=over)
        return self._moved(operation, status="running", current_attempt=unended.pk, lease_until=over, fence=2)

    def running(self, number: int = 5, *, done: int | None = None, total: int | None = None) -> Operation:
        """Its second attempt goes on, and has said that it is so far."""
        operation, until = self.failed(number), timezone.now() + timedelta(minutes=5)
        attempt = replace_attempt(operation.attempts.get(), lease_until=until)
        self.client.hset(f"rq:job:{operation.job_id}", "status", "started")
        far = {"attempts_used": attempt.number, "progress_done": done, "progress_total": total, "reason_text": ""}
        return self._moved(operation, status="running", current_attempt=attempt.pk, lease_until=until, **far)

    def failed_with_open_effect(self, number: int = 9, *, kind: str = "unsafe") -> Operation:
        """Its call was cut off, and then no release here could run it any more."""
        operation = self.act(kind, number, error=OSError("no answer"))
        operation.reviews.all().delete()
        operation.effects.update(status="begun")
        return self._moved(operation, status="failed", reason_code="code_missing")

    def while_running(self, look: Callable[[Operation], Any], number: int = 5) -> Any:
        """What this look at the operation gives while its job runs."""
        seen: list[Any] = []
        work.BEHAVIOUR["touch"] = lambda _order: seen.append(look(Operation.objects.get()))
        self.declared("touch").delay(number)
        self.work()
        forget()
        return seen[0]

    def _moved(self, operation: Operation, **changes: Any) -> Operation:
        if changes:
            Operation.objects.filter(pk=operation.pk).update(**changes)
        operation.refresh_from_db()
        return operation

    def queued(self) -> list[str]:
        """The ids that stand in the queue."""
        return list(self.queue.get_job_ids())

    def job_status(self, operation: Operation) -> str:
        """How the newest job of it stands in Redis."""
        status: Any = self.client.hget(f"rq:job:{operation.job_id}", "status")
        return status.decode() if status else ""


def on_record(operation_id: str, job_id: str, *, status: str, job_type: str = "fx.boom", effect: str = "") -> Operation:
    """An operation that this job of the queue orders delivers, as SQL has it; nothing of it is in Redis.

    `effect`: the state of its one effect, which its one attempt has begun; '' for none. An unknown one is in review.
    """
    now = timezone.now()
    operation = Operation.objects.create(
        operation_id=operation_id,
        origin="adopted",
        connection="default",
        queue="orders",
        job_id=job_id,
        job_type=job_type,
        status=status,
        created_at=now,
        updated_at=now,
        attempts_used=1,
        max_attempts=3,
    )
    Delivery.objects.create(
        operation=operation, connection="default", queue="orders", job_id=job_id, cause="delay", at=now
    )
    attempt = Attempt.objects.create(
        operation=operation, number=1, fence=1, job_id=job_id, started_at=now, ended_at=now, outcome="failed"
    )
    if effect:
        begun = Effect.objects.create(
            operation=operation, name="mail", idempotency="unsafe", status=effect, begun_by=attempt, begun_at=now
        )
        if effect == "unknown":
            open_effect_review(operation, begun, Decision(Action.REVIEW, "unsafe_begun", "It may have been sent."), now)
    return operation


def replace_attempt(attempt: Attempt, **changes: Any) -> Attempt:
    """Another attempt of the same operation that goes on, in the stead of one that ended: those never change."""
    fields = {"operation": attempt.operation, "job_id": attempt.job_id, "worker_name": attempt.worker_name}
    operation, started = attempt.operation, attempt.started_at
    fields |= {"number": operation.attempts_used + 1, "fence": 2, "started_at": started, **changes}
    return Attempt.objects.create(**fields)


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
        forget()


def forget() -> None:
    """What the jobs were to do, and what they have done."""
    work.BEHAVIOUR.clear()
    work.CALLS.clear()


def queries_of(call: Any) -> int:
    """How many queries it makes."""
    with CaptureQueriesContext(connection) as queries:
        call()
    return len(queries)
