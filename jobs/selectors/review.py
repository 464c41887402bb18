"""One review: what is known of the run, how to find out more, and what may be said of it by whom."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User

from jobs.broker.details import read_job
from jobs.broker.errors import BrokerUnavailable
from jobs.broker.records import JobDetail
from jobs.domain.arguments import Argument, still_shown
from jobs.domain.decisions import Action, Case, Decision
from jobs.domain.evidence import WorkerSign
from jobs.domain.findings import Finding
from jobs.domain.verdicts import OF_RUNS, RECORDS, Verdict, decide_verdict, liveness_sentence
from jobs.judging import case_in_review, idempotency_of, is_in_question, testimony_of
from jobs.ledger.failures import failed_job, is_run_of
from jobs.ledger.reviews import has_act_under_way, is_contradicted
from jobs.models import FailedJob, JobType, Queue, Review
from jobs.permissions import Permission, permissions_on
from jobs.selectors.review_head import Choice, ReviewHead, head_of, time_of
from jobs.selectors.stored import hidden_since, stored_error
from jobs.selectors.texts import LATEST_CHARACTERS, ErrorText, arguments_of, declared_ids, error_text, masks_of


@dataclass(frozen=True, kw_only=True)
class Known:
    """What is known of the run, as of `looked_at`; None and '' for what is not."""

    looked_at: datetime | None = None
    created_at: datetime | None = None
    enqueued_at: datetime | None = None
    started_at: datetime | None = None
    last_sign_of_life: datetime | None = None
    lease_until: datetime | None = None
    dead_after: datetime | None = None
    newest_result_at: datetime | None = None
    is_dead: bool = False
    worker: str = WorkerSign.UNKNOWN
    worker_name: str = ""


@dataclass(frozen=True, kw_only=True)
class JobNow:
    """How the job stands in Redis at this moment."""

    finding: Finding
    sentence: str
    seen: str
    is_this_run: bool
    """Whether its last run is the one that the review asks about."""


@dataclass(frozen=True, kw_only=True)
class ReviewPage(ReviewHead):
    """The whole page of a plain job's review. `silence`: why the job store can't be asked; '' when it answered."""

    known: Known
    job: JobNow | None
    silence: str
    is_another_job: bool
    """Another job has the id by now, so nothing that Redis shows of it bears on this one."""
    error: ErrorText | None
    error_at: datetime | None
    is_error_of_this_run: bool
    """Or of another one of the same job: the newest that failed."""

    @property
    def seen(self) -> str:
        """The token that a verdict which leads to a run must bring back."""
        return self.job.seen if self.job else ""


@dataclass(frozen=True, kw_only=True)
class _Facts:
    """What could be read of the job, and from where. `detail`: where Redis has it; `case`: where it could be asked."""

    detail: JobDetail | None = None
    case: Case | None = None
    row: FailedJob | None = None
    job_type: JobType | None = None
    silence: str = ""
    is_another_job: bool = False


def review_page(user: User, review: Review, queue: Queue, *, now: datetime) -> ReviewPage:
    """The page of a review that this person may see (permissions.find_review). A silent store takes nothing from it."""
    facts, rights = _facts(review, now), permissions_on(user, queue)
    error, error_at, is_error_of_this_run = _error(review, facts)
    return ReviewPage(
        **head_of(user, review, rights, now=now),
        known=_known(review, facts),
        job=_job_now(review, facts),
        liveness=liveness_sentence(facts.case) if facts.case else "",
        silence=facts.silence,
        is_another_job=facts.is_another_job,
        error=error,
        error_at=error_at,
        is_error_of_this_run=is_error_of_this_run,
        arguments=_arguments(facts),
        job_type=facts.job_type,
        idempotency=idempotency_of(facts.job_type),
        choices=tuple(_choice(verdict, facts, rights) for verdict in OF_RUNS),
        is_contradicted=is_contradicted(review),
        has_act_under_way=has_act_under_way(review),
    )


# What is known --------------------------------------------------------------------------------------------------------


def _facts(review: Review, now: datetime) -> _Facts:
    operation = review.operation
    declared = JobType.objects.filter(path=operation.job_type).first() if operation.job_type else None
    row = failed_job(operation.connection, operation.queue, operation.job_id)
    # The index has one row for an id, whichever job goes by it.
    row = row if row and row.created_at == operation.job_created_at else None
    try:
        detail = read_job(operation.connection, operation.queue, operation.job_id, now=now)
    except BrokerUnavailable as error:
        return _Facts(row=row, job_type=declared, silence=str(error))
    case = case_in_review(review, detail, now)
    is_another = detail is not None and detail.job.exists and case.judgement.finding is Finding.GONE
    if detail is None or not detail.job.exists or is_another:
        return _Facts(case=case, row=row, job_type=declared, is_another_job=is_another)
    return _Facts(detail=detail, case=case, row=row, job_type=declared)


def _job_now(review: Review, facts: _Facts) -> JobNow | None:
    if facts.detail is None or facts.case is None:
        return None
    judgement = facts.case.judgement
    return JobNow(
        finding=judgement.finding,
        sentence=judgement.sentence,
        seen=facts.detail.seen,
        is_this_run=is_in_question(review, facts.detail),
    )


def _known(review: Review, facts: _Facts) -> Known:
    """Of the run that is asked about: what Redis shows now, or what was last noted of it."""
    noted = review.evidence | ({"looked_at": review.looked_at.isoformat()} if review.looked_at else {})
    if facts.detail is not None and facts.case is not None and is_in_question(review, facts.detail):
        noted = testimony_of(facts.detail, facts.case)
    times = ("looked_at", "created_at", "enqueued_at", "started_at", "lease_until", "dead_after", "newest_result_at")
    return Known(
        **{name: time_of(noted.get(name)) for name in times},
        last_sign_of_life=time_of(noted.get("last_sign_of_life")) or review.last_sign_of_life,
        is_dead=noted.get("is_dead") is True,
        worker=str(noted.get("worker") or WorkerSign.UNKNOWN),
        worker_name=str(noted.get("worker_name") or ""),
    )


def _error(review: Review, facts: _Facts) -> tuple[ErrorText | None, datetime | None, bool]:
    """The text of the newest failure, masked, its time, and whether it is of the run that is asked about.

    From Redis, or as the observer kept it.
    """
    if facts.detail is not None:
        masks = masks_of(facts.detail.job.call, facts.job_type)
        for result in facts.detail.results:
            if text := error_text(result, masks, keep=LATEST_CHARACTERS):
                return text, result.ended_at or result.created_at, is_in_question(review, facts.detail)
    kept = facts.row.attempts.first() if facts.row else None
    if facts.row is None or kept is None:
        return None, None, True
    text = stored_error(kept, hidden_since(facts.row, facts.job_type))
    return text, kept.ended_at or kept.recorded_at, is_run_of(review, facts.row)


def _arguments(facts: _Facts) -> tuple[Argument, ...]:
    if facts.detail is not None:
        return arguments_of(facts.detail.job.call, facts.job_type)
    return still_shown(facts.row.ids, declared_ids(facts.job_type)) if facts.row else ()


# What may be said -----------------------------------------------------------------------------------------------------


def _choice(verdict: Verdict, facts: _Facts, rights: Collection[Permission]) -> Choice:
    decision = _decision(verdict, facts)
    if verdict is Verdict.DID_NOT_HAPPEN and Permission.RETRY_JOB not in rights:
        return Choice(verdict, decision.sentence, _NO_RETRY)
    if decision.action is Action.RECORD or decision.allows_act:
        return Choice(verdict, decision.sentence)
    return Choice(verdict, decision.sentence, decision.sentence)


def _decision(verdict: Verdict, facts: _Facts) -> Decision:
    if facts.case is not None:
        return decide_verdict(verdict, facts.case)
    if verdict is not Verdict.DID_NOT_HAPPEN:
        return Decision(Action.RECORD, verdict.value, RECORDS[verdict])
    return Decision(Action.WAIT, "not_known", f"{facts.silence} Whether the old run has ended is not known now.")


_NO_RETRY = "Whoever says this has the job run again, and you may not retry jobs of this queue."
