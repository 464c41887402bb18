"""Where an operation goes after a decision: one place for claim, failure, takeover and review (protocol, 1.2)."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import F

from jobs.domain.decisions import Action, Decision
from jobs.domain.operation_rules import decide
from jobs.domain.operations import AskedBy, EffectStatus, Snapshot
from jobs.domain.operations import OperationStatus as Status
from jobs.ledger import events
from jobs.ledger.effect_reviews import open_effect_review
from jobs.ledger.failures import STUCK, follow_operation
from jobs.ledger.snapshots import effect_state, only
from jobs.models import Effect, Operation

QUEUE_GRACE_SECONDS = 60
REST: dict[str, Any] = {"current_attempt": None, "lease_until": None}
"""Nobody holds it."""


def completed(now: datetime) -> dict[str, Any]:
    """The columns of an operation that is done, but for what is said of it."""
    return {
        "status": Status.COMPLETED,
        "reason_code": "completed",
        "due_at": None,
        "next_attempt_at": None,
        "last_error": "",
        "updated_at": now,
    }


def queue_grace() -> timedelta:
    """How long a delivery may be under way before the observer looks where it is."""
    return timedelta(seconds=getattr(settings, "OPSBOARD_QUEUE_GRACE_SECONDS", QUEUE_GRACE_SECONDS))


def move(
    operation: Operation,
    decision: Decision,
    snapshot: Snapshot,
    now: datetime,
    *,
    retry_at: datetime,
    is_on_its_way: bool = False,
    effect_pk: int | None = None,
) -> None:
    """Carry out what was decided of an operation that nobody holds, in the transaction it was decided in.

    `retry_at`: when the next attempt is due, if there is to be one; `is_on_its_way`: then RQ will bring it.
    `effect_pk`: of the effect that a review is to be about; None where the rows tell.
    The row is locked by the caller's own update.
    """
    if decision.action in (Action.RETRY, Action.PROBE):
        wait_until(operation, retry_at, decision, now, is_on_its_way=is_on_its_way)
    elif decision.action is Action.WAIT:
        at = max(decision.not_before or retry_at, retry_at)
        wait_until(operation, at, decision, now, is_on_its_way=is_on_its_way)
    elif decision.action is Action.REVIEW:
        ask_somebody(operation, decision, snapshot, now, effect_pk=effect_pk)
    elif decision.action is Action.FAIL:
        rest(operation, Status.FAILED, decision.code, decision.sentence, now)
    else:
        rest(operation, _AFTER_REFUSAL.get(decision.code, Status.FAILED), decision.code, decision.sentence, now)


def wait_until(
    operation: Operation, at: datetime, decision: Decision, now: datetime, *, is_on_its_way: bool, **changes: Any
) -> None:
    """The next attempt is due at that time. `is_on_its_way`: RQ has it in its schedule, so the observer looks later."""
    _set(
        operation,
        now,
        status=Status.RETRY_WAIT,
        reason_code=decision.code,
        reason_text=decision.sentence,
        next_attempt_at=at,
        due_at=at + queue_grace() if is_on_its_way else at,
        **REST,
        **changes,
    )


def ask_somebody(
    operation: Operation, decision: Decision, snapshot: Snapshot, now: datetime, *, effect_pk: int | None = None
) -> None:
    """Nobody can tell whether it happened: the effect in question is put into review, and nothing runs until then."""
    named = operation.effects.select_related("begun_by").filter(pk=effect_pk).first() if effect_pk else None
    effect = named or effect_in_question(operation, decision, snapshot, now)
    if effect is not None:
        Effect.objects.filter(pk=effect.pk, status=EffectStatus.BEGUN).update(status=EffectStatus.UNKNOWN)
    open_effect_review(operation, effect, decision, now)
    rest(operation, Status.UNKNOWN, decision.code, decision.sentence, now)


def rest(operation: Operation, status: Status, code: str, text: str, now: datetime) -> None:
    """It is over, or up to a person: no attempt, nothing due."""
    _set(operation, now, status=status, reason_code=code, reason_text=text, due_at=None, next_attempt_at=None, **REST)


def effect_in_question(operation: Operation, decision: Decision, snapshot: Snapshot, now: datetime) -> Effect | None:
    """The effect for which the rules want a review: the first that would want it if it were the only one."""
    open_ones = operation.effects.select_related("begun_by").filter(
        status__in=(EffectStatus.BEGUN, EffectStatus.UNKNOWN)
    )
    for effect in open_ones.order_by("id"):
        alone = decide(only(snapshot, [effect_state(effect, now)]), now, AskedBy.SWEEPER)
        if alone.code == decision.code:
            return effect
    return open_ones.order_by("id").first()


def _set(operation: Operation, now: datetime, **changes: Any) -> None:
    was_stuck = operation.status in STUCK
    Operation.objects.filter(pk=operation.pk).update(version=F("version") + 1, updated_at=now, **changes)
    operation.refresh_from_db()
    if was_stuck or operation.status in STUCK:
        follow_operation(operation)


def note_decision(operation: Operation, decision: Decision, now: datetime, **about: Any) -> None:
    """Why an operation was moved, in its timeline."""
    events.note(operation, events.Kind.DECIDED, now=now, code=decision.code, text=decision.sentence, **about)


_AFTER_REFUSAL = {
    "cancelled": Status.CANCELLED,
    "review_open": Status.UNKNOWN,
    "closed": Status.FAILED,
}
"""Where a refusal leaves an operation that nobody holds; one that no release here can run has failed."""
