"""What a person's act writes of an operation: decision, intent and move are committed together, before the act.

Each locks the operation by a write that restates what was seen, and asks the table again: what a page showed is advice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db.models import F

from jobs.domain.decisions import Decision
from jobs.domain.layered import UNDER_WAY, Layered, decide_cancelling, decide_run
from jobs.domain.operations import AskedBy, Snapshot
from jobs.domain.operations import OperationStatus as Status
from jobs.ledger import attempts, events
from jobs.ledger.audit import open_entry_within, record_change, record_refusal
from jobs.ledger.consequences import ANOTHER_RUN
from jobs.ledger.database import lock_as_seen, outlasting_locks, own_transaction
from jobs.ledger.database import now as database_now
from jobs.ledger.failures import follow_operation
from jobs.ledger.moves import REST, ask_somebody, queue_grace, rest
from jobs.ledger.snapshots import snapshot_of
from jobs.models import AuditEntry, Delivery, Operation, Review

MAY_BE_RUN = frozenset({Status.FAILED, *UNDER_WAY})
"""Where nobody runs it and nothing is asked about it: from there a person may have it run."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run that a person has asked for, as committed; `before`: the columns to put back when nothing comes of it."""

    operation: Operation
    entry: AuditEntry
    before: Mapping[str, Any]


def free_if_over(operation: Operation) -> Operation:
    """The operation, taken from an attempt whose lease is over: that is dead, and what is next is decided now."""
    is_over = operation.lease_until is not None and operation.lease_until <= database_now()
    if operation.status == Status.RUNNING and operation.current_attempt and is_over:
        attempts.take_over(operation.pk, operation.current_attempt, fence=operation.fence, proof=attempts.LEASE_OVER)
        operation.refresh_from_db()
    return operation


@outlasting_locks
def intend_requeue(operation: Operation, *, code: str, asked_by: AskedBy, job_id: str, **details: Any) -> Run | None:
    """Commit that this job of it is to be put back on its queue; the act follows, and then ledger.close_entry.

    `code`: of the decision that the person has seen. `details`: fields of the audit entry. None when the operation is
    not as it was seen, or the table answers otherwise by now. Raises RuntimeError inside a transaction.
    """
    with own_transaction():
        now = database_now()
        found = _decided(operation, code, asked_by, now)
        if found is None:
            return None
        before = {name: getattr(found[0], name) for name in _MOVED}
        entry = open_entry_within(decision_code=code, **details)
        return Run(operation=_queue(*found, job_id, entry, now), entry=entry, before=before)


@outlasting_locks
def queue_afresh(
    operation: Operation, *, code: str, asked_by: AskedBy, job_id: str, outcome: str, **details: Any
) -> Run | None:
    """Commit that it is queued as a new job of this id, which is then pushed; what gets lost there is pushed again.

    Returns and raises as intend_requeue; the entry is closed with this outcome.
    """
    with own_transaction():
        now = database_now()
        found = _decided(operation, code, asked_by, now)
        if found is None:
            return None
        entry = record_change(decision_code=code, outcome=outcome, **details)
        moved = _queue(*found, job_id, entry, now)
        events.note_delivery(moved, job_id, Delivery.Cause.OPERATOR, now)
        return Run(operation=moved, entry=entry, before={})


@outlasting_locks
def take_back(run: Run) -> bool:
    """Nothing came of it: the operation is as it was before, if nobody has touched it since."""
    with own_transaction():
        now = database_now()
        untouched = Operation.objects.filter(pk=run.operation.pk, version=run.operation.version, status=Status.QUEUED)
        is_back = untouched.update(**run.before, version=F("version") + 1, updated_at=now)
        if is_back:
            text = f"The run that {run.entry.actor_name} asked for came to nothing."
            events.note(run.operation, events.Kind.DECIDED, now=now, code="not_queued", text=text)
            follow_operation(Operation.objects.get(pk=run.operation.pk))
        return bool(is_back)


def note_requeue(entry: AuditEntry, now: datetime) -> None:
    """The job of an operation was put back on its queue; in the transaction that closes the entry of that act."""
    if entry.verb not in ("retry_job", "enqueue_job"):
        return
    operation = events.operation_of_delivery(entry.connection, entry.queue, entry.subject)
    if operation is not None:
        events.note_delivery(operation, entry.subject, Delivery.Cause.OPERATOR, now)


@outlasting_locks
def cancel(operation: Operation, *, code: str, actor: Any, reason: str, **details: Any) -> AuditEntry | None:
    """Cancel it, or ask the worker that runs it to; the record of the act is closed with it.

    None when the answer is another by now than the one of this code. Raises RuntimeError inside a transaction.
    """
    with own_transaction():
        now = database_now()
        found = lock_as_seen(operation.pk)
        if found is None:
            return None
        decision = decide_cancelling(_layered(found, AskedBy.OPERATOR, now))
        if not decision.allows_act or decision.code != code:
            return None
        Operation.objects.filter(pk=found.pk).update(cancel_requested_at=now, updated_at=now)
        text = _said(f"{actor.get_username()} had it cancelled.", reason)
        events.note(found, events.Kind.CANCEL_REQUESTED, now=now, code=code, text=text)
        if found.status != Status.RUNNING:
            rest(found, Status.CANCELLED, "cancelled", text, now)
        return record_change(decision_code=code, outcome=decision.sentence, actor=actor, reason=reason, **details)


@outlasting_locks
def ask_first(operation: Operation, *, asked_by: AskedBy, **details: Any) -> tuple[AuditEntry, Review] | None:
    """A run was asked for, and somebody has to find out first: the question is put, and the refusal on record.

    None when the operation is not as it was seen, or nothing has to be asked any more.
    """
    with own_transaction():
        now = database_now()
        found = lock_as_seen(operation.pk, version=operation.version)
        if found is None:
            return None
        snapshot = snapshot_of(found, now)
        decision = decide_run(_layered(found, asked_by, now, snapshot), UTC)
        if not decision.wants_review:
            return None
        ask_somebody(found, decision, snapshot, now)
        outcome = f"{decision.sentence} A review was opened for it."
        entry = record_refusal(decision_code=decision.code, outcome=outcome, **details)
        return entry, found.reviews.get(closed_at=None)


# ----------------------------------------------------------------------------------------------------------------------


def _decided(operation: Operation, code: str, asked_by: AskedBy, now: datetime) -> tuple[Operation, Decision] | None:
    """The operation as it is now, with the table's answer, if both are as they were seen."""
    found = lock_as_seen(operation.pk, version=operation.version)
    if found is None or found.status not in MAY_BE_RUN:
        return None
    decision = decide_run(_layered(found, asked_by, now), UTC)
    return (found, decision) if decision.allows_act and decision.code == code else None


def _layered(operation: Operation, asked_by: AskedBy, now: datetime, snapshot: Snapshot | None = None) -> Layered:
    known = snapshot or snapshot_of(operation, now)
    return Layered(operation_id=operation.operation_id, snapshot=known, now=now, asked_by=asked_by)


def _queue(operation: Operation, decision: Decision, job_id: str, entry: AuditEntry, now: datetime) -> Operation:
    Operation.objects.filter(pk=operation.pk).update(
        status=Status.QUEUED,
        reason_code=decision.code,
        reason_text=decision.sentence,
        job_id=job_id,
        dispatched_at=now,
        due_at=now + queue_grace(),
        next_attempt_at=None,
        updated_at=now,
        version=F("version") + 1,
        **ANOTHER_RUN,
        **REST,
    )
    text = _said(f"{entry.actor_name} had it run again. {decision.sentence}", entry.reason)
    events.note(operation, events.Kind.DECIDED, now=now, code=decision.code, text=text)
    operation.refresh_from_db()
    follow_operation(operation)
    return operation


def _said(sentence: str, reason: str) -> str:
    return f"{sentence} Reason given: {reason}" if reason else sentence


_MOVED = (
    *("status", "reason_code", "reason_text", "job_id", "dispatched_at", "due_at", "next_attempt_at"),
    *ANOTHER_RUN,
)
"""The columns that _queue changes for good."""
