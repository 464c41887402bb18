"""Reviews of effects: asked when the rules of the job-safety layer can't tell whether something happened."""

from __future__ import annotations

from datetime import datetime

from jobs.domain.decisions import Decision
from jobs.ledger.review_limits import age_limit
from jobs.models import Effect, Operation, Review

FINDING = "effect_unknown"
"""The finding of every such review: not what Redis shows counts, but what is on record of the effect."""


def open_effect_review(operation: Operation, effect: Effect | None, decision: Decision, now: datetime) -> Review:
    """The open review of the operation, or a new one about this effect as its attempt has left it."""
    found = operation.reviews.filter(closed_at=None).first()
    if found is not None:
        return found
    attempt = effect.begun_by if effect else None
    return Review.objects.create(
        operation=operation,
        run=f"{effect.pk if effect else ''}/{attempt.pk if attempt else ''}/{operation.reviews.count()}",
        effect=effect,
        attempt=attempt,
        code=decision.code,
        finding=FINDING,
        sentence=decision.sentence,
        evidence={},
        last_sign_of_life=effect.begun_at if effect else None,
        opened_at=now,
        due_at=now + age_limit(),
    )
