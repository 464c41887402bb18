"""Reviews, as the observer opens them, and what is said in them, by what the record of it needs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from jobs.broker.details import read_job
from jobs.domain.verdicts import Verdict
from jobs.judging import case_of, declared_type, question_of, standing_of
from jobs.ledger import reviews
from jobs.ledger.reviews import Question, Statement
from jobs.models import Review

GIVEN: dict[Verdict, dict[str, str]] = {
    Verdict.HAPPENED: {
        "where": "bank.example, payments",
        "observed_at": "2026-03-14T15:00",
        "external_id": "tx-1",
        "matches": "yes",
    },
    Verdict.DID_NOT_HAPPEN: {
        "where": "bank.example, payments",
        "searched_for": "order 9",
        "window": "14:00 to 16:00 UTC",
        "found_nothing": "yes",
    },
    Verdict.ABANDON: {"reason": "the bank is closed", "told": "Mia"},
    Verdict.SNOOZE: {"until": "", "owner": "Otto"},
}
"""What each verdict wants, as a person types it; the time until which one is put off is the test's."""


def review_of(
    job_id: str, queue: str = "orders", *, now: datetime | None = None, by: User | None = None, code: str = ""
) -> Review:
    """A review of a job's last run in the store `default`."""
    now = now or timezone.now()
    detail = read_job("default", queue, job_id, now=now)
    assert detail is not None
    case = case_of(detail, now, declared=declared_type(detail.job.call), standing=standing_of(detail))
    question = question_of(detail, case, code or ("may_have_acted" if by else "result_unknown"))
    return reviews.open_review(question, now=now, opened_by=by)[0]


def plain_review(number: int, now: datetime, *, queue: str = "orders", **changes: Any) -> Review:
    """A review of a job that is in no store; `changes` to any field."""
    question = Question(
        connection="default",
        queue=queue,
        job_id=f"job-{number}",
        job_type="shop.tasks.pay",
        job_created_at=now,
        run=f"run-{number}",
        code="result_unknown",
        finding="result_unknown",
        sentence="Nobody knows whether its last run acted.",
        evidence={"is_dead": True, "looked_at": now.isoformat()},
        last_sign_of_life=now,
    )
    review, _is_new = reviews.open_review(question, now=now)
    if changes:
        Review.objects.filter(pk=review.pk).update(**changes)
        review.refresh_from_db()
    return review


def take(review: Review, actor: User, *, now: datetime | None = None) -> None:
    """The person takes the review, and has it before him as it is then."""
    assert reviews.claim_review(review, actor=actor, now=now or timezone.now())
    review.refresh_from_db()


def say(review: Review, actor: User | None, verdict: Verdict, *, now: datetime | None = None, **changes: Any) -> None:
    """Put a verdict on record that leads to no act; by late evidence without an actor."""
    statement = Statement(actor=actor, verdict=verdict, version_seen=review.version, **changes)
    assert reviews.settle_review(review, statement, now=now or timezone.now())
    review.refresh_from_db()


def fields(review: Review, verdict: Verdict, *, seen: str = "", **changes: str) -> dict[str, str]:
    """What the form of a review sends for this verdict; `changes` by piece of evidence."""
    review.refresh_from_db()
    pieces = {f"{verdict.value}-{name}": text for name, text in {**GIVEN[verdict], **changes}.items()}
    return {"verdict": verdict.value, "version": str(review.version), "seen": seen, **pieces}
