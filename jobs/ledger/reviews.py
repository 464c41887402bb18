"""Reviews of operations: opened once per run, taken by one person at a time, closed by a recorded resolution.

Every decision restates what it saw (the review's version, who holds it), so of two at the same moment one wins. Late
evidence is a fact and no decision: it is put on record whatever was said before, and overwrites nothing
(protocol, 2.1).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError
from django.db.models import Case, DateTimeField, Exists, F, OuterRef, Q, QuerySet, Value, When

from jobs.domain.verdicts import LATER_RUN, Verdict
from jobs.ledger.audit import open_entry_within, record_change
from jobs.ledger.consequences import follow_resolution
from jobs.ledger.database import lock_operation, own_transaction, same_transaction
from jobs.ledger.failures import note_verdict
from jobs.ledger.operations import open_review_of, operation_for, said_of, set_status
from jobs.ledger.review_limits import age_limit
from jobs.models import AuditEntry, Operation, Resolution, Review

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


# Reviews --------------------------------------------------------------------------------------------------------------


def open_review(question: Question, *, now: datetime, opened_by: User | None = None) -> tuple[Review, bool]:
    """The review of this run, and whether it was opened now: a run is reviewed once, an operation once at a time.

    Two who open it at once get the same one.
    """
    with same_transaction():
        operation = operation_for(
            question.connection,
            question.queue,
            question.job_id,
            job_created_at=question.job_created_at,
            job_type=question.job_type,
            now=now,
        )
        if found := _review_of_run(operation, question.run):
            return found, False
        try:
            with same_transaction():
                review = _create(operation, question, now, opened_by)
        except IntegrityError:
            # Somebody else has opened it since we looked.
            if found := _review_of_run(operation, question.run):
                return found, False
            raise
        set_status(operation, Operation.Status.UNKNOWN, question.code, question.sentence, now)
        return review, True


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


def note_looks(reviews: Collection[int], *, at: datetime, dead_until: datetime) -> None:
    """The store was asked about these (by pk). Those whose old run is dead are not due again before `dead_until`."""
    with same_transaction():
        # In one order for all, so that two writers never wait for each other.
        locked = Review.objects.filter(pk__in=reviews).order_by("pk").select_for_update()
        rows = Review.objects.filter(pk__in=list(locked.values_list("pk", flat=True)))
        is_dead = When(evidence__is_dead=True, then=Value(dead_until))
        rows.update(look_due_at=Case(is_dead, default=Value(at), output_field=DateTimeField()))
        rows.filter(closed_at=None).update(looked_at=at)


def claim_review(review: Review, *, actor: User, now: datetime) -> bool:
    """Take an open review, or hold on to it; False when somebody else holds it, or it is closed."""
    is_free = Q(claimed_until=None) | Q(claimed_until__lte=now) | Q(claimed_by=actor)
    with same_transaction():
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
    with same_transaction():
        given = Review.objects.filter(pk=review.pk, closed_at=None, claimed_by=actor).update(
            version=F("version") + 1, **_HELD_BY_NOBODY
        )
        if given:
            record_change(actor=actor, verb="release_review", now=now, **about(review))
    return bool(given)


# Resolutions ----------------------------------------------------------------------------------------------------------


def settle_review(review: Review, statement: Statement, *, now: datetime) -> Resolution | None:
    """Record a verdict that needs no act in Redis, and what follows from it, all or nothing.

    None, and nothing is recorded, when the review is not as the person has seen it, he does not hold it, or the act of
    an earlier verdict is not known yet. Late evidence is recorded whatever the version, and beside the verdict of a
    closed review too; None when that is the same, or it was recorded before.
    """
    if statement.actor is None:
        return _settle_by_evidence(review, statement, now)
    with same_transaction():
        _lock_layered(review)
        if not _take_turn(review, statement, now):
            return None
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

    `details` are fields of AuditEntry. None as settle_review of a person. Raises RuntimeError inside a transaction.
    """
    assert statement.actor is not None
    with own_transaction():
        if not _take_turn(review, statement, now):
            return None
        entry = open_entry_within(actor=statement.actor, now=now, reason=statement.reason, **about(review), **details)
        _record(review, statement, entry, now)
        return entry


def conclude_retry(entry: AuditEntry, now: datetime) -> None:
    """Close the review whose verdict this act has carried out; call it in the transaction that closes the entry.

    If late evidence has closed it since the act was asked for, both stay on record, as a contradiction.
    """
    resolution = Resolution.objects.filter(audit_entry=entry).select_related("review__operation").first()
    if resolution is not None:
        _follow(resolution.review, resolution, now)


def is_contradicted(review: Review) -> bool:
    """Whether both are on record: that it did not happen, so that it was run again, and that it did: an incident.

    A denial after which nothing ran is answered by the evidence, and no more.
    """
    said = review.resolutions
    ran = {"audit_entry__verb__in": _RUNNING_VERBS, "audit_entry__status": AuditEntry.Status.DONE}
    denied = said.filter(verdict=Verdict.DID_NOT_HAPPEN, **ran)
    return said.filter(verdict=Verdict.HAPPENED).exists() and denied.exists()


def has_act_under_way(review: Review) -> bool:
    """Whether a verdict has led to an act of which it is not known yet whether it was carried out."""
    return review.resolutions.filter(_UNDER_WAY).exists()


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


def _review_of_run(operation: Operation, run: str) -> Review | None:
    """The review that a question about this run would be: the one that is open, or that of the run."""
    return open_review_of(operation) or operation.reviews.filter(run=run).first()


def _create(operation: Operation, question: Question, now: datetime, opened_by: User | None) -> Review:
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
        due_at=now + age_limit(),
    )


def _lock_layered(review: Review) -> None:
    """Late evidence, claims and rescues lock the operation first; so does what is said of its effects."""
    if review.operation.is_layered:
        lock_operation(review.operation_id)


def _take_turn(review: Review, statement: Statement, now: datetime) -> bool:
    """Advance the version, if it is the one that was seen, the person holds the review, and no act is under way."""
    turn = Review.objects.filter(pk=review.pk, closed_at=None, version=statement.version_seen)
    turn = turn.filter(claimed_by=statement.actor, claimed_until__gt=now)
    turn = turn.filter(~Exists(Resolution.objects.filter(_UNDER_WAY, review=OuterRef("pk"))))
    return bool(turn.update(version=F("version") + 1))


def _settle_by_evidence(review: Review, statement: Statement, now: datetime) -> Resolution | None:
    with same_transaction():
        _lock_layered(review)
        # Locked, so that of this and a verdict at the same moment the later one sees the other.
        locked = Review.objects.select_for_update(of=("self",)).select_related("operation").get(pk=review.pk)
        is_known = locked.resolutions.filter(source=Resolution.Source.LATE_EVIDENCE).exists()
        if is_known or locked.verdict == statement.verdict:
            return None
        Review.objects.filter(pk=review.pk).update(version=F("version") + 1)
        against = {"contradicts": locked.verdict} if locked.verdict else {}
        resolution = _record(locked, replace(statement, evidence=statement.evidence | against), None, now)
        _follow(locked, resolution, now)
        return resolution


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
    still_open = Review.objects.filter(pk=review.pk, closed_at=None)
    if resolution.verdict == Verdict.SNOOZE:
        still_open.update(snoozed_until=resolution.snoozed_until, **_HELD_BY_NOBODY)
        return
    is_closed_by_this = still_open.update(closed_at=now, verdict=resolution.verdict, **_HELD_BY_NOBODY)
    if review.operation.is_layered:
        if is_closed_by_this:
            follow_resolution(review, resolution, now)
        return
    set_status(review.operation, *_afterwards(review, resolution), now)
    if is_closed_by_this:
        act = _act_of(resolution)
        note_verdict(review, resolution.verdict, seen=act.seen if act else "")


def _afterwards(review: Review, resolution: Resolution) -> tuple[str, str, str]:
    """The operation's status, code and sentence after this was said (protocol, 2.1)."""
    if is_contradicted(review):
        return _CONTRADICTED
    if _act_of(resolution):
        return _RUNS_AGAIN
    said = said_of(review.operation)
    if said.has_happened:
        return _COMPLETED
    if said.is_abandoned:
        return _GIVEN_UP
    return _HAS_A_LATER_RUN if resolution.decision_code == LATER_RUN else _NOT_RUN


def _act_of(resolution: Resolution) -> AuditEntry | None:
    """The act that a verdict has led to; of one that stays in SQL there is none."""
    entry = resolution.audit_entry
    return entry if entry and entry.verb in _RUNNING_VERBS else None


_HELD_BY_NOBODY: dict[str, Any] = {"claimed_by": None, "claimed_by_name": "", "claimed_until": None}
_UNDER_WAY = Q(audit_entry__status=AuditEntry.Status.INTENDED)
_RUNNING_VERBS = ("retry_job", "enqueue_job")
_RUNS_AGAIN = (Operation.Status.QUEUED, "said_not_happened", "It did not take effect, and runs again.")
_NOT_RUN = (Operation.Status.CANCELLED, "said_not_happened", "It did not take effect, and was not run again.")
_HAS_A_LATER_RUN = (
    Operation.Status.QUEUED,
    "said_not_happened",
    "It did not take effect, and was queued or begun again since by other means.",
)
_COMPLETED = (Operation.Status.COMPLETED, "said_happened", "It took effect.")
_GIVEN_UP = (Operation.Status.FAILED, "abandoned_possible_effect", "Given up; it may have taken effect.")
_CONTRADICTED = (
    Operation.Status.COMPLETED,
    "contradicting_evidence",
    "It took effect, and was run again since somebody said that it had not: it may have done so twice.",
)
