"""Operations and their reviews: opened once per run, taken by one person at a time, closed by a recorded resolution.

Every change restates what it saw (the review's version, who holds it), so of two at the same moment one wins.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import F, Q, QuerySet

from jobs.domain.standing import Standing
from jobs.domain.verdicts import Verdict
from jobs.ledger.audit import open_entry_within, record_change
from jobs.ledger.failures import note_verdict
from jobs.models import AuditEntry, Operation, Resolution, Review

AGE_LIMIT_HOURS = 24
CLAIM = timedelta(minutes=30)
"""How long a person who took a review holds it, unless it is closed or given back before."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """What a review is to ask: of which job, which run of it, and why. `evidence` as judging.testimony_of makes it."""

    connection: str
    queue: str
    job_id: str
    job_type: str
    job_created_at: datetime | None
    run: str
    code: str
    finding: str
    sentence: str
    evidence: dict[str, Any]
    last_sign_of_life: datetime | None


@dataclass(frozen=True, kw_only=True)
class Statement:
    """What somebody says in a review, on what grounds, and which version of it he had before him.

    `actor` None: late evidence says it. `liveness`: what was known of the old run at that moment.
    """

    actor: User | None
    verdict: Verdict
    version_seen: int
    evidence: dict[str, Any] = field(default_factory=dict)
    reason: str = ""
    liveness: str = ""
    decision_code: str = ""
    snoozed_until: datetime | None = None


# Operations -----------------------------------------------------------------------------------------------------------


def plain_operation_id(connection: str, job_id: str) -> str:
    """The operation id of an RQ job that never heard of opsboard."""
    return f"rq:{connection}:{job_id}"


def operation_of_job(connection: str, queue: str, job_id: str) -> Operation | None:
    """The operation on record for this job, if there is one."""
    return Operation.objects.filter(connection=connection, queue=queue, job_id=job_id).first()


def standing_of(connection: str, queue: str, job_id: str, job_created_at: datetime | None) -> Standing:
    """What was said of the job in its reviews. Of another job that had this id before, nothing counts."""
    operation = operation_of_job(connection, queue, job_id)
    if operation is None or operation.job_created_at != job_created_at:
        return Standing()
    if open_review_of(operation):
        return Standing(has_open_review=True)
    return _closed_standing(operation)


def _closed_standing(operation: Operation) -> Standing:
    last = Resolution.objects.filter(review__operation=operation, review__closed_at__isnull=False)
    said = last.exclude(verdict=Verdict.SNOOZE).order_by("-created_at").first()
    if said is None or operation.status not in (Operation.Status.COMPLETED, Operation.Status.FAILED):
        return Standing()
    return Standing(
        has_happened=operation.status == Operation.Status.COMPLETED,
        is_abandoned=operation.status == Operation.Status.FAILED,
        said_by=said.actor_name,
        said_at=said.created_at,
        reason=said.reason,
    )


# Reviews --------------------------------------------------------------------------------------------------------------


def open_review(question: Question, *, now: datetime, opened_by: User | None = None) -> tuple[Review, bool]:
    """The review of this run, and whether it was opened now: a run is reviewed once, an operation once at a time.

    Two who open it at once get the same one.
    """
    with transaction.atomic():
        operation = _operation(question, now)
        if found := open_review_of(operation) or operation.reviews.filter(run=question.run).first():
            return found, False
        try:
            with transaction.atomic():
                review = _create(operation, question, now, opened_by)
        except IntegrityError:
            return operation.reviews.get(Q(closed_at=None) | Q(run=question.run)), False
        _set_status(operation, Operation.Status.UNKNOWN, question.code, question.sentence, now)
        return review, True


def open_review_of(operation: Operation) -> Review | None:
    """The review that is open for the operation."""
    return operation.reviews.filter(closed_at=None).first()


def open_reviews() -> QuerySet[Review]:
    """Every open review with its operation, the oldest first."""
    return Review.objects.filter(closed_at=None).select_related("operation").order_by("opened_at", "id")


def refresh_review(review: Review, question: Question) -> bool:
    """Put what is known now into an open review; a form from before stays good unless the finding is another one.

    Returns whether the review was still open.
    """
    changes: dict[str, Any] = {
        "finding": question.finding,
        "sentence": question.sentence,
        "evidence": question.evidence,
        "last_sign_of_life": question.last_sign_of_life or review.last_sign_of_life,
    }
    if question.finding != review.finding:
        changes["version"] = F("version") + 1
    return bool(Review.objects.filter(pk=review.pk, closed_at=None).update(**changes))


def claim_review(review: Review, *, actor: User, now: datetime) -> bool:
    """Take an open review, or hold on to it; False when somebody else holds it, or it is closed."""
    is_free = Q(claimed_until=None) | Q(claimed_until__lte=now) | Q(claimed_by=actor)
    with transaction.atomic():
        taken = Review.objects.filter(is_free, pk=review.pk, closed_at=None).update(
            claimed_by=actor,
            claimed_by_name=actor.get_username(),
            claimed_until=now + CLAIM,
            version=F("version") + 1,
        )
        if taken:
            record_change(actor=actor, verb="claim_review", now=now, **about(review))
    return bool(taken)


def release_review(review: Review, *, actor: User, now: datetime) -> bool:
    """Give a review back; False when this person does not hold it."""
    with transaction.atomic():
        given = Review.objects.filter(pk=review.pk, closed_at=None, claimed_by=actor).update(
            claimed_by=None, claimed_by_name="", claimed_until=None, version=F("version") + 1
        )
        if given:
            record_change(actor=actor, verb="release_review", now=now, **about(review))
    return bool(given)


# Resolutions ----------------------------------------------------------------------------------------------------------


def settle_review(review: Review, statement: Statement, *, now: datetime) -> Resolution | None:
    """Record a verdict that needs no act in Redis, and what follows from it, all or nothing.

    None when the review is not as the statement has seen it, or the person does not hold it: then nothing is recorded.
    """
    with transaction.atomic():
        if not _take_turn(review, statement, now):
            return None
        entry = None
        if statement.actor is not None:
            entry = record_change(
                actor=statement.actor,
                verb="resolve_review",
                now=now,
                decision_code=statement.verdict.value,
                reason=statement.reason,
                **about(review),
            )
        resolution = _record(review, statement, entry, now)
        _follow(review, resolution, now)
        return resolution


def intend_retry(review: Review, statement: Statement, *, now: datetime, **details: Any) -> AuditEntry | None:
    """Commit that the job is to run again since nothing happened; the act follows, and then ledger.close_entry.

    `details` are fields of AuditEntry. None as settle_review. Raises RuntimeError inside a transaction.
    """
    assert statement.actor is not None
    with transaction.atomic(durable=True):
        if not _take_turn(review, statement, now):
            return None
        entry = open_entry_within(actor=statement.actor, now=now, reason=statement.reason, **about(review), **details)
        _record(review, statement, entry, now)
        return entry


def conclude_retry(entry: AuditEntry, now: datetime) -> None:
    """Close the review whose verdict this act has carried out; call it in the transaction that closes the entry."""
    resolution = Resolution.objects.filter(audit_entry=entry).select_related("review__operation").first()
    if resolution is not None:
        _follow(resolution.review, resolution, now)


def resolutions_of(review: Review) -> QuerySet[Resolution]:
    """What was said in a review, in order; a verdict whose act was not carried out is among them."""
    return review.resolutions.select_related("audit_entry").order_by("created_at", "id")


def about(review: Review) -> dict[str, Any]:
    """The fields of an audit entry that say which job a review is about."""
    operation = review.operation
    return {
        "connection": operation.connection,
        "queue": operation.queue,
        "subject": operation.job_id,
        "job_type": operation.job_type,
    }


# ----------------------------------------------------------------------------------------------------------------------


def _operation(question: Question, now: datetime) -> Operation:
    operation, is_new = Operation.objects.get_or_create(
        connection=question.connection,
        queue=question.queue,
        job_id=question.job_id,
        defaults={
            "operation_id": _free_operation_id(question),
            "job_type": question.job_type,
            "job_created_at": question.job_created_at,
            "status": Operation.Status.UNKNOWN,
            "created_at": now,
            "updated_at": now,
        },
    )
    if not is_new and operation.job_created_at != question.job_created_at:
        operation.job_created_at, operation.job_type = question.job_created_at, question.job_type
        operation.save(update_fields=["job_created_at", "job_type"])
    return operation


def _free_operation_id(question: Question) -> str:
    """An id may be used again in another queue, whose readers are others: that is another operation."""
    usual = plain_operation_id(question.connection, question.job_id)
    is_taken = Operation.objects.filter(operation_id=usual).exclude(queue=question.queue).exists()
    return f"{usual}@{question.queue}"[:600] if is_taken else usual


def _create(operation: Operation, question: Question, now: datetime, opened_by: User | None) -> Review:
    hours = getattr(settings, "OPSBOARD_REVIEW_AGE_LIMIT_HOURS", AGE_LIMIT_HOURS)
    return Review.objects.create(
        operation=operation,
        run=question.run,
        code=question.code,
        finding=question.finding,
        sentence=question.sentence,
        evidence=question.evidence,
        last_sign_of_life=question.last_sign_of_life,
        opened_by=opened_by,
        opened_by_name=opened_by.get_username() if opened_by else "",
        opened_at=now,
        due_at=now + timedelta(hours=hours),
    )


def _take_turn(review: Review, statement: Statement, now: datetime) -> bool:
    """Advance the version, if it is the one that was seen and, of a person, he holds the review."""
    turn = Review.objects.filter(pk=review.pk, closed_at=None, version=statement.version_seen)
    if statement.actor is not None:
        turn = turn.filter(claimed_by=statement.actor, claimed_until__gt=now)
    return bool(turn.update(version=F("version") + 1))


def _record(review: Review, statement: Statement, entry: AuditEntry | None, now: datetime) -> Resolution:
    actor = statement.actor
    return Resolution.objects.create(
        review=review,
        actor=actor,
        actor_name=actor.get_username() if actor else "",
        source=Resolution.Source.HUMAN if actor else Resolution.Source.LATE_EVIDENCE,
        verdict=statement.verdict.value,
        version_seen=statement.version_seen,
        evidence=statement.evidence,
        reason=statement.reason,
        liveness=statement.liveness,
        decision_code=statement.decision_code,
        snoozed_until=statement.snoozed_until,
        audit_entry=entry,
        created_at=now,
    )


def _follow(review: Review, resolution: Resolution, now: datetime) -> None:
    """What a verdict means for the review, its operation and the index of failures."""
    free = {"claimed_by": None, "claimed_by_name": "", "claimed_until": None}
    still_open = Review.objects.filter(pk=review.pk, closed_at=None)
    if resolution.verdict == Verdict.SNOOZE:
        still_open.update(snoozed_until=resolution.snoozed_until, **free)
        return
    if not still_open.update(closed_at=now, verdict=resolution.verdict, **free):
        return
    operation = review.operation
    is_to_run = resolution.audit_entry is not None and resolution.audit_entry.verb in _RUNNING_VERBS
    _set_status(operation, *(_RUNS_AGAIN if is_to_run else _AFTERWARDS[Verdict(resolution.verdict)]), now)
    note_verdict(operation.connection, operation.queue, operation.job_id, resolution.verdict)


_RUNNING_VERBS = ("retry_job", "enqueue_job")
_RUNS_AGAIN = (Operation.Status.QUEUED, "said_not_happened", "It did not take effect, and runs again.")
_AFTERWARDS = {
    Verdict.HAPPENED: (Operation.Status.COMPLETED, "said_happened", "It took effect."),
    Verdict.DID_NOT_HAPPEN: (
        Operation.Status.CANCELLED,
        "said_not_happened",
        "It did not take effect, and nothing was left to run again.",
    ),
    Verdict.ABANDON: (Operation.Status.FAILED, "abandoned_possible_effect", "Given up; it may have taken effect."),
}
"""The operation's status once its review is closed without an act (protocol, 2.1)."""


def _set_status(operation: Operation, status: str, code: str, text: str, now: datetime) -> None:
    Operation.objects.filter(pk=operation.pk).update(status=status, reason_code=code, reason_text=text, updated_at=now)
