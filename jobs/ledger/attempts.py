"""Attempts at operations: the claim that begins one, and the end that it reports (protocol, W3 and W6).

Decisions are fenced: each restates that this attempt still holds its operation, and believes the count of rows that it
changed. Facts are not: an attempt that was taken over still tells how it ended.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F

from jobs.domain.decisions import Action, Decision
from jobs.domain.operation_rules import decide
from jobs.domain.operations import AskedBy, AttemptOutcome, DedupCause, EffectStatus, ErrorKind, Snapshot
from jobs.domain.operations import OperationStatus as Status
from jobs.ledger import endings, events
from jobs.ledger.adoption import adopt, is_same_call
from jobs.ledger.database import lock_operation, outlasting_locks, own_transaction
from jobs.ledger.database import now as database_now
from jobs.ledger.moves import REST, completed, move, note_decision, rest
from jobs.ledger.snapshots import snapshot_of
from jobs.models import Attempt, Operation


@dataclass(frozen=True, kw_only=True)
class Delivered:
    """What a worker has in hand: the call as bound to the function's parameters, and the RQ job that brings it.

    `is_submitted`: the job names an operation that must be on record. `process`: the fields of Attempt that identify
    the process. `may_run`: from now on, the job's time limit and the grace of the settings.
    """

    operation_id: str
    connection: str
    queue: str
    job_id: str
    job_created_at: datetime | None
    execution_id: str
    worker_name: str
    job_type: str
    args: dict[str, Any]
    args_fingerprint: str
    entity: str
    dispatch: dict[str, Any]
    policy: dict[str, Any]
    declared_effects: tuple[str, ...]
    may_run: timedelta
    defaults: dict[str, Any] = field(default_factory=dict)
    """Of the function's parameters, as this release has them."""
    formerly: tuple[str, ...] = ()
    """Paths that the function had before."""
    is_submitted: bool = False
    was_abandoned: bool = False
    """RQ has filed an earlier run of this very job as abandoned."""
    process: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What came of a delivery: an attempt that may run, or None and the decision that turned it away."""

    operation: Operation | None
    attempt: Attempt | None
    decision: Decision


@dataclass(frozen=True, kw_only=True)
class Failure:
    """How an attempt failed, with texts that are masked already. `retry_after`: what the other side asked for."""

    kind: ErrorKind
    error_class: str
    error_line: str
    retry_after: timedelta | None = None
    is_stopped: bool = False
    """It ended early since its worker was asked to stop: that is no failure."""
    is_unfinished: bool = False
    """It returned while an effect was begun (protocol, C19)."""
    objection: Decision | None = None
    """Why an effect of an earlier attempt was not begun again; and which one it is, by primary key."""
    objecting_effect: int | None = None


@outlasting_locks
def claim(delivered: Delivered) -> Claim:
    """Take the operation, or say why not: one transaction, one winner (protocol, W3).

    The decision on a page was advice; this one counts. Raises RuntimeError inside a transaction.
    """
    with own_transaction():
        now = database_now()
        operation = _locked(delivered.operation_id) or _adopted(delivered, now)
        if operation is None:
            return Claim(operation=None, attempt=None, decision=decide(Snapshot(exists=False), now, AskedBy.AUTO))
        _note_delivery(operation, delivered, now)
        is_own = _is_own(operation, delivered)
        if is_own:
            _lose_if_over(operation, now)
        snapshot = snapshot_of(operation, now, has_same_arguments=is_own)
        decision = decide(snapshot, now, AskedBy.AUTO)
        if decision.action in (Action.RETRY, Action.PROBE):
            return Claim(operation=operation, attempt=_begin(operation, delivered, decision, now), decision=decision)
        _turn_away(operation, delivered, decision, snapshot, now)
        return Claim(operation=operation, attempt=None, decision=decision)


@outlasting_locks
def complete(operation: Operation, attempt: Attempt) -> bool:
    """The job returned and nothing is left open (protocol, W6). False when the attempt was taken over meanwhile."""
    with own_transaction():
        now = database_now()
        done = _held(operation, attempt).update(reason_text="", version=F("version") + 1, **completed(now), **REST)
        if done:
            endings.end(attempt, now, AttemptOutcome.COMPLETED)
        else:
            endings.supersede(operation, attempt, now)
    return bool(done)


@outlasting_locks
def fail(operation: Operation, attempt: Attempt, failure: Failure, *, chance: float) -> Decision | None:
    """The job raised: what is next is decided, and done, in one transaction. None when it was taken over meanwhile.

    `chance`: 0 to 1, where in its range the delay before the next attempt falls. The operation is refreshed.
    """
    with own_transaction():
        now = database_now()
        if not _held(operation, attempt).update(**endings.columns_after(failure), **REST):
            endings.supersede(operation, attempt, now, failure)
            return None
        # Its end first, without a name for it: the rules ask whether it may still act.
        endings.end(attempt, now, "", failure)
        if not failure.is_stopped:
            endings.count_missed_probes(operation, attempt)
        operation.refresh_from_db()
        snapshot = snapshot_of(operation, now)
        decision = endings.decide_after(failure, snapshot, now)
        retry_at = now + endings.delay_after(operation, failure, chance)
        about = failure.objecting_effect
        move(operation, decision, snapshot, now, retry_at=retry_at, is_on_its_way=True, effect_pk=about)
        note_decision(operation, decision, now, attempt=attempt)
        Attempt.objects.filter(pk=attempt.pk).update(outcome=endings.outcome_of(operation, failure))
        return decision


@outlasting_locks
def cancel(operation: Operation, attempt: Attempt, text: str) -> bool:
    """The attempt ends since it is to be cancelled. False, and nothing is changed, once something has left the system.

    What may have happened is never called cancelled (protocol, C17).
    """
    with own_transaction():
        now = database_now()
        lock_operation(operation.pk)
        if operation.effects.exclude(status=EffectStatus.RELEASED).exists():
            return False
        if _held(operation, attempt).exists():
            rest(operation, Status.CANCELLED, "cancelled", text, now)
            endings.end(attempt, now, AttemptOutcome.CANCELLED)
        else:
            endings.supersede(operation, attempt, now)
        return True


@outlasting_locks
def take_over(operation_pk: int, attempt_id: Any, *, fence: int, proof: str) -> Decision | None:
    """The attempt is dead and reported nothing: it is lost, and what is next is decided (protocol, 1.6).

    `proof`: lease_over, or how its death was proved before (Attempt.death_proof). Restates what was seen: None when
    the attempt has reported, or somebody else was faster, or its lease is not over after all.
    """
    with own_transaction():
        now = database_now()
        seen = Operation.objects.filter(pk=operation_pk, status=Status.RUNNING, current_attempt=attempt_id, fence=fence)
        if proof == LEASE_OVER:
            seen = seen.filter(lease_until__lte=now)
        if not seen.update(version=F("version") + 1):
            return None
        operation = Operation.objects.get(pk=operation_pk)
        _lose(operation, now, proof)
        snapshot = snapshot_of(operation, now)
        decision = decide(snapshot, now, AskedBy.SWEEPER)
        move(operation, decision, snapshot, now, retry_at=now)
        note_decision(operation, decision, now)
        return decision


def time_left(operation: Operation) -> timedelta:
    """How long until its next attempt is due, by the clock that has set the time; nothing if none is."""
    due_at = Operation.objects.values_list("next_attempt_at", flat=True).get(pk=operation.pk)
    return max(due_at - database_now(), timedelta()) if due_at else timedelta()


def is_cancel_requested(operation: Operation) -> bool:
    """Whether it is to be cancelled, and that can still be granted: once something has left, it is seen through."""
    is_wanted = Operation.objects.filter(pk=operation.pk, cancel_requested_at__isnull=False).exists()
    return is_wanted and not operation.effects.exclude(status=EffectStatus.RELEASED).exists()


def holds(operation: Operation, attempt: Attempt) -> bool:
    """Whether the attempt holds its operation now; what it does a moment later is for the fence of each write."""
    return bool(_held(operation, attempt).filter(lease_until__gt=database_now()).exists())


LEASE_OVER = "lease_over"


# ----------------------------------------------------------------------------------------------------------------------


def _locked(operation_id: str) -> Operation | None:
    """The row, locked as by `lock_operation`."""
    rows = Operation.objects.filter(operation_id=operation_id)
    return rows.get() if rows.update(version=F("version") + 1) else None


def _is_own(operation: Operation, delivered: Delivered) -> bool:
    return is_same_call(
        operation,
        job_types=(delivered.job_type, *delivered.formerly),
        args=delivered.args,
        args_fingerprint=delivered.args_fingerprint,
        defaults=delivered.defaults,
    )


def _adopted(delivered: Delivered, now: datetime) -> Operation | None:
    """A job that was enqueued by `.delay()` has no row before its first claim (protocol, 3)."""
    return None if delivered.is_submitted else adopt(delivered, now)


def _note_delivery(operation: Operation, delivered: Delivered, now: datetime) -> None:
    """The job that brought it, if that is not on record yet."""
    if operation.deliveries.filter(job_id=delivered.job_id).exists():
        return
    was_pushed = operation.job_id == delivered.job_id and operation.origin == Operation.Origin.SUBMITTED
    cause = "submit" if was_pushed else "delay"
    events.note_delivery(operation, delivered.job_id, cause, now, queue=delivered.queue)


def _lose_if_over(operation: Operation, now: datetime) -> None:
    """The lease of the last attempt has run out: it is dead, and its operation free (protocol, C12)."""
    if operation.status == Status.RUNNING and operation.lease_until is not None and operation.lease_until <= now:
        _lose(operation, now, LEASE_OVER)


def _lose(operation: Operation, now: datetime, proof: str) -> None:
    attempt = operation.attempts.get(pk=str(operation.current_attempt))
    Attempt.objects.filter(pk=attempt.pk, outcome="").update(
        ended_at=now, outcome=AttemptOutcome.LOST, error_kind=ErrorKind.LOST, death_proof=proof
    )
    endings.count_missed_probes(operation, attempt)
    operation.fence += 1
    operation.lost_attempts += 1
    operation.last_error = ErrorKind.LOST
    operation.current_attempt = operation.lease_until = None
    operation.save(update_fields=["fence", "lost_attempts", "last_error", "current_attempt", "lease_until"])
    events.note(operation, events.Kind.TAKEN_OVER, now=now, code=proof, attempt=attempt)


def _begin(operation: Operation, delivered: Delivered, decision: Decision, now: datetime) -> Attempt:
    operation.fence += 1
    operation.attempts_used += 1
    attempt = _attempt(operation, delivered, decision, now, number=operation.attempts_used)
    attempt.lease_until = now + delivered.may_run
    attempt.save(force_insert=True)
    operation.status = Status.RUNNING
    operation.current_attempt = attempt.pk
    operation.lease_until = operation.due_at = attempt.lease_until
    operation.next_attempt_at = None
    operation.job_id, operation.queue, operation.job_type = delivered.job_id, delivered.queue, delivered.job_type
    operation.reason_code, operation.reason_text = decision.code, ""
    operation.progress_done = operation.progress_total = None
    operation.updated_at = now
    operation.save(update_fields=_CLAIMED)
    return attempt


_CLAIMED = (
    *("fence", "attempts_used", "status", "current_attempt", "lease_until", "due_at", "next_attempt_at", "job_id"),
    *("queue", "job_type", "reason_code", "reason_text", "progress_done", "progress_total", "updated_at"),
)


def _attempt(operation: Operation, delivered: Delivered, decision: Decision, now: datetime, number: int) -> Attempt:
    return Attempt(
        operation=operation,
        number=number,
        fence=operation.fence,
        job_id=delivered.job_id,
        execution_id=delivered.execution_id,
        worker_name=delivered.worker_name,
        started_at=now,
        decision_code=decision.code,
        **delivered.process,
    )


def _turn_away(
    operation: Operation, delivered: Delivered, decision: Decision, snapshot: Snapshot, now: datetime
) -> None:
    """A delivery that must not run: on record as an attempt of number 0, and what follows for the operation."""
    is_duplicate = decision.action is Action.SKIP_DUPLICATE
    attempt = _attempt(operation, delivered, decision, now, number=0)
    attempt.ended_at = now
    attempt.outcome = AttemptOutcome.SKIPPED_DUPLICATE if is_duplicate else AttemptOutcome.REFUSED
    attempt.save(force_insert=True)
    if is_duplicate:
        cause: DedupCause = events.dedup_cause(operation, delivered.job_id, was_abandoned=delivered.was_abandoned)
        events.note(operation, events.Kind.DEDUP, now=now, code=cause, text=decision.sentence, attempt=attempt)
        return
    events.note(operation, events.Kind.REFUSED, now=now, code=decision.code, text=decision.sentence, attempt=attempt)
    is_free = operation.current_attempt is None and operation.status not in _AT_REST
    if is_free and decision.code not in _LEAVES_ALONE:
        move(operation, decision, snapshot, now, retry_at=now)


_AT_REST = (Status.COMPLETED, Status.FAILED, Status.CANCELLED, Status.UNKNOWN)
_LEAVES_ALONE = ("args_mismatch", "backoff", "in_progress")
"""Refusals that say something of the delivery, and nothing of the operation."""


def _held(operation: Operation, attempt: Attempt) -> Any:
    return Operation.objects.filter(pk=operation.pk, status=Status.RUNNING, current_attempt=attempt.pk)
