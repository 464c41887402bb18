"""An operation's rows as the rules see them (jobs.domain.operations.Snapshot)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Q, QuerySet

from jobs.domain.backoff import Backoff
from jobs.domain.idempotency import Idempotency
from jobs.domain.operations import AttemptOutcome, EffectState, EffectStatus, ErrorKind, LiveAttempt, Snapshot
from jobs.domain.operations import OperationStatus as Status
from jobs.models import Attempt, Effect, Operation, Review

CALL_TIMEOUT_SECONDS = 30
ABANDONED = "abandoned_possible_effect"
"""The reason code of an operation whose review was given up (protocol, 2.1)."""


def call_timeout() -> timedelta:
    """How long a call to the outside may take at most, unless its effect says otherwise."""
    return timedelta(seconds=getattr(settings, "OPSBOARD_CALL_TIMEOUT_SECONDS", CALL_TIMEOUT_SECONDS))


def snapshot_of(operation: Operation, now: datetime, *, has_same_arguments: bool = True) -> Snapshot:
    """What a decision about the operation is taken from; two queries, up to two more for its attempts.

    None before its first claim: an effect is begun by an attempt only, and asked about after one only.
    `has_same_arguments`: whether the call that asks is the operation's own; True where nobody asks with a call.
    """
    if operation.is_layered and not operation.fence and operation.status in _WAITING:
        return _snapshot(operation, _Rows(), now, has_same_arguments=has_same_arguments)
    completed = operation.status == Status.COMPLETED
    rows = _Rows(
        effects=list(operation.effects.select_related("begun_by").order_by("id")),
        finisher=operation.attempts.filter(outcome=AttemptOutcome.COMPLETED).first() if completed else None,
        current=Attempt.objects.filter(pk=operation.current_attempt).first() if operation.current_attempt else None,
        failed=_with_error(operation.attempts.all()).last() if operation.last_error else None,
        has_open_review=operation.reviews.filter(closed_at=None).exists(),
    )
    return _snapshot(operation, rows, now, has_same_arguments=has_same_arguments)


_WAITING = (Status.ACCEPTED, Status.QUEUED)
"""Where an operation is before its first claim."""


def snapshots_of(operations: Collection[Operation], now: datetime) -> dict[int, Snapshot]:
    """The same of many, by the operation's primary key; three queries, however many they are, none for none."""
    if not operations:
        return {}
    found = {one.pk: _Rows() for one in operations}
    for effect in Effect.objects.filter(operation__in=found).select_related("begun_by").order_by("id"):
        found[effect.operation_id].effects.append(effect)
    for operation_pk in Review.objects.filter(operation__in=found, closed_at=None).values_list(
        "operation_id", flat=True
    ):
        found[operation_pk].has_open_review = True
    by_pk = {one.pk: one for one in operations}
    current = [one.current_attempt for one in operations if one.current_attempt]
    told = Q(pk__in=current) | Q(outcome=AttemptOutcome.COMPLETED) | ~Q(error_class="")
    for attempt in Attempt.objects.filter(told, operation__in=found).order_by("started_at"):
        _file(attempt, by_pk[attempt.operation_id], found[attempt.operation_id])
    return {one.pk: _snapshot(one, found[one.pk], now) for one in operations}


def effect_state(effect: Effect, now: datetime) -> EffectState:
    """One effect as the rules see it."""
    begun_by = effect.begun_by
    may_act = begun_by is not None and begun_by.ended_at is None and _lease_of(begun_by) > now
    settles = effect.settles_in_seconds
    return EffectState(
        name=effect.name,
        item=effect.item,
        idempotency=Idempotency(effect.idempotency),
        status=EffectStatus(effect.status),
        begun_at=effect.begun_at,
        key_valid_until=effect.key_valid_until,
        has_probe=effect.has_probe,
        settled_at=_call_over_at(begun_by) + timedelta(seconds=settles) if begun_by and settles is not None else None,
        may_still_act=may_act,
        dead_after=_lease_of(begun_by) if begun_by and may_act else None,
        probes_made=effect.probes_made,
    )


def only(snapshot: Snapshot, effects: Iterable[EffectState]) -> Snapshot:
    """The same operation, if it had no effects but these."""
    return replace(snapshot, effects=tuple(effects))


@dataclass(kw_only=True)
class _Rows:
    """The rows beside the operation's own. `failed`: the newest attempt with an error on record."""

    effects: list[Effect] = field(default_factory=list)
    finisher: Attempt | None = None
    current: Attempt | None = None
    failed: Attempt | None = None
    has_open_review: bool = False


def _file(attempt: Attempt, operation: Operation, rows: _Rows) -> None:
    """Put one attempt where it belongs; they come in the order of their beginning."""
    if attempt.pk == operation.current_attempt:
        rows.current = attempt
    if attempt.outcome == AttemptOutcome.COMPLETED and operation.status == Status.COMPLETED:
        rows.finisher = rows.finisher or attempt
    if attempt.error_class and operation.last_error:
        rows.failed = attempt


def _snapshot(operation: Operation, rows: _Rows, now: datetime, *, has_same_arguments: bool = True) -> Snapshot:
    return Snapshot(
        status=Status(operation.status),
        has_same_arguments=has_same_arguments,
        reason=operation.reason_text,
        closed_at=operation.updated_at,
        is_abandoned=operation.reason_code == ABANDONED,
        # Where nobody was asked, which should never be, nothing runs either.
        has_open_review=rows.has_open_review or operation.status == Status.UNKNOWN,
        attempt=_live_attempt(operation, rows.current),
        effects=tuple(effect_state(effect, now) for effect in rows.effects),
        declared_effects=tuple(operation.declared_effects),
        is_layered=operation.is_layered,
        is_cancel_requested=operation.cancel_requested_at is not None,
        last_error=ErrorKind(operation.last_error) if operation.last_error else None,
        last_message=_message_of(rows.failed),
        attempts_used=operation.attempts_used,
        max_attempts=operation.max_attempts,
        lost_attempts=operation.lost_attempts,
        max_lost=Backoff.from_json(operation.policy).max_lost,
        next_attempt_at=operation.next_attempt_at if operation.status == Status.RETRY_WAIT else None,
        external_id=next((effect.external_id for effect in rows.effects if effect.external_id), ""),
        completed_by_attempt=rows.finisher.number if rows.finisher else None,
        call_timeout=call_timeout(),
    )


def _live_attempt(operation: Operation, attempt: Attempt | None) -> LiveAttempt | None:
    if attempt is None or operation.lease_until is None:
        return None
    return LiveAttempt(
        number=attempt.number,
        worker_name=attempt.worker_name,
        started_at=attempt.started_at,
        lease_until=operation.lease_until,
        is_proved_dead=attempt.ended_at is not None,
    )


def _call_over_at(attempt: Attempt) -> datetime:
    """When its calls were over at the latest: one that hangs may act long after it was begun."""
    return attempt.ended_at or _lease_of(attempt)


def _lease_of(attempt: Attempt) -> datetime:
    assert attempt.lease_until is not None, "an attempt that began an effect was claimed with a lease"
    return attempt.lease_until


def _with_error(attempts: QuerySet[Attempt]) -> QuerySet[Attempt]:
    return attempts.exclude(error_class="").order_by("started_at")


def _message_of(attempt: Attempt | None) -> str:
    return ": ".join(part for part in (attempt.error_class, attempt.error_line) if part) if attempt else ""
