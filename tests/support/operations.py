"""Operations laid out as a crash would have left them, and RQ's keys of their jobs as RQ would have them."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from django.utils import timezone
from redis import Redis

from jobs.ledger import attempts
from jobs.models import Attempt, Operation
from tests.support.op_ledger import delivered, running, submitted

QUEUE = "safe"


def due(operation: Operation, **changes: Any) -> Operation:
    """The same, a second after its time; `changes` are what a crash has left there."""
    Operation.objects.filter(pk=operation.pk).update(due_at=timezone.now() - timedelta(seconds=1), **changes)
    operation.refresh_from_db()
    return operation


def accepted(order_id: int = 5, **changes: Any) -> Operation:
    """An operation of tests.safety.work.touch as `.submit()` commits it, before anything is pushed."""
    usual: dict[str, Any] = {
        "args": {"order_id": order_id},
        "queue": QUEUE,
        "job_id": uuid4().hex,
        "job_type": "tests.safety.work.touch",
        "dispatch": {"timeout": 30},
    }
    return submitted(f"plain:{order_id}", **(usual | changes))


def begun(operation: Operation, *, lease: float = 30, **process: Any) -> Attempt:
    """It is claimed by a worker, for so many seconds (below 0: the lease is over); the operation is refreshed."""
    names = ("queue", "job_id", "job_type", "args", "dispatch", "declared_effects")
    same = {name: getattr(operation, name) for name in names}
    found = delivered(operation.operation_id, may_run=timedelta(seconds=lease), process=process, **same)
    _operation, attempt = running(attempts.claim(found))
    operation.refresh_from_db()
    return attempt


def lay_out(redis: Redis, operation: Operation, status: str, **fields: str) -> str:
    """The hash of the operation's newest job, in this state and in no list; returns its id."""
    job_id, at = operation.job_id, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    values: dict[Any, Any] = {"status": status, "origin": operation.queue, "created_at": at, **fields}
    redis.hset(f"rq:job:{job_id}", mapping=values)
    return job_id


def lease(redis: Redis, job_id: str, seconds: float) -> None:
    """A worker has it for so many seconds more."""
    redis.zadd(f"rq:executions:{job_id}", {"run": time.time() + seconds + 60})
