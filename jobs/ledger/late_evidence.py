"""A call succeeded, and the news comes after its attempt was taken over: it is kept, whatever was said meanwhile.

It closes an open review as *happened*. Where somebody has said, or a check has shown, that it did not happen, both stay
on record, as an incident (protocol, 2.1).
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from jobs.domain.operations import EffectStatus
from jobs.domain.verdicts import Verdict
from jobs.ledger import events, reviews
from jobs.models import Attempt, Effect


def take_late_evidence(effect: Effect, attempt: Attempt, *, external_id: str, result: Any, now: datetime) -> None:
    """Record that the call of this attempt did succeed, in the caller's transaction."""
    current = Effect.objects.select_related("operation").get(pk=effect.pk)
    operation = current.operation
    was_denied = current.status == EffectStatus.RELEASED or _was_released(current, attempt)
    if current.status in _SETTLED_BY_FACT:
        Effect.objects.filter(pk=current.pk, status=current.status).update(
            status=EffectStatus.COMPLETED,
            completed_at=now,
            external_id=external_id,
            result=result,
            source=Effect.Source.LATE_EVIDENCE,
        )
    kind = events.Kind.CONTRADICTION if was_denied else events.Kind.LATE_EVIDENCE
    text = _CONTRADICTED if was_denied else _LATE
    events.note(operation, kind, now=now, code=external_id[:64], text=text, attempt=attempt, effect=current)
    _settle_review(current, attempt, external_id, now)


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


_SETTLED_BY_FACT = (EffectStatus.UNKNOWN, EffectStatus.RELEASED, EffectStatus.ABANDONED)
_LATE = "The call of an attempt that had been taken over did succeed."
_CONTRADICTED = "It was taken for not having happened, and it did: look whether it happened twice."
