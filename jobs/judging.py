"""Where what Redis shows and what people declared meet: findings and decisions about real jobs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from django.utils import timezone

from jobs.broker.evidence import evidence_of
from jobs.broker.records import JobDetail
from jobs.domain.calls import Call, Unreadable
from jobs.domain.decisions import Case
from jobs.domain.findings import judge
from jobs.domain.idempotency import Idempotency, Promise
from jobs.models import NAME_LENGTH, JobType


def case_of(detail: JobDetail, now: datetime, *, declared: JobType | None) -> Case:
    """What every decision about this job is taken from. `declared`: its declared_type."""
    evidence = evidence_of(detail)
    return Case(
        evidence=evidence,
        judgement=judge(evidence, now),
        promise=promise_of(declared),
        now=now,
        zone=timezone.get_current_timezone(),
    )


def declared_type(call: Call | Unreadable) -> JobType | None:
    """What was declared for the job's function; None when nothing was, or no path is known to look it up by."""
    path = function_path(call)
    return JobType.objects.filter(path=path).first() if path else None


def declared_types(calls: Iterable[Call | Unreadable]) -> Mapping[str, JobType]:
    """The declarations for all these calls by path, in one query."""
    return JobType.objects.in_bulk({path for call in calls if (path := function_path(call))}, field_name="path")


def function_path(call: Call | Unreadable) -> str | None:
    """The dotted path of the function, which names the job type."""
    return call.path if isinstance(call, Call) else None


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
