"""What a person does in a review: takes it, gives it back, says what happened. Each recorded, refusals too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import Http404

from jobs import ledger
from jobs.actions.guarded import Wish, deadline_of, perform
from jobs.actions.jobs import ACTS
from jobs.actions.outcomes import CHANGED, REFUSED, Outcome
from jobs.broker import running
from jobs.broker.details import read_job
from jobs.broker.errors import BrokerUnavailable
from jobs.broker.records import JobDetail
from jobs.domain.decisions import Action, Case, Decision
from jobs.domain.effect_verdicts import MAY_CALL_AGAIN, decide_effect_verdict, liveness_of_effect
from jobs.domain.verdicts import EVIDENCE, LONGEST, OF_RUNS, Verdict, decide_verdict, liveness_sentence, missing
from jobs.judging import case_in_review, effect_in_review
from jobs.ledger import reviews
from jobs.ledger.reviews import Statement
from jobs.models import AuditEntry, Queue, Review
from jobs.permissions import Permission, find_review, require


@dataclass(frozen=True, kw_only=True)
class Saying:
    """What one person says in one review, which he had before him as of `version`, with the job as of `seen`.

    `given`: the pieces of evidence by name (domain.verdicts.EVIDENCE); `look_again_at`: of a verdict that puts it off.
    """

    actor: User
    review_id: int
    verdict: Verdict
    version: int
    seen: str = ""
    given: Mapping[str, str] = field(default_factory=dict)
    look_again_at: datetime | None = None
    now: datetime


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came of it. `missing`: by piece of evidence what is still wanted; then nothing was done or recorded.

    `is_unknown`: the job store did not say in time whether the job was queued; the review is closed once that is known.
    """

    review: Review
    is_done: bool
    sentence: str
    missing: Mapping[str, str] = field(default_factory=dict)
    is_unknown: bool = False


def claim(actor: User, review_id: int, now: datetime) -> Answer:
    """Take the review, or hold on to it for longer. Raises ReviewNotVisible (404), PermissionDenied."""
    review, _queue = _find(actor, review_id, "claim_review", now)
    if reviews.claim_review(review, actor=actor, now=now):
        return Answer(review=review, is_done=True, sentence="You have taken this review: nobody else decides it now.")
    now_is = _again(review)
    return _refuse(actor, now_is, "claim_review", "taken", _why_not_free(now_is), now)


def release(actor: User, review_id: int, now: datetime) -> Answer:
    """Give the review back. Raises as claim."""
    review, _queue = _find(actor, review_id, "release_review", now)
    if reviews.release_review(review, actor=actor, now=now):
        return Answer(review=review, is_done=True, sentence="You have given this review back.")
    return _refuse(actor, review, "release_review", "not_held", "Not done: you do not hold this review.", now)


def resolve(saying: Saying) -> Answer:
    """Put a verdict on record, and do what follows from it.

    Raises ReviewNotVisible (404), PermissionDenied, and BrokerUnavailable when the verdict needs the job store.
    """
    review, queue = _find(saying.actor, saying.review_id, "resolve_review", saying.now)
    saying = replace(saying, given=_kept(saying))
    if wanted := _missing(saying):
        return Answer(review=review, is_done=False, sentence="Nothing was recorded yet.", missing=wanted)
    if objection := _objection(review, saying):
        return _turn_away(review, saying, "changed", objection)
    if review.operation.is_layered:
        return _say_of_effect(review, queue, saying)
    if saying.verdict not in OF_RUNS:
        return _turn_away(review, saying, "no_effect", "Not done: that is said of effects only; this is a plain job.")
    if saying.verdict is Verdict.DID_NOT_HAPPEN:
        return _run_again(review, queue, saying)
    return _record(review, saying, liveness=_liveness(review))


def _kept(saying: Saying) -> dict[str, str]:
    """The pieces of evidence that this verdict knows, as the record keeps them; PostgreSQL takes no NUL."""
    texts = {piece.name: saying.given.get(piece.name, "").replace("\0", "") for piece in EVIDENCE[saying.verdict]}
    return {name: text.strip()[:LONGEST] for name, text in texts.items() if text.strip()}


def _missing(saying: Saying) -> dict[str, str]:
    wanted = missing(saying.verdict, saying.given)
    if saying.verdict is Verdict.SNOOZE and not (saying.look_again_at and saying.look_again_at > saying.now):
        wanted.setdefault("until", "Give a time that is still to come.")
    return wanted


def _find(actor: User, review_id: int, verb: str, now: datetime) -> tuple[Review, Queue]:
    """The review and its queue, when this person may decide there; else the attempt is on record."""
    try:
        review, queue = find_review(actor, review_id)
        require(actor, Permission.RESOLVE_REVIEW, queue)
    except (PermissionDenied, Http404):
        hidden = Review.objects.select_related("operation").filter(pk=review_id).first()
        if hidden is not None:
            ledger.record_refusal(
                actor=actor, verb=verb, now=now, outcome="No right to do this.", **reviews.about(hidden)
            )
        raise
    return review, queue


def _objection(review: Review, saying: Saying) -> str:
    """Why this person may not say it now; '' when nothing speaks against it. The ledger asks again as it writes."""
    if review.closed_at is not None:
        return "Not done: this review was closed meanwhile. Read what was said in it."
    if review.claimed_by_id != saying.actor.pk or not review.claimed_until or review.claimed_until <= saying.now:
        return _why_not_held(review, saying.now)
    if review.version != saying.version:
        return "Not done: the review changed since you looked. Read it again before you decide."
    if reviews.has_act_under_way(review):
        return "Not done: what was said before had the job run again, and it is not known yet whether it did."
    return ""


def _say_of_effect(review: Review, queue: Queue, saying: Saying) -> Answer:
    """What is said of an effect is a record only; the ledger has its operation go on (protocol, 2.1)."""
    if saying.verdict in MAY_CALL_AGAIN:
        _require_retry(review, queue, saying)
    asked = effect_in_review(review)
    decision = decide_effect_verdict(saying.verdict, asked)
    if decision.action is not Action.RECORD:
        return _turn_away(review, saying, decision.code, f"Not done: {decision.sentence}")
    valid_until = asked.effect.key_valid_until if asked.effect else None
    horizon = {"key_valid_until": valid_until.isoformat()} if valid_until else {}
    statement = _statement(saying, liveness_of_effect(asked), decision.code)
    statement = replace(statement, evidence={**statement.evidence, **horizon})
    if reviews.settle_review(review, statement, now=saying.now) is None:
        return _lost_turn(review, saying)
    return Answer(review=_again(review), is_done=True, sentence=f"On record. {decision.sentence}")


def _run_again(review: Review, queue: Queue, saying: Saying) -> Answer:
    """*It did not happen*: the job runs again, if nothing but the doubt stood in the way."""
    _require_retry(review, queue, saying)
    with _silence_on_record(review, saying):
        detail, at = _read(review)
    case = case_in_review(review, detail, at)
    decision = decide_verdict(saying.verdict, case)
    if decision.action is Action.RECORD:
        return _record(review, saying, liveness=liveness_sentence(case), code=decision.code)
    if detail is None or not decision.allows_act:
        return _turn_away(review, saying, decision.code, f"Not done: {decision.sentence}")
    if detail.seen != saying.seen:
        sentence = "Not done: the job changed since you looked. Read the evidence again before you decide."
        return _turn_away(review, saying, "changed", sentence)
    return _requeue(review, queue, saying, detail, case, decision)


def _require_retry(review: Review, queue: Queue, saying: Saying) -> None:
    try:
        require(saying.actor, Permission.RETRY_JOB, queue)
    except PermissionDenied:
        _turn_away(review, saying, "", "No right to retry jobs of this queue.")
        raise


@contextmanager
def _silence_on_record(review: Review, saying: Saying) -> Iterator[None]:
    """A store that gives no answer before anything was attempted: the review stays as it is, and that is recorded."""
    try:
        yield
    except BrokerUnavailable as error:
        _turn_away(review, saying, "", f"Not done: {error}")
        raise


def _requeue(review: Review, queue: Queue, saying: Saying, detail: JobDetail, case: Case, decision: Decision) -> Answer:
    act = ACTS["enqueue_job" if decision.action is Action.ENQUEUE else "retry_job"]
    wish = Wish(
        actor=saying.actor,
        queue=queue,
        job_id=detail.job.job_id,
        seen=saying.seen,
        reason=_reason(saying),
        now=saying.now,
    )
    with _silence_on_record(review, saying):
        deadline = deadline_of(wish)
    statement = _statement(saying, liveness_sentence(case), decision.code)
    entry = reviews.intend_retry(
        review,
        statement,
        now=saying.now,
        verb=act.verb,
        seen=saying.seen,
        decision_code=decision.code,
        deadline_at=deadline,
    )
    if entry is None:
        return _lost_turn(review, saying)
    return _after_act(review, perform(act, wish, detail, entry, deadline))


def _after_act(review: Review, outcome: Outcome) -> Answer:
    return Answer(
        review=_again(review), is_done=outcome.is_done, sentence=outcome.sentence, is_unknown=outcome.is_unknown
    )


def _record(review: Review, saying: Saying, *, liveness: str, code: str = "") -> Answer:
    """A verdict that stays in SQL."""
    statement = _statement(saying, liveness, code or saying.verdict.value)
    if reviews.settle_review(review, statement, now=saying.now) is None:
        return _lost_turn(review, saying)
    return Answer(review=_again(review), is_done=True, sentence=_RECORDED[saying.verdict])


def _lost_turn(review: Review, saying: Saying) -> Answer:
    """Somebody changed the review between the look and the write."""
    now_is = _again(review)
    sentence = _objection(now_is, saying) or "Not done: the review changed since you looked."
    return _turn_away(now_is, saying, "changed", sentence)


def _statement(saying: Saying, liveness: str, code: str) -> Statement:
    return Statement(
        actor=saying.actor,
        verdict=saying.verdict,
        version_seen=saying.version,
        evidence=dict(saying.given),
        reason=_reason(saying),
        liveness=liveness,
        decision_code=code,
        snoozed_until=saying.look_again_at if saying.verdict is Verdict.SNOOZE else None,
    )


def _reason(saying: Saying) -> str:
    return saying.given.get("reason") or saying.given.get("undone_why", "")


def _liveness(review: Review) -> str:
    """What is known of the old run at this moment; a silent store does not keep a verdict from the record."""
    try:
        detail, at = _read(review)
    except BrokerUnavailable as error:
        return f"Not known: {error}"
    return liveness_sentence(case_in_review(review, detail, at))


def _read(review: Review) -> tuple[JobDetail | None, datetime]:
    """The evidence, and the store's own time before it was read: whether a run may still act is judged by that."""
    operation = review.operation
    at = running.store_time(operation.connection)
    return read_job(operation.connection, operation.queue, operation.job_id, now=at), at


def _turn_away(review: Review, saying: Saying, code: str, sentence: str) -> Answer:
    return _refuse(
        saying.actor, review, "resolve_review", code, sentence, saying.now, reason=_reason(saying), seen=saying.seen
    )


def _refuse(actor: User, review: Review, verb: str, code: str, sentence: str, now: datetime, **details: str) -> Answer:
    status: AuditEntry.Status = CHANGED if code == "changed" else REFUSED
    details |= {"decision_code": code, "outcome": sentence}
    ledger.record_refusal(actor=actor, verb=verb, now=now, status=status, **reviews.about(review), **details)
    return Answer(review=review, is_done=False, sentence=sentence)


def _again(review: Review) -> Review:
    return Review.objects.select_related("operation").get(pk=review.pk)


def _why_not_free(review: Review) -> str:
    if review.closed_at is not None:
        return "Not done: this review is closed."
    return f"Not done: {review.claimed_by_name} has taken this review."


def _why_not_held(review: Review, now: datetime) -> str:
    if review.claimed_until and review.claimed_until > now:
        return f"Not done: {review.claimed_by_name} has taken this review."
    return "Not done: take the review first; you do not hold it, or no longer."


_RECORDED = {
    Verdict.HAPPENED: "On record: it took effect. The job is not run again.",
    Verdict.DID_NOT_HAPPEN: "On record: it did not take effect. Nothing was run again.",
    Verdict.ABANDON: "On record: given up; it may have taken effect. The job is not run again.",
    Verdict.SNOOZE: "The review is put off.",
}
