"""Where what Redis shows and what people declared meet: findings and decisions about real jobs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from jobs.broker.evidence import evidence_of
from jobs.broker.records import JobDetail
from jobs.domain.calls import Call, Unreadable
from jobs.domain.decisions import Case
from jobs.domain.effect_verdicts import InReview
from jobs.domain.evidence import Evidence
from jobs.domain.findings import TELL_NOTHING, Finding, Judgement, judge
from jobs.domain.idempotency import Idempotency, Promise
from jobs.domain.layered import Layered
from jobs.domain.operations import AskedBy, Snapshot
from jobs.domain.runs import Began
from jobs.domain.standing import Standing
from jobs.ledger import database, events, operations
from jobs.ledger.failures import run_of
from jobs.ledger.reviews import Question
from jobs.ledger.snapshots import effect_state, snapshot_of
from jobs.models import NAME_LENGTH, JobType, Operation, Review


def case_of(
    detail: JobDetail, now: datetime, *, declared: JobType | None, standing: Standing, layered: Layered | None = None
) -> Case:
    """What every decision about this job is taken from. `declared`: its declared_type; `standing`: its standing_of.

    `layered`: its layered_of, where an act is to be decided.
    """
    evidence = evidence_of(detail)
    return Case(
        evidence=evidence,
        judgement=judge(evidence, now),
        promise=promise_of(declared),
        standing=standing,
        now=now,
        zone=timezone.get_current_timezone(),
        layered=layered,
    )


def operation_of(detail: JobDetail) -> Operation | None:
    """The operation that this job delivers through the job-safety layer; None for a plain job.

    Ids can be used again: a job of another function is none of its deliveries.
    """
    if "\0" in detail.queue + detail.job.job_id:
        # PostgreSQL refuses to compare with a NUL; no record can hold one.
        return None
    found = events.operation_of_delivery(detail.connection, detail.queue, detail.job.job_id)
    path = function_path(detail.job.call)
    return found if found and path in (None, found.job_type) else None


def layered_of(operation: Operation, job_id: str, *, asked_by: AskedBy = AskedBy.OPERATOR) -> Layered:
    """What decides about an operation when a person wants something done with this job of it."""
    now = database.now()
    return layered_as(operation, snapshot_of(operation, now), now, job_id=job_id, asked_by=asked_by)


def layered_as(
    operation: Operation, snapshot: Snapshot, now: datetime, *, job_id: str, asked_by: AskedBy = AskedBy.OPERATOR
) -> Layered:
    """The same from a snapshot that was read together with others (ledger.snapshots.snapshots_of)."""
    return Layered(
        operation_id=operation.operation_id,
        snapshot=snapshot,
        now=now,
        is_newest=operation.job_id == job_id,
        asked_by=asked_by,
    )


def case_of_delivery(detail: JobDetail | None, now: datetime, layered: Layered) -> Case | None:
    """The case of a job that delivers this operation; None where Redis has no such job."""
    if detail is None or not detail.job.exists:
        return None
    return case_of(detail, now, declared=None, standing=Standing(), layered=layered)


def effect_in_review(review: Review) -> InReview:
    """What decides about a verdict in this review of an effect: the ledger's own rows, by the database's clock."""
    now = database.now()
    state = effect_state(review.effect, now) if review.effect else None
    return InReview(effect=state, now=now, zone=timezone.get_current_timezone())


def case_in_review(review: Review, detail: JobDetail | None, now: datetime) -> Case:
    """The case that a verdict in this review is decided from. `detail`: what Redis shows of the job now.

    Where that is nothing, or another job that was given the same id, the job is gone. Whether its run may still act is
    then told by what was known of it when the review was last refreshed; so it is where Redis speaks of a later run, or
    only of where the job is now.
    """
    created_at = review.operation.job_created_at
    if detail is None or detail.job.status is None or detail.job.created_at != created_at:
        return _case_of_gone(review, now)
    case = case_of(detail, now, declared=declared_type(detail.job.call), standing=standing_of(detail))
    has_later_run = not is_in_question(review, detail)
    if has_later_run or case.judgement.finding in TELL_NOTHING:
        case = replace(case, judgement=_as_was_known(review, case.judgement, now))
    return replace(case, has_later_run=has_later_run)


def is_in_question(review: Review, detail: JobDetail) -> bool:
    """Whether the job's last run is the one that the review asks about, though its end may have moved its start."""
    run = Began(detail.job.enqueued_at, detail.job.started_at)
    return kept_text(detail.run) == review.run or run.is_of(run_of(review))


def _case_of_gone(review: Review, now: datetime) -> Case:
    operation = review.operation
    gone = Judgement(finding=Finding.GONE, sentence="Its data is gone from Redis.")
    return Case(
        evidence=Evidence(exists=False, status=None),
        judgement=_as_was_known(review, gone, now),
        standing=operations.standing_of(
            operation.connection, operation.queue, operation.job_id, operation.job_created_at
        ),
        now=now,
        zone=timezone.get_current_timezone(),
    )


def _as_was_known(review: Review, judgement: Judgement, now: datetime) -> Judgement:
    """The same, but whether the run of the review may still act as it was known when Redis still spoke of that run."""
    is_dead = is_known_dead(review.evidence, now)
    return replace(judgement, is_dead=is_dead, dead_after=None if is_dead else _known_end(review.evidence))


def is_known_dead(testimony: Mapping[str, Any], now: datetime) -> bool:
    """Whether the run of a testimony (testimony_of) can act no more: proved dead then, or over by its time since."""
    end = _known_end(testimony)
    return testimony.get("is_dead") is True or (end is not None and now > end)


def _known_end(testimony: Mapping[str, Any]) -> datetime | None:
    return datetime.fromisoformat(testimony["dead_after"]) if testimony.get("dead_after") else None


def standing_of(detail: JobDetail) -> Standing:
    """What was said of the job in its reviews."""
    return operations.standing_of(detail.connection, detail.queue, detail.job.job_id, detail.job.created_at)


def question_of(detail: JobDetail, case: Case, code: str) -> Question:
    """What a review of the job's last run has to ask, and what is known of it. `code`: of the decision wanting it."""
    judgement, job = case.judgement, detail.job
    return Question(
        connection=detail.connection,
        queue=detail.queue,
        job_id=job.job_id,
        job_type=(function_path(job.call) or "")[:NAME_LENGTH],
        job_created_at=job.created_at,
        run=kept_text(detail.run),
        code=code,
        finding=judgement.finding.value,
        sentence=judgement.sentence,
        evidence=testimony_of(detail, case),
        last_sign_of_life=case.evidence.last_sign_of_life,
    )


def testimony_of(detail: JobDetail, case: Case) -> dict[str, Any]:
    """What is known of the last run, as it is kept: texts, numbers, and times in ISO 8601. Never an argument or a text.

    It outlives the job in Redis. Missing times are None.
    """
    evidence, judgement = case.evidence, case.judgement
    times = {
        "created_at": evidence.created_at,
        "enqueued_at": evidence.enqueued_at,
        "started_at": evidence.started_at,
        "last_sign_of_life": evidence.last_sign_of_life,
        "lease_until": evidence.lease_until,
        "dead_after": judgement.dead_after,
        "newest_result_at": evidence.newest_at,
        "succeeded_at": evidence.succeeded_at,
        "looked_at": case.now,
    }
    return {
        "status": evidence.status and kept_text(evidence.status),
        "finding": judgement.finding.value,
        "is_dead": judgement.is_dead,
        "worker": evidence.worker.value,
        "worker_name": detail.busy_worker and kept_text(detail.busy_worker),
        "timeout_seconds": evidence.timeout_seconds,
        "retries_left": evidence.retries_left,
        "seen": kept_text(detail.seen),
        **{name: at.isoformat() if at else None for name, at in times.items()},
    }


def kept_text(text: str) -> str:
    """A text out of Redis as SQL takes it: PostgreSQL refuses a NUL."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")


def declared_type(call: Call | Unreadable) -> JobType | None:
    """What was declared for the job's function; None when nothing was, or no path is known to look it up by."""
    path = function_path(call)
    return JobType.objects.filter(path=path).first() if path else None


def declared_types(calls: Iterable[Call | Unreadable]) -> Mapping[str, JobType]:
    """The declarations for all these calls by path, in one query."""
    return JobType.objects.in_bulk({path for call in calls if (path := function_path(call))}, field_name="path")


def function_path(call: Call | Unreadable) -> str | None:
    """The dotted path of the function, which names the job type; None for one that SQL could not look for."""
    path = call.path if isinstance(call, Call) else None
    return None if path and "\0" in path else path


def word_to_type(call: Call | Unreadable) -> str:
    """What a person types to confirm a delete: the function's own name, or `delete` where no name can be read."""
    name = (function_path(call) or "").rpartition(".")[2]
    return name if name.isidentifier() and len(name) <= NAME_LENGTH else "delete"


def idempotency_of(job_type: JobType | None) -> Idempotency:
    """The declared promise; nothing declared counts as undeclared."""
    return Idempotency(job_type.idempotency) if job_type else Idempotency.UNDECLARED


def promise_of(job_type: JobType | None) -> Promise:
    """The declared promise with the time that it holds for."""
    seconds = job_type.remembered_for_seconds if job_type else None
    return Promise(idempotency_of(job_type), timedelta(seconds=seconds) if seconds else None)
