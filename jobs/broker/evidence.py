"""From what was read of a job to the evidence that the rules judge."""

from __future__ import annotations

from jobs.broker.records import JobDetail, ResultKind
from jobs.domain.calls import Call
from jobs.domain.evidence import Evidence


def evidence_of(detail: JobDetail) -> Evidence:
    """The evidence set of one job, complete as far as Redis shows it."""
    newest, job = detail.newest_result, detail.job
    successes = [one.created_at for one in detail.results if one.kind is ResultKind.SUCCESSFUL and one.created_at]
    leases = [one.lease_until for one in detail.executions if one.lease_until]
    beats = [job.last_heartbeat, *(one.last_heartbeat for one in detail.executions)]
    return Evidence(
        exists=job.exists,
        status=job.status,
        listed_in=frozenset(detail.scores),
        queued_times=detail.queued_times,
        in_intermediate=detail.in_intermediate,
        is_readable=isinstance(job.call, Call),
        is_rate_limited=job.is_rate_limited,
        newest_kind=newest.kind if newest else None,
        newest_text=newest.text if newest else None,
        newest_at=newest.created_at if newest else None,
        succeeded_at=max(successes, default=None),
        started_at=job.started_at,
        timeout_seconds=job.timeout_seconds,
        retries_left=job.retries_left,
        last_sign_of_life=max(filter(None, beats), default=None),
        lease_until=max(leases, default=None),
        worker_is_known=detail.worker is not None and detail.worker.exists and detail.worker.died_at is None,
    )
