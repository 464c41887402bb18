"""Looks after open reviews: keeps what is known in them up to date, and closes those that evidence has answered."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet, TextField
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast

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
from jobs.judging import case_of, is_in_question, kept_text, question_of
from jobs.ledger import reviews
from jobs.ledger.reviews import Question, Statement
from jobs.models import Resolution, Review

AT_ONCE = 500
"""Reviews of one connection that one call looks at."""
BATCH = 50
QUIET = timedelta(seconds=60)
"""How often a review is looked at whose old run is proved dead, so that nothing new is to be expected of it."""
DOUBTED_FOR = timedelta(days=1)
"""How long after a person's verdict a late success is looked for."""
RAN_AGAIN = "It was queued or begun again since: what Redis shows by now is of that later run."

log = logging.getLogger("opsboard.observer")


def follow(now: datetime) -> int:
    """Look at every open review again, the one that was not looked at for longest first; returns how many were closed.

    A store that gives no answer is left to the next call.
    """
    return sum(_each(connection, now, _open_reviews, _follow) for connection in connections.names())


def follow_closed(now: datetime) -> int:
    """Look for successes of runs of which a person said lately that they had none; returns how many were found.

    They contradict what was said, or answer what was given up. Nothing is overwritten: it is put on record beside that.
    """
    return sum(_each(connection, now, _closed_reviews, _settle) for connection in connections.names())


def _each(
    connection: str,
    now: datetime,
    wanted: Callable[[str, datetime], QuerySet[Review]],
    do: Callable[[Review, JobDetail | None, datetime, datetime], bool],
) -> int:
    """How many of these reviews `do` closed or answered."""
    try:
        at = store_time(connection)
        found = list(wanted(connection, at))
        return sum(
            _batch(connection, found[start : start + BATCH], at, now, do) for start in range(0, len(found), BATCH)
        )
    except BrokerUnavailable as silence:
        log.info("reviews are not followed for now: %s", silence)
        return 0


def _batch(
    connection: str,
    found: Sequence[Review],
    at: datetime,
    now: datetime,
    do: Callable[[Review, JobDetail | None, datetime, datetime], bool],
) -> int:
    details = read_jobs(connection, [(one.operation.queue, one.operation.job_id) for one in found], now=at)
    with transaction.atomic():
        return sum(do(one, _of_this_job(one, detail), at, now) for one, detail in zip(found, details, strict=True))


def _of_this_job(review: Review, detail: JobDetail | None) -> JobDetail | None:
    """None when the job's data is gone, or its id is another job's by now."""
    if detail is None or not detail.job.exists or detail.job.created_at != review.operation.job_created_at:
        return None
    return detail


def _open_reviews(connection: str, at: datetime) -> QuerySet[Review]:
    looked_at = Cast(KeyTextTransform("looked_at", "evidence"), TextField())
    may_tell_more = Q(evidence__is_dead=False) | Q(looked_at=None) | Q(looked_at__lt=(at - QUIET).isoformat())
    due = reviews.open_reviews().filter(operation__connection=connection).annotate(looked_at=looked_at)
    return due.filter(may_tell_more).order_by(F("looked_at").asc(nulls_first=True), "id")[:AT_ONCE]


def _closed_reviews(connection: str, at: datetime) -> QuerySet[Review]:
    late = Resolution.objects.filter(review=OuterRef("pk"), source=Resolution.Source.LATE_EVIDENCE)
    said = Review.objects.filter(verdict__in=[Verdict.DID_NOT_HAPPEN, Verdict.ABANDON], closed_at__gte=at - DOUBTED_FOR)
    denied = said.filter(~Exists(late), operation__connection=connection).select_related("operation")
    return denied.order_by("-closed_at")[:AT_ONCE]


# One review -----------------------------------------------------------------------------------------------------------


def _follow(review: Review, detail: JobDetail | None, at: datetime, now: datetime) -> bool:
    if _settle(review, detail, at, now):
        return True
    reviews.refresh_review(review, _what_is_known(review, detail, at))
    return False


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
    operation = review.operation
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
        evidence={**review.evidence, "looked_at": at.isoformat()},
        last_sign_of_life=review.last_sign_of_life,
    )


def _case(detail: JobDetail, at: datetime) -> Case:
    """Neither declarations nor earlier verdicts bear on what is known of a run."""
    return case_of(detail, at, declared=None, standing=Standing())
