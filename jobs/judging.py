"""Where what Redis shows and what people declared meet: findings and decisions about real jobs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from django.utils import timezone

from jobs.broker.evidence import evidence_of
from jobs.broker.records import JobDetail
from jobs.domain.calls import Call, Unreadable
from jobs.domain.decisions import Decision, decide_delete, decide_retry
from jobs.domain.findings import judge
from jobs.domain.idempotency import Idempotency
from jobs.models import JobType


def retry_decision(detail: JobDetail, now: datetime) -> Decision:
    """What a retry of this job would be answered now; shown beforehand, asked again at the moment of the act."""
    evidence = evidence_of(detail)
    idempotency, zone = idempotency_of(declared_type(detail.job.call)), timezone.get_current_timezone()
    return decide_retry(evidence, judge(evidence, now), idempotency, zone=zone)


def delete_decision(detail: JobDetail, now: datetime) -> Decision:
    """What a delete of this job would be answered now."""
    evidence = evidence_of(detail)
    return decide_delete(evidence, judge(evidence, now))


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


def idempotency_of(job_type: JobType | None) -> Idempotency:
    """The declared promise; nothing declared counts as undeclared."""
    return Idempotency(job_type.idempotency) if job_type else Idempotency.UNDECLARED
