"""Looks after open reviews: keeps what is known in them up to date, and closes those that evidence has answered."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from django.db.models import Exists, OuterRef, QuerySet

from jobs.broker import connections
from jobs.broker.details import read_jobs
from jobs.broker.errors import BrokerUnavailable
from jobs.broker.proofs import Success, success_of
from jobs.broker.records import JobDetail
from jobs.broker.running import store_time
from jobs.domain.decisions import Case
from jobs.domain.findings import TELL_NOTHING
from jobs.domain.standing import Standing
from jobs.domain.verdicts import Verdict, liveness_sentence
from jobs.judging import case_of, is_in_question, is_known_dead, kept_text, question_of
from jobs.ledger import effect_reviews, reviews
from jobs.ledger.database import now as database_now
from jobs.ledger.database import same_transaction
from jobs.ledger.reviews import Question, Statement
from jobs.models import Operation, Resolution, Review
from jobs.observer.trouble import apart, told

AT_ONCE = 500
"""Reviews of one connection that one call looks at."""
BATCH = 50
QUIET = timedelta(seconds=60)
"""How often a review is looked at whose old run is proved dead, so that nothing new is to be expected of it."""
DOUBTED_FOR = timedelta(days=1)
"""How long after a person's verdict a late success is looked for."""
RAN_AGAIN = "It was queued or begun again since: what Redis shows by now is of that later run."

_Look: TypeAlias = Callable[[Review, JobDetail | None, datetime, datetime], bool]
"""What is done about a review, given the job, the store's time and ours; returns whether it was closed or answered."""

log = logging.getLogger("opsboard.observer")


def follow(now: datetime) -> int:
    """Look at every open review again, the one that was not looked at for longest first; returns how many were closed.

    A store that gives no answer is left to the next call. Reviews of effects are for follow_effects.
    """
    return sum(_each(connection, now, _open_reviews, _follow) for connection in connections.names())


def follow_effects(now: datetime) -> int:
    """Keep what is known in open reviews of effects up to date: whether the attempt that is asked about may still act.

    The ledger's own rows tell, by the database's clock; no store is asked. Returns how many were refreshed.
    """
    due = reviews.open_reviews().filter(look_due_at__lte=now).exclude(operation__origin=Operation.Origin.PLAIN)
    found = list(due.select_related("attempt").order_by("look_due_at", "id")[:AT_ONCE])
    if not found:
        return 0
    at = database_now()
    refreshed = [effect_reviews.refresh_liveness(one, at) for one in found]
    reviews.note_looks([one.pk for one in found], at=at, dead_until=at + QUIET)
    return sum(refreshed)


def follow_closed(now: datetime) -> int:
    """Look for successes of runs of which a person said lately that they had none; returns how many were found.

    They contradict what was said, or answer what was given up. Nothing is overwritten: it is put on record beside that.
    """
    return sum(_each(connection, now, _closed_reviews, _settle) for connection in connections.names())


def _each(connection: str, now: datetime, wanted: Callable[[str, datetime], QuerySet[Review]], look: _Look) -> int:
    """How many of these reviews `look` closed or answered."""
    try:
        at = store_time(connection)
        found = list(wanted(connection, at))
        return sum(
            _batch(connection, found[start : start + BATCH], at, now, look) for start in range(0, len(found), BATCH)
        )
    except BrokerUnavailable as silence:
        log.info("reviews are not followed for now: %s", silence)
        return 0


def _batch(connection: str, found: Sequence[Review], at: datetime, now: datetime, look: _Look) -> int:
    answered = apart(lambda some: _look_at(connection, some, at, now, look), found, _not_looked_at)
    # Those with which it failed, too: they must not come first for ever.
    reviews.note_looks([one.pk for one in found], at=at, dead_until=at + QUIET)
    return sum(answered)


def _look_at(connection: str, found: Sequence[Review], at: datetime, now: datetime, look: _Look) -> list[bool]:
    details = read_jobs(connection, [(one.operation.queue, one.operation.job_id) for one in found], now=at)
    return [_look_by_itself(one, detail, at, now, look) for one, detail in zip(found, details, strict=True)]


def _look_by_itself(review: Review, detail: JobDetail | None, at: datetime, now: datetime, look: _Look) -> bool:
    # One transaction each: whoever locks several of them, or of the failures that they close, never waits in a circle.
    with same_transaction():
        return look(review, _of_this_job(review, detail), at, now)


def _not_looked_at(review: Review, error: Exception) -> bool:
    log.error("an unexpected error keeps review %d from being followed: %s", review.pk, told(error))
    return False


def _of_this_job(review: Review, detail: JobDetail | None) -> JobDetail | None:
    """None when the job's data is gone, or its id is another job's by now."""
    if detail is None or not detail.job.exists or detail.job.created_at != review.operation.job_created_at:
        return None
    return detail


def _open_reviews(connection: str, at: datetime) -> QuerySet[Review]:
    due = reviews.open_reviews().filter(operation__connection=connection, look_due_at__lte=at)
    due = due.filter(operation__origin=Operation.Origin.PLAIN)
    return due.order_by("look_due_at", "id")[:AT_ONCE]


def _closed_reviews(connection: str, at: datetime) -> QuerySet[Review]:
    late = Resolution.objects.filter(review=OuterRef("pk"), source=Resolution.Source.LATE_EVIDENCE)
    said = Review.objects.filter(verdict__in=[Verdict.DID_NOT_HAPPEN, Verdict.ABANDON], closed_at__gte=at - DOUBTED_FOR)
    said = said.filter(operation__connection=connection, operation__origin=Operation.Origin.PLAIN)
    denied = said.filter(~Exists(late)).select_related("operation")
    return denied.order_by("look_due_at", "id")[:AT_ONCE]


# One review -----------------------------------------------------------------------------------------------------------


def _follow(review: Review, detail: JobDetail | None, at: datetime, now: datetime) -> bool:
    if _settle(review, detail, at, now):
        return True
    known = _what_is_known(review, detail, at)
    if _tells_more(review, known):
        reviews.refresh_review(review, known)
    return False


def _tells_more(review: Review, known: Question) -> bool:
    """Whether anything is known now that is not in the review: mostly there is not, and nothing need be written."""
    looked_at = {"looked_at": review.evidence.get("looked_at")}
    last_sign = known.last_sign_of_life or review.last_sign_of_life
    return (known.finding, known.sentence, last_sign, known.evidence | looked_at) != (
        review.finding,
        review.sentence,
        review.last_sign_of_life,
        review.evidence | looked_at,
    )


def _settle(review: Review, detail: JobDetail | None, at: datetime, now: datetime) -> bool:
    """Put on record that the run has succeeded, if that is proved: it closes the review, if it is still open."""
    success = success_of(detail, review.run) if detail else None
    if detail is None or success is None:
        return False
    statement = Statement(
        actor=None,
        verdict=Verdict.HAPPENED,
        version_seen=review.version,
        evidence=_as_evidence(success),
        liveness=liveness_sentence(_case(detail, at)),
        decision_code="already_completed",
    )
    resolution = reviews.settle_review(review, statement, now=now)
    if resolution and "contradicts" in resolution.evidence:
        log.warning("late evidence contradicts what was said in review %d: the run has succeeded", review.pk)
    return resolution is not None


def _as_evidence(success: Success) -> dict[str, Any]:
    return {
        "result_id": success.result_id,
        "ended_at": success.ended_at.isoformat() if success.ended_at else None,
        "worker": kept_text(success.worker_name or ""),
    }


def _what_is_known(review: Review, detail: JobDetail | None, at: datetime) -> Question:
    """What Redis shows of the run now; where it shows none of it, what was known before."""
    if detail is None:
        return _as_before(review, at)
    case = _case(detail, at)
    if not is_in_question(review, detail):
        return replace(
            _as_before(review, at), sentence=f"{review.sentence.removesuffix(RAN_AGAIN).strip()} {RAN_AGAIN}"
        )
    if case.judgement.finding in TELL_NOTHING:
        return _as_before(review, at)
    return question_of(detail, case, review.code)


def _as_before(review: Review, at: datetime) -> Question:
    operation, known = review.operation, review.evidence
    return Question(
        connection=operation.connection,
        queue=operation.queue,
        job_id=operation.job_id,
        job_type=operation.job_type,
        job_created_at=operation.job_created_at,
        run=review.run,
        code=review.code,
        finding=review.finding,
        sentence=review.sentence,
        evidence=known | ({"is_dead": True} if is_known_dead(known, at) else {}),
        last_sign_of_life=review.last_sign_of_life,
    )


def _case(detail: JobDetail, at: datetime) -> Case:
    """Neither declarations nor earlier verdicts bear on what is known of a run."""
    return case_of(detail, at, declared=None, standing=Standing())
