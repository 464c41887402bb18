"""A call succeeded, and the news comes after its attempt was taken over: it is kept, whatever was said meanwhile.

It closes an open review as *happened*. Where somebody has said, or a check has shown, that it did not happen, both stay
on record, as an incident (protocol, 2.1).
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from jobs.domain.idempotency import Idempotency
from jobs.domain.operations import EffectStatus
from jobs.domain.verdicts import Verdict
from jobs.ledger import events, reviews
from jobs.ledger.database import lock_operation
from jobs.models import Attempt, Effect


def take_late_evidence(effect: Effect, attempt: Attempt, *, external_id: str, result: Any, now: datetime) -> None:
    """Record that the call of this attempt did succeed, in the caller's transaction."""
    lock_operation(effect.operation_id)
    current = Effect.objects.select_related("operation").get(pk=effect.pk)
    kind, text = _said_of(current, attempt, external_id)
    Effect.objects.filter(pk=current.pk).update(**_changes(current, external_id, result, now))
    events.note(current.operation, kind, now=now, code=external_id[:64], text=text, attempt=attempt, effect=current)
    _settle_review(current, attempt, external_id, now)


def _said_of(current: Effect, attempt: Attempt, external_id: str) -> tuple[str, str]:
    """Whether the news contradicts what is on record, and the sentence that says so."""
    if current.status == EffectStatus.RELEASED or _was_released(current, attempt):
        return events.Kind.CONTRADICTION, _DENIED
    if _is_another(current, external_id):
        return events.Kind.CONTRADICTION, _TWO_IDS
    return events.Kind.LATE_EVIDENCE, _REPEATED if _is_repeat(current, attempt) else _LATE


def _is_repeat(current: Effect, attempt: Attempt) -> bool:
    """It was begun again by this attempt, and meanwhile the call before this one was known to have succeeded."""
    is_newest = current.begun_by_id == attempt.pk and current.begun_at != current.first_begun_at
    return is_newest and current.status == EffectStatus.COMPLETED


def _changes(current: Effect, external_id: str, result: Any, now: datetime) -> dict[str, Any]:
    """A call that succeeded settles every doubt; of one known to have happened it adds what nobody knew."""
    if current.status in _SETTLED_BY_FACT:
        return {
            "status": EffectStatus.COMPLETED,
            "completed_at": now,
            "external_id": external_id,
            "result": result,
            "source": Effect.Source.LATE_EVIDENCE,
        }
    is_known = current.result is not None
    return {"external_id": current.external_id or external_id, "result": current.result if is_known else result}


def _is_another(current: Effect, external_id: str) -> bool:
    """It is known on the other side under two ids, so it is there twice; of what is repeatable nobody minds."""
    if current.status != EffectStatus.COMPLETED or current.idempotency == Idempotency.REPEATABLE:
        return False
    return bool(external_id and current.external_id and external_id != current.external_id)


def _was_released(effect: Effect, attempt: Attempt) -> bool:
    """It was said not to have happened, and a later attempt has begun it again: now there may be two."""
    if effect.begun_by_id == attempt.pk:
        return False
    denied = (events.Kind.RELEASED, events.Kind.PROBED)
    since = effect.events.filter(kind__in=denied, at__gte=attempt.started_at)
    return since.exclude(code__in=("probe_found", "probe_inconclusive")).exists()


def _settle_review(effect: Effect, attempt: Attempt, external_id: str, now: datetime) -> None:
    """To the review that asks what this attempt did, the answer has come; also beside what was said in a closed one."""
    review = effect.reviews.filter(attempt=attempt).order_by("-opened_at").first()
    if review is None:
        return
    statement = reviews.Statement(
        actor=None,
        verdict=Verdict.HAPPENED,
        version_seen=review.version,
        evidence={"external_id": external_id, "attempt": str(attempt.pk)},
        reason="The attempt itself reported that its call had succeeded.",
    )
    reviews.settle_review(review, statement, now=now)


_SETTLED_BY_FACT = (EffectStatus.BEGUN, EffectStatus.UNKNOWN, EffectStatus.RELEASED, EffectStatus.ABANDONED)
_LATE = "The call of an attempt that had been taken over did succeed."
_REPEATED = "Its repeat succeeded, after it was known to have happened."
_DENIED = "It was taken for not having happened, and it did: look whether it happened twice."
_TWO_IDS = "It was on record already, under another id: look whether it happened twice."
