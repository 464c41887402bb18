"""Operations as a worker's process would write them, without a worker: deliveries, claims and effects by hand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from types import SimpleNamespace
from typing import Any, cast

import pytest

from jobs.domain.backoff import Backoff
from jobs.domain.idempotency import Idempotency
from jobs.domain.operations import ErrorKind
from jobs.domain.verdicts import Verdict
from jobs.ledger import adoption, attempts, effects, rescues
from jobs.ledger.attempts import Claim, Delivered, Failure
from jobs.ledger.consequences import follow_resolution
from jobs.ledger.effects import Plan
from jobs.models import Attempt, Effect, Operation, Review
from jobs.safety.calls import fingerprint

START = datetime(2026, 3, 14, 15, 9, 26, tzinfo=UTC)
LEASE = timedelta(minutes=5)
HORIZON = timedelta(hours=24)
POLICY = Backoff(max_attempts=3, base=0, max_lost=3)
_NUMBERS = count(1)


class Clock:
    """The ledger's clock, in a test's hand."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def forward(self, by: timedelta | float) -> None:
        self.now += by if isinstance(by, timedelta) else timedelta(seconds=by)


@contextmanager
def clock_in_hand() -> Iterator[Clock]:
    """All of the ledger goes by this clock for as long as the block lasts."""
    clock = Clock()
    with pytest.MonkeyPatch.context() as patch:
        for module in (adoption, attempts, effects, rescues):
            patch.setattr(module, "database_now", clock)
        yield clock


def delivered(operation_id: str = "pay:5", **changes: Any) -> Delivered:
    """A job in a worker's hand, of a call with one id."""
    args = changes.pop("args", {"order_id": 5})
    usual: dict[str, Any] = {
        "operation_id": operation_id,
        "connection": "default",
        "queue": "orders",
        "job_id": f"job-{next(_NUMBERS)}",
        "job_created_at": START,
        "execution_id": "",
        "worker_name": "worker-1",
        "job_type": "shop.pay",
        "args": args,
        "args_fingerprint": fingerprint(args),
        "entity": "5",
        "dispatch": {"timeout": 180},
        "policy": POLICY.to_json(),
        "declared_effects": (),
        "may_run": LEASE,
    }
    return Delivered(**(usual | changes))


def submitted(operation_id: str = "pay:5", **changes: Any) -> Operation:
    """An operation as `.submit()` leaves it, committed and not queued yet."""
    one = delivered(operation_id, **changes)
    names = ("connection", "queue", "job_id", "job_type", "args", "args_fingerprint", "entity", "dispatch", "policy")
    fields = {name: getattr(one, name) for name in names}
    operation, _is_new = adoption.accept(
        operation_id,
        max_attempts=Backoff.from_json(one.policy).max_attempts,
        declared_effects=list(one.declared_effects),
        **fields,
    )
    return operation


def claimed(operation_id: str = "pay:5", **changes: Any) -> tuple[Operation, Attempt]:
    """An attempt that runs."""
    claim = attempts.claim(delivered(operation_id, **changes))
    return running(claim)


def running(claim: Claim) -> tuple[Operation, Attempt]:
    """What a claim has won."""
    assert claim.operation is not None, claim.decision
    assert claim.attempt is not None, claim.decision
    return claim.operation, claim.attempt


def plan(kind: str = "unsafe", name: str = "charge", **changes: Any) -> Plan:
    """An effect of that class, as code would begin it."""
    usual: dict[str, Any] = {
        "name": name,
        "item": "",
        "idempotency": Idempotency(kind),
        "key": f"key-{name}",
        "remembered_for": HORIZON if kind == "keyed" else None,
        "settles_in": timedelta(seconds=30) if kind == "checkable" else None,
        "has_probe": kind == "checkable",
        "call_timeout": timedelta(seconds=10),
    }
    return Plan(**(usual | changes))


def begun(kind: str = "unsafe", **changes: Any) -> tuple[Operation, Attempt, Effect]:
    """An attempt in the middle of its call."""
    operation, attempt = claimed()
    return operation, attempt, effects.begin(operation, attempt, plan(kind, **changes))


def fail(operation: Operation, attempt: Attempt, **changes: Any) -> Any:
    """The attempt raises: something that may pass, unless told otherwise."""
    usual: dict[str, Any] = {"kind": ErrorKind.TRANSIENT, "error_class": "OSError", "error_line": "no answer"}
    return attempts.fail(operation, attempt, Failure(**(usual | changes)), chance=0.5)


def resolve(review: Review, verdict: Verdict, now: datetime, **evidence: Any) -> None:
    """What a person says in this review, and what follows from it for effect and operation."""
    Review.objects.filter(pk=review.pk).update(closed_at=now, verdict=verdict)
    said = SimpleNamespace(verdict=verdict, evidence=evidence, source="human", reason="looked it up")
    follow_resolution(review, cast(Any, said), now)


def taken_over(operation: Operation, *, proof: str = "process_gone") -> Any:
    """The observer has a proof of the attempt's death."""
    operation.refresh_from_db()
    return attempts.take_over(operation.pk, operation.current_attempt, fence=operation.fence, proof=proof)
