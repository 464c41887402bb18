"""One review: what is known of the run, how to find out more, and what may be said of it by whom."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.contrib.auth.models import User

from jobs.broker.details import read_job
from jobs.broker.errors import BrokerUnavailable
from jobs.broker.records import JobDetail
from jobs.domain.arguments import Argument, still_shown
from jobs.domain.decisions import Action, Case, Decision
from jobs.domain.evidence import WorkerSign
from jobs.domain.findings import Finding
from jobs.domain.idempotency import Idempotency
from jobs.domain.links import Link, build_links, link_host
from jobs.domain.verdicts import OF_RUNS, RECORDS, YES, Verdict, decide_verdict, liveness_sentence
from jobs.judging import case_in_review, idempotency_of, is_in_question, testimony_of
from jobs.ledger.failures import failed_job, is_run_of
from jobs.ledger.reviews import has_act_under_way, is_contradicted, resolutions_of
from jobs.models import AuditEntry, FailedJob, JobType, Operation, Queue, Resolution, Review
from jobs.permissions import Permission, may, permissions_on
from jobs.selectors.reviews import ReviewRow
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


@dataclass(frozen=True)
class Choice:
    """One verdict: what would come of it, or why it may not be said now."""

    verdict: Verdict
    sentence: str
    objection: str = ""


@dataclass(frozen=True)
class Ground:
    """One thing that was brought forward: a time where it is one, else a text; `host`: where a plain link leads."""

    name: str
    text: str
    at: datetime | None = None
    host: str = ""


@dataclass(frozen=True)
class Said:
    """One entry of what was said. `fate` of the run that it was to lead to: a key of the words table, or ''."""

    resolution: Resolution
    fate: str
    contradicts: bool
    """It says otherwise than what the review was closed with: that it did not happen, and that it did."""

    @property
    def is_late_evidence(self) -> bool:
        return self.resolution.source == Resolution.Source.LATE_EVIDENCE

    @property
    def closes(self) -> bool:
        """Whether the review was closed by it, or will be."""
        is_kept = self.resolution.verdict != Verdict.SNOOZE and not self.contradicts
        return is_kept and self.fate in ("", AuditEntry.Status.DONE)

    @property
    def grounds(self) -> tuple[Ground, ...]:
        evidence = self.resolution.evidence.items()
        return tuple(_ground(str(name), value) for name, value in evidence if value and name != "contradicts")


@dataclass(frozen=True, kw_only=True)
class ReviewPage:
    """The whole page. `silence`: why the job store can't be asked; '' when it answered."""

    review: Review
    operation: Operation
    known: Known
    job: JobNow | None
    liveness: str
    """Whether the old run may still act; '' when the job store can't be asked."""
    silence: str
    is_another_job: bool
    """Another job has the id by now, so nothing that Redis shows of it bears on this one."""
    error: ErrorText | None
    error_at: datetime | None
    is_error_of_this_run: bool
    """Or of another one of the same job: the newest that failed."""
    arguments: tuple[Argument, ...]
    job_type: JobType | None
    idempotency: Idempotency
    links: tuple[Link, ...]
    choices: tuple[Choice, ...]
    said: tuple[Said, ...]
    is_contradicted: bool
    """An incident: it was run again because it had not happened, and it had."""
    has_act_under_way: bool
    """What was said led to an act of which nobody knows yet whether it was carried out: until then nothing is said."""
    may_resolve: bool
    may_declare: bool
    may_read_audit: bool
    is_mine: bool
    """The reader holds it."""
    is_held: bool
    """Somebody holds it."""
    is_overdue: bool
    is_put_off: bool

    @property
    def seen(self) -> str:
        """The token that a verdict which leads to a run must bring back."""
        return self.job.seen if self.job else ""

    @property
    def is_open(self) -> bool:
        return self.review.closed_at is None

    @property
    def answer(self) -> Said | None:
        """What closed it."""
        return next((one for one in reversed(self.said) if not self.is_open and one.closes), None)

    @property
    def history(self) -> tuple[Said, ...]:
        """Everything that was said, unless the answer is all of it."""
        return () if self.answer and len(self.said) == 1 else self.said


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
    operation, rights = review.operation, permissions_on(user, queue)
    facts = _facts(review, now)
    error, error_at, is_error_of_this_run = _error(review, facts)
    listed = ReviewRow(review, now)
    return ReviewPage(
        review=review,
        operation=operation,
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
        links=links_of(operation.operation_id, operation),
        choices=tuple(_choice(verdict, facts, rights) for verdict in OF_RUNS),
        said=said_in(review),
        is_contradicted=is_contradicted(review),
        has_act_under_way=has_act_under_way(review),
        may_resolve=Permission.RESOLVE_REVIEW in rights,
        may_declare=may(user, Permission.CHANGE_JOBTYPE),
        may_read_audit=may(user, Permission.VIEW_AUDIT),
        is_mine=listed.is_held and review.claimed_by_id == user.pk,
        is_held=listed.is_held,
        is_overdue=listed.is_overdue,
        is_put_off=listed.is_put_off,
    )


def links_of(operation_id: str, operation: Operation | FailedJob) -> tuple[Link, ...]:
    """Where else this operation can be looked up (OPSBOARD_LINKS)."""
    values = {name: getattr(operation, name) for name in ("job_id", "job_type", "queue", "connection")}
    return build_links(getattr(settings, "OPSBOARD_LINKS", ()), {"operation_id": operation_id, **values})


def time_of(value: object) -> datetime | None:
    """The time that an ISO 8601 text names; None for what is none, or can't be told in every zone."""
    try:
        at = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return at if 1900 < at.year < 3000 else None


def said_in(review: Review) -> tuple[Said, ...]:
    """What was said in a review, in order, with what became of it."""
    return tuple(Said(one, _fate(one), _contradicts(review, one)) for one in resolutions_of(review))


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


# What was said --------------------------------------------------------------------------------------------------------


def _fate(resolution: Resolution) -> str:
    entry = resolution.audit_entry
    if entry is None or resolution.verdict != Verdict.DID_NOT_HAPPEN:
        return ""
    return entry.status if entry.verb != "resolve_review" else ""


_TIMES = frozenset({"observed_at", "until", "ended_at"})


def _ground(name: str, value: object) -> Ground:
    text = "" if value is True or value == YES else str(value)
    at = time_of(value) if name in _TIMES else None
    return Ground(name, text, at, link_host(text) if name == "link" else "")


def _contradicts(review: Review, resolution: Resolution) -> bool:
    """Of a denial only one that was acted on: where nothing ran, late evidence simply answers the question."""
    said, other = {Verdict(resolution.verdict), Verdict(review.verdict or resolution.verdict)}, _fate(resolution)
    is_kept = resolution.verdict == Verdict.HAPPENED or other == AuditEntry.Status.DONE
    return said == {Verdict.HAPPENED, Verdict.DID_NOT_HAPPEN} and is_kept


_NO_RETRY = "Whoever says this has the job run again, and you may not retry jobs of this queue."
