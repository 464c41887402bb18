"""Reviews of effects: asked when the rules of the job-safety layer can't tell whether something happened."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from jobs.domain.decisions import Decision
from jobs.ledger.review_limits import age_limit
from jobs.models import Attempt, Effect, Operation, Review

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
        evidence=liveness_of(attempt, now),
        last_sign_of_life=effect.begun_at if effect else None,
        opened_at=now,
        due_at=now + age_limit(),
    )


def liveness_of(attempt: Attempt | None, now: datetime) -> dict[str, Any]:
    """What is known of the attempt that is asked about: who ran it, and whether it may still act (protocol, Choices).

    Where no attempt is asked about, none is at work. Times in ISO 8601; `dead_after` None of one that is dead.
    """
    if attempt is None:
        return {"is_dead": True, "dead_after": None}
    lease_until = attempt.lease_until
    is_dead = attempt.ended_at is not None or lease_until is None or lease_until <= now
    return {
        "is_dead": is_dead,
        "dead_after": None if is_dead or lease_until is None else lease_until.isoformat(),
        "attempt": str(attempt.pk),
        "worker_name": attempt.worker_name,
        "started_at": attempt.started_at.isoformat(),
        "ended_at": attempt.ended_at.isoformat() if attempt.ended_at else None,
        "death_proof": attempt.death_proof,
    }


def refresh_liveness(review: Review, now: datetime) -> bool:
    """Put into an open review what is known of its attempt now; a form from before stays good.

    Returns whether there was anything new.
    """
    known = review.evidence | liveness_of(review.attempt, now)
    if known == review.evidence:
        return False
    return bool(Review.objects.filter(pk=review.pk, closed_at=None).update(evidence=known))
