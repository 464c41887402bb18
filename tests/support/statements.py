"""What the ledger of reviews is handed: a question about a run, and what somebody says in the review of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib.auth.models import User

from jobs.domain.verdicts import Verdict
from jobs.ledger import reviews
from jobs.ledger.reviews import Question, Statement
from jobs.models import Review
from tests.support.reviews import GIVEN

CREATED_AT = datetime(2026, 3, 14, 15, 0, tzinfo=UTC)


def question(job_id: str = "job-7", **changes: Any) -> Question:
    """What the observer asks of a run that nobody saw ending."""
    usual: dict[str, Any] = {
        "connection": "default",
        "queue": "orders",
        "job_id": job_id,
        "job_type": "fx.boom",
        "job_created_at": CREATED_AT,
        "run": "run-1",
        "code": "result_unknown",
        "finding": "result_unknown",
        "sentence": "Nobody knows whether it took effect.",
        "evidence": {"is_dead": True, "dead_after": None, "started_at": CREATED_AT.isoformat()},
        "last_sign_of_life": CREATED_AT + timedelta(minutes=1),
    }
    return Question(**(usual | changes))


def opened(now: datetime, *, holder: User | None = None, **changes: Any) -> Review:
    """The review that such a question opens, as it is now; taken by `holder`."""
    review, _is_new = reviews.open_review(question(**changes), now=now)
    if holder is not None:
        assert reviews.claim_review(review, actor=holder, now=now)
    review.refresh_from_db()
    return review


def statement(actor: User | None, verdict: Verdict, review: Review, **changes: Any) -> Statement:
    """What somebody says who has the review before him as it is in `review`; late evidence for None."""
    usual: dict[str, Any] = {
        "version_seen": review.version,
        "evidence": GIVEN[verdict] if actor else {"result_id": "9-1"},
        "reason": GIVEN[verdict].get("reason", "") if actor else "",
    }
    return Statement(actor=actor, verdict=verdict, **(usual | changes))
