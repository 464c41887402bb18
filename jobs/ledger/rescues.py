"""What only the observer writes of operations: the rescue of those whose delivery or process was lost (protocol, 1.5).

Each restates what was seen, status and version, and believes the count of rows that it changed: of two observers one
writes, and of an operation that went on meanwhile nothing is written. The queueing itself follows after the commit; if
that never comes, the job is found nowhere after the grace, and is rescued again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from django.db import transaction

from jobs.domain.decisions import Action, Decision
from jobs.domain.layered import UNDER_WAY
from jobs.domain.operation_rules import decide
from jobs.domain.operations import AskedBy, AttemptOutcome, ErrorKind, Snapshot
from jobs.domain.operations import OperationStatus as Status
from jobs.ledger import events
from jobs.ledger.database import alias, lock_as_seen, outlasting_locks, own_transaction
from jobs.ledger.database import now as database_now
from jobs.ledger.moves import ask_somebody, completed, move, note_decision, queue_grace
from jobs.ledger.snapshots import snapshot_of
from jobs.models import Attempt, Delivery, Operation

LOOKED_AT_LEAST_EVERY = timedelta(minutes=5)
NEVER_ENTERED = "never_entered"
"""The code of the event that a delivery ended before anything of the job ran."""
CANCELLED_THERE = "cancelled_in_rq"
_FRESH_STARTS = ("submit", "delay", "operator", "review")
"""Deliveries that somebody asked for: what failed before them is not counted against the operation any more."""

Cause = Delivery.Cause


@outlasting_locks
def queue_again(seen: Operation, cause: str) -> Operation | None:
    """Put it on record as queued under a fresh job id, for the caller to push; or what the rules want instead.

    None when that is something else, or it is not as it was seen.
    """
    return _rescue(seen, cause, lambda operation, snapshot, now: snapshot)


@outlasting_locks
def queue_unentered(seen: Operation) -> Operation | None:
    """The same after a delivery that ended before anything of the job ran (protocol, C5).

    Each such end counts as a lost attempt does, so that a job which kills whatever takes it is not delivered for ever.
    """

    def counted(operation: Operation, snapshot: Snapshot, now: datetime) -> Snapshot:
        text = "A delivery ended before anything of the job ran."
        events.note(operation, events.Kind.DECIDED, now=now, code=NEVER_ENTERED, text=text)
        return replace(snapshot, lost_attempts=snapshot.lost_attempts + _ends_unentered(operation))

    return _rescue(seen, Cause.LOST, counted)


@outlasting_locks
def refuse_code(seen: Operation, *, is_known: bool) -> None:
    """RQ could not call the function: it is not there (`is_known` False), or takes other arguments (R14, C18)."""

    def refused(operation: Operation, snapshot: Snapshot, now: datetime) -> Snapshot:
        return replace(snapshot, is_code_known=is_known, does_call_bind=not is_known)

    _rescue(seen, Cause.LOST, refused)


def refuse_call(operation_id: str, job_id: str) -> None:
    """The same, told by the worker itself: this delivery of it brings a call that its function does not take.

    Nothing is written of an operation that is on its way as another job by now, or not at all.
    """
    seen = Operation.objects.filter(operation_id=operation_id, job_id=job_id, status__in=UNDER_WAY).first()
    if seen is not None:
        refuse_code(seen, is_known=True)


@outlasting_locks
def follow_cancel(seen: Operation) -> Operation | None:
    """Its job was cancelled in RQ before it began: that is a wish to cancel, and granted as any other (R15).

    Where something had left the system before, it is queued again; then this is as queue_again.
    """

    def wished(operation: Operation, snapshot: Snapshot, now: datetime) -> Snapshot:
        text = "Its job was cancelled in RQ."
        Operation.objects.filter(pk=operation.pk).update(cancel_requested_at=now)
        events.note(operation, events.Kind.CANCEL_REQUESTED, now=now, code=CANCELLED_THERE, text=text)
        return replace(snapshot, is_cancel_requested=True)

    return _rescue(seen, Cause.LOST, wished)


@outlasting_locks
def ask_of_unseen_run(seen: Operation) -> None:
    """RQ says that its job finished, and nothing of that is on record: it ran outside the layer, so a person is asked.

    A worker of a release without the decorator does so.
    """
    with own_transaction():
        now = database_now()
        if operation := _restated(seen):
            ask_somebody(operation, _RAN_UNSEEN, snapshot_of(operation, now), now)
            note_decision(operation, _RAN_UNSEEN, now)


@outlasting_locks
def complete_declared(seen: Operation) -> bool:
    """Complete an operation of which only the final mark is missing: all its declared effects happened (protocol, C9).

    Only where its last attempt died, or a person said that the last effect had happened: an attempt that failed by
    itself, or stopped, has its own code to go on with. False when that is not so, or it is not as it was seen.
    """
    if not seen.declared_effects or not _is_only_mark_missing(seen):
        return False
    with own_transaction():
        now = database_now()
        operation = _restated(seen)
        if operation is None:
            return False
        decision = decide(snapshot_of(operation, now), now, AskedBy.SWEEPER)
        if decision.code != "resume_only":
            # As if it had not been touched: the caller has it as it was seen, and goes on with that.
            transaction.set_rollback(True, using=alias())
            return False
        Operation.objects.filter(pk=operation.pk).update(
            reason_text="All its effects had happened; only the final mark was missing.", **completed(now)
        )
        note_decision(operation, decision, now)
        return True


@outlasting_locks
def look_again(seen: Collection[Operation], *, at: datetime | None = None) -> int:
    """Nothing is to be done of these, all of one status, by now: they are looked at again `at`, or after the grace.

    Without `at`, a job that waits for long is looked at less often. Returns how many were still as they were seen.
    """
    with own_transaction():
        now = database_now()
        by_time: dict[datetime, list[int]] = {}
        for one in seen:
            by_time.setdefault(at or now + _pause(one, now), []).append(one.pk)
        due = Operation.objects.filter(due_at__lte=now, status__in={one.status for one in seen})
        return sum(due.filter(pk__in=pks).update(due_at=when) for when, pks in sorted(by_time.items()))


@outlasting_locks
def open_missing_review(seen: Operation) -> bool:
    """The result of this one is unknown and nobody is asked, which should never be. False when it is not as seen."""
    with own_transaction():
        now = database_now()
        operation = _restated(seen)
        if operation is None or operation.reviews.filter(closed_at=None).exists():
            return False
        snapshot = snapshot_of(operation, now)
        decision = decide(snapshot, now, AskedBy.SWEEPER)
        ask_somebody(operation, decision if decision.action is Action.REVIEW else _UNASKED, snapshot, now)
        return True


def give_deadlines(now: datetime) -> int:
    """Operations under way that nobody would ever look after get a time to be looked after: now."""
    under_way = (Status.ACCEPTED, Status.QUEUED, Status.RUNNING, Status.RETRY_WAIT)
    forgotten = Operation.objects.exclude(origin=Operation.Origin.PLAIN).filter(status__in=under_way, due_at=None)
    return forgotten.update(due_at=now)


# ----------------------------------------------------------------------------------------------------------------------


def _rescue(
    seen: Operation, cause: str, adjusted: Callable[[Operation, Snapshot, datetime], Snapshot]
) -> Operation | None:
    with own_transaction():
        now = database_now()
        operation = _restated(seen)
        if operation is None:
            return None
        snapshot = adjusted(operation, snapshot_of(operation, now), now)
        decision = decide(snapshot, now, AskedBy.SWEEPER)
        if decision.action in (Action.RETRY, Action.PROBE):
            return _queued(operation, cause, now)
        move(operation, decision, snapshot, now, retry_at=now)
        note_decision(operation, decision, now)
        return None


def _restated(seen: Operation) -> Operation | None:
    """The row, locked, if it still is as it was seen."""
    return lock_as_seen(seen.pk, status=seen.status, version=seen.version)


def _queued(operation: Operation, cause: str, now: datetime) -> Operation:
    changes: dict[str, Any] = {
        "status": Status.QUEUED,
        "job_id": uuid4().hex,
        "dispatched_at": now,
        "due_at": now + queue_grace(),
        "next_attempt_at": None,
        "updated_at": now,
    }
    Operation.objects.filter(pk=operation.pk).update(**changes)
    operation.refresh_from_db()
    events.note_delivery(operation, operation.job_id, cause, now)
    return operation


def _ends_unentered(operation: Operation) -> int:
    """How many deliveries in a row ended so, since it was last begun or somebody last asked for it."""
    ends = operation.events.filter(kind=events.Kind.DECIDED, code=NEVER_ENTERED)
    begun = operation.attempts.filter(number__gt=0).order_by("started_at").last()
    asked = operation.deliveries.filter(cause__in=_FRESH_STARTS).order_by("at").last()
    since = [one for one in (begun and begun.started_at, asked and asked.at) if one]
    return (ends.filter(at__gt=max(since)) if since else ends).count()


def _is_only_mark_missing(seen: Operation) -> bool:
    if seen.status != Status.RETRY_WAIT:
        return False
    return seen.reason_code == "said_happened" or was_lost(seen)


def was_lost(operation: Operation) -> bool:
    """Whether its newest attempt died without a word."""
    newest = Attempt.objects.filter(operation=operation, number__gt=0).order_by("started_at", "fence").last()
    return operation.last_error == ErrorKind.LOST and newest is not None and newest.outcome == AttemptOutcome.LOST


def _pause(operation: Operation, now: datetime) -> timedelta:
    """As long as it has waited already, within limits; rounded, so that many are written by few statements."""
    pause = queue_grace() or timedelta(seconds=1)
    waited = now - (operation.dispatched_at or operation.created_at)
    while pause * 2 <= min(waited, LOOKED_AT_LEAST_EVERY):
        pause *= 2
    return pause


_RAN_UNSEEN = Decision(
    Action.REVIEW,
    "undeclared_started",
    "RQ says that its job finished, but nothing of that is on record here: it ran outside the job-safety layer.",
    "R23",
)
_UNASKED = Decision(
    Action.REVIEW, "effect_unknown", "Nobody knows what its last attempt did, and nobody was asked.", "R8"
)
