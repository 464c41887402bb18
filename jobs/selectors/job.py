"""The job page: one job with everything that bears on what to do about it."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.utils import timezone

from jobs import ledger
from jobs.broker.details import read_job
from jobs.broker.fields import epoch
from jobs.broker.records import Execution, JobDetail, Relative, Result, ResultKind, Worker
from jobs.domain.arguments import Argument
from jobs.domain.calls import Unreadable
from jobs.domain.decisions import Case, Decision
from jobs.domain.findings import Finding, Judgement
from jobs.domain.idempotency import Idempotency
from jobs.domain.outlook import outlook
from jobs.domain.progress import Progress
from jobs.domain.terms import retry_terms
from jobs.domain.verbs import DECIDE, verbs_for
from jobs.judging import (
    case_of,
    declared_type,
    function_path,
    idempotency_of,
    layered_of,
    operation_of,
    standing_of,
    word_to_type,
)
from jobs.ledger.operations import plain_operation_id
from jobs.models import AuditEntry, JobType, Operation, Queue, Review
from jobs.permissions import RIGHT_FOR, Permission, Visibility, may, permissions_on
from jobs.selectors.layered_rows import progress_of
from jobs.selectors.texts import (
    LATEST_CHARACTERS,
    OLDER_CHARACTERS,
    ErrorText,
    Masks,
    arguments_of,
    error_text,
    masks_of,
)


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One run that RQ recorded. `number` counts the recorded ones; runs that left no record have none."""

    number: int
    kind: ResultKind
    anchor: str
    worker_name: str | None
    started_at: datetime | None
    ended_at: datetime | None
    duration: timedelta | None
    error: ErrorText | None


@dataclass(frozen=True, kw_only=True)
class RelatedJob:
    """A job that this one waits for or that waits for this one, on the same connection."""

    job_id: str
    queue: str | None
    status: str | None


@dataclass(frozen=True, kw_only=True)
class Offer:
    """An act as the page offers it: what would be decided, whether this person may ask for it, by which right."""

    verb: str
    decision: Decision
    is_allowed: bool
    right: Permission
    terms: str = ""
    """On which terms the job would run; '' for acts that run nothing."""


@dataclass(frozen=True, kw_only=True)
class JobPage:
    """The whole page. `state` is a key of the words table; `seen` is the token that an act must bring back."""

    connection: str
    queue: str
    job_id: str
    state: str
    judgement: Judgement
    outlook: tuple[str, ...]
    function: str | None
    unreadable: str
    arguments: tuple[Argument, ...]
    idempotency: Idempotency
    job_type: JobType | None
    seen: str
    offers: tuple[Offer, ...]
    """Every act, in the order in which a page offers them."""
    offered: tuple[Offer, ...]
    """Those worth speaking of in this state."""
    word_to_type: str
    may_declare: bool
    may_read_audit: bool
    error: ErrorText | None
    attempts: tuple[Attempt, ...]
    attempts_unlisted: int
    executions: tuple[Execution, ...]
    created_at: datetime | None
    enqueued_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    last_heartbeat: datetime | None
    timeout_seconds: int | None
    retries_left: int | None
    queued_times: int | None
    expires_at: datetime | None
    results_expire_at: datetime | None
    worker: Worker | None
    dependencies: tuple[RelatedJob, ...]
    dependents: tuple[RelatedJob, ...]
    dependents_unlisted: int
    audit: QuerySet[AuditEntry]
    operation_id: str
    """'' when an earlier job goes by the operation id that this one would have."""
    operation: Operation | None
    """The operation that it delivers through the job-safety layer; None for a plain job."""
    review: Review | None
    """The newest review of this job, open or closed."""

    @property
    def open_review(self) -> Review | None:
        return self.review if self.review and self.review.closed_at is None else None

    @property
    def is_gone(self) -> bool:
        """Only the id is left of it, in some list."""
        return self.state == Finding.GONE

    @property
    def progress(self) -> Progress | None:
        """How far the operation is that this job runs now; None for any other."""
        operation = self.operation
        runs_here = operation and operation.status == Operation.Status.RUNNING and operation.job_id == self.job_id
        return progress_of(operation) if operation and runs_here else None

    def offer(self, verb: str) -> Offer:
        """The act of this verb, whether it is worth speaking of or not."""
        return next(one for one in self.offers if one.verb == verb)


def job_page(user: User, visibility: Visibility, queue: Queue, job_id: str, *, now: datetime) -> JobPage | None:
    """The page of one job of a visible queue, or None when the queue has no such job. Raises BrokerUnavailable."""
    detail = read_job(queue.connection, queue.name, job_id, now=now)
    if detail is None:
        return None
    declared, operation = declared_type(detail.job.call), operation_of(detail)
    layered = layered_of(operation, job_id) if operation else None
    case = case_of(detail, now, declared=declared, standing=standing_of(detail), layered=layered)
    judgement, offers = case.judgement, _offers(case, permissions_on(user, queue))
    attempts = _attempts(detail, masks_of(detail.job.call, declared))
    return JobPage(
        connection=queue.connection,
        queue=queue.name,
        job_id=job_id,
        state=judgement.finding,
        judgement=judgement,
        outlook=outlook(judgement.finding, retries_left=detail.job.retries_left, **_surroundings(detail)),
        **_call_facts(detail, declared),
        seen=detail.seen,
        offers=offers,
        offered=tuple(one for one in offers if one.verb in verbs_for(judgement.finding)),
        word_to_type=word_to_type(detail.job.call),
        may_declare=may(user, Permission.CHANGE_JOBTYPE),
        may_read_audit=may(user, Permission.VIEW_AUDIT),
        error=attempts[0].error if attempts else None,
        attempts=attempts,
        attempts_unlisted=max(0, detail.results_total - len(attempts)),
        **_run_facts(detail),
        **_relatives(detail, visibility),
        audit=ledger.entries_of_job(queue.connection, queue.name, job_id),
        **(_delivered(operation) if operation else _operation(detail)),
    )


def _offers(case: Case, rights: Container[Permission]) -> tuple[Offer, ...]:
    terms = retry_terms(
        timeout_seconds=case.evidence.timeout_seconds,
        retries_left=case.evidence.retries_left,
        is_layered=case.layered is not None,
    )
    return tuple(
        Offer(
            verb=verb,
            decision=decide(case),
            is_allowed=RIGHT_FOR[verb] in rights,
            right=RIGHT_FOR[verb],
            terms=terms if verb in ("retry_job", "enqueue_job") else "",
        )
        for verb, decide in DECIDE.items()
    )


def _call_facts(detail: JobDetail, declared: JobType | None) -> dict[str, Any]:
    call = detail.job.call
    return {
        "function": function_path(call),
        "unreadable": call.reason
        if isinstance(call, Unreadable)
        else ""
        if call.complete
        else "only its start was read",
        "arguments": arguments_of(call, declared),
        "idempotency": idempotency_of(declared),
        "job_type": declared,
    }


def _run_facts(detail: JobDetail) -> dict[str, Any]:
    job = detail.job
    copied = "created_at enqueued_at started_at ended_at last_heartbeat timeout_seconds retries_left"
    return {
        **{name: getattr(job, name) for name in copied.split()},
        "executions": detail.executions,
        "queued_times": detail.queued_times,
        "expires_at": detail.expires_at,
        "results_expire_at": detail.results_expire_at,
        "worker": detail.worker,
    }


def _surroundings(detail: JobDetail) -> dict[str, Any]:
    return {
        "has_worker": detail.queue_has_worker,
        "has_scheduler": detail.queue_has_scheduler,
        "due_at": epoch(detail.scores.get("scheduled")),
        "expires_at": detail.expires_at,
        "is_to_run": bool(detail.queued_times) or "scheduled" in detail.scores,
        "zone": timezone.get_current_timezone(),
    }


def _attempts(detail: JobDetail, masks: Masks) -> tuple[Attempt, ...]:
    """The recorded runs, newest first; the newest one's text at length, older ones shorter."""
    total = detail.results_total
    return tuple(
        _attempt(result, masks, number=total - at, keep=OLDER_CHARACTERS if at else LATEST_CHARACTERS)
        for at, result in enumerate(detail.results)
    )


def _attempt(result: Result, masks: Masks, *, number: int, keep: int) -> Attempt:
    ended = result.ended_at or result.created_at
    took = result.ended_at - result.started_at if result.ended_at and result.started_at else None
    return Attempt(
        number=number,
        kind=result.kind,
        anchor=f"attempt-{result.id}",
        worker_name=result.worker_name,
        started_at=result.started_at,
        ended_at=ended,
        duration=took,
        error=error_text(result, masks, keep=keep),
    )


def _operation(detail: JobDetail) -> dict[str, Any]:
    """The job's operation, and its newest review; none of another job that had this id before."""
    job_id = detail.job.job_id
    operations = list(Operation.objects.filter(connection=detail.connection, queue=detail.queue, job_id=job_id))
    own = next((one for one in operations if one.job_created_at == detail.job.created_at), None)
    plain = "" if operations else plain_operation_id(detail.connection, job_id)
    return {
        "operation_id": own.operation_id if own else plain,
        "operation": None,
        "review": own.reviews.order_by("-pk").first() if own else None,
    }


def _delivered(operation: Operation) -> dict[str, Any]:
    """The operation that the job delivers, and its newest review."""
    newest = operation.reviews.order_by("-pk").first()
    return {"operation_id": operation.operation_id, "operation": operation, "review": newest}


def _relatives(detail: JobDetail, visibility: Visibility) -> dict[str, Any]:
    """Related jobs of queues that one may see; of others not even the number."""
    dependents = _visible(detail, detail.dependents, visibility)
    unlisted = detail.dependents_total - len(detail.dependents) if visibility.everything else 0
    return {
        "dependencies": _visible(detail, detail.dependencies, visibility),
        "dependents": dependents,
        "dependents_unlisted": max(0, unlisted),
    }


def _visible(detail: JobDetail, relatives: Sequence[Relative], visibility: Visibility) -> tuple[RelatedJob, ...]:
    return tuple(
        RelatedJob(job_id=one.job_id, queue=one.origin, status=one.status)
        for one in relatives
        if visibility.everything or (one.origin is not None and visibility.sees(detail.connection, one.origin))
    )
