"""The review of an effect: what is on record of it and of the attempt that began it, and what may be said."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User

from jobs.domain.arguments import Argument
from jobs.domain.calls import Call
from jobs.domain.decisions import Action
from jobs.domain.effect_verdicts import (
    MAY_CALL_AGAIN,
    VERDICTS,
    InReview,
    decide_effect_verdict,
    liveness_of_effect,
)
from jobs.domain.idempotency import Idempotency
from jobs.domain.verdicts import Verdict
from jobs.judging import effect_in_review
from jobs.models import Attempt, Effect, JobType, Operation, OperationEvent, Queue, Review
from jobs.permissions import Permission, permissions_on
from jobs.selectors.review_head import Choice, ReviewHead, head_of
from jobs.selectors.texts import arguments_of

SHORT_KEY = 20
"""Characters of a key from which on a list shortens it: 12 of them tell keys apart, the whole is in its title."""


@dataclass(frozen=True, kw_only=True)
class EffectReviewPage(ReviewHead):
    """The whole page. `effect` and `attempt`: what is asked about; None where the operation as a whole is."""

    effect: Effect | None
    attempt: Attempt | None
    acts_until: datetime | None
    """Until when the attempt may act; None once it is dead."""
    settles_at: datetime | None
    """From when on the other side's answer can be believed; None where it can be now."""
    settles_in_seconds: float | None
    is_key_known: bool
    """The other side still knows the key."""
    seen: str = ""
    """No verdict about an effect depends on what Redis shows."""


def effect_review_page(user: User, review: Review, queue: Queue, *, now: datetime) -> EffectReviewPage:
    """The page of a review of a layered operation that this person may see. Asks no job store."""
    rights, asked = permissions_on(user, queue), effect_in_review(review)
    declared = JobType.objects.filter(path=review.operation.job_type).first()
    effect = review.effect
    return EffectReviewPage(
        **head_of(user, review, rights, now=now),
        effect=effect,
        attempt=review.attempt,
        acts_until=asked.acts_until,
        settles_at=asked.settles_at,
        settles_in_seconds=effect.settles_in_seconds if effect else None,
        is_key_known=bool(effect and effect.key_valid_until and effect.key_valid_until > asked.now),
        liveness=liveness_of_effect(asked),
        arguments=arguments_on_record(review.operation, declared),
        job_type=declared,
        idempotency=Idempotency(effect.idempotency) if effect else Idempotency.UNDECLARED,
        choices=tuple(_choice(verdict, asked, rights) for verdict in VERDICTS),
        is_contradicted=_is_contradicted(review),
        has_act_under_way=False,
    )


def arguments_on_record(operation: Operation, declared: JobType | None) -> tuple[Argument, ...]:
    """The operation's arguments, as far as they are ids by today's declaration; of the rest kind and size."""
    call = Call(operation.job_type, (), operation.args if isinstance(operation.args, dict) else {}, complete=True)
    return arguments_of(call, declared)


def shorten_key(key: str) -> str:
    """An idempotency key, short enough to be told from others at a glance."""
    return f"{key[:8]}…{key[-4:]}" if len(key) > SHORT_KEY else key


# ----------------------------------------------------------------------------------------------------------------------


def _choice(verdict: Verdict, asked: InReview, rights: Collection[Permission]) -> Choice:
    decision = decide_effect_verdict(verdict, asked)
    if verdict in MAY_CALL_AGAIN and Permission.RETRY_JOB not in rights:
        return Choice(verdict, decision.sentence, _NO_RETRY)
    return Choice(verdict, decision.sentence, "" if decision.action is Action.RECORD else decision.sentence)


def _is_contradicted(review: Review) -> bool:
    """Both are on record of the effect: that it did not happen, and that it did."""
    incidents = OperationEvent.objects.filter(operation=review.operation, kind=OperationEvent.Kind.CONTRADICTION)
    return (incidents.filter(effect=review.effect) if review.effect else incidents).exists()


_NO_RETRY = "Whoever says this may have the call made again, and you may not retry jobs of this queue."
