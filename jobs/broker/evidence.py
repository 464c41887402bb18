"""From what was read of a job to the evidence that the rules judge."""

from __future__ import annotations

from datetime import datetime

from jobs.broker.keys import is_confusable
from jobs.broker.records import JobDetail, ResultKind
from jobs.domain.calls import Call
from jobs.domain.evidence import Evidence, WorkerSign
from jobs.domain.failures import Reach, read_failure


def evidence_of(detail: JobDetail) -> Evidence:
    """The evidence set of one job, complete as far as Redis shows it."""
    newest, job = detail.newest_result, detail.job
    successes = [one.ended_at or one.created_at for one in detail.results if one.kind is ResultKind.SUCCESSFUL]
    leases = [one.lease_until for one in detail.executions if one.lease_until]
    # A worker that sees its horse end writes the job anew, without the last heartbeat: it was alive until that end.
    ended_at = newest.ended_at if newest else None
    beats = [job.last_heartbeat, ended_at, *(one.last_heartbeat for one in detail.executions)]
    return Evidence(
        exists=job.exists,
        status=job.status,
        listed_in=frozenset(detail.scores),
        queued_times=detail.queued_times,
        in_intermediate=detail.in_intermediate,
        is_readable=isinstance(job.call, Call),
        is_rate_limited=job.is_rate_limited,
        is_confusable=is_confusable(detail.queue, job.job_id),
        newest_kind=newest.kind if newest else None,
        newest_text=newest.text if newest else None,
        newest_at=newest.created_at if newest else None,
        succeeded_at=max(filter(None, successes), default=None),
        created_at=job.created_at,
        enqueued_at=job.enqueued_at,
        started_at=job.started_at,
        first_started_at=_first_start(detail),
        earlier_runs_may_have_acted=_earlier_runs_may_have_acted(detail),
        timeout_seconds=job.timeout_seconds,
        retries_left=job.retries_left,
        repeats_left=job.repeats_left,
        last_sign_of_life=max(filter(None, beats), default=None),
        executions=len(detail.executions),
        lease_until=max(leases, default=None),
        worker=_worker_sign(detail),
    )


def _worker_sign(detail: JobDetail) -> WorkerSign:
    """What is seen of the worker that the job names; nothing when another one may be running it by now."""
    worker, started_at = detail.worker, detail.job.started_at
    if worker is None or any(one.worker_name not in (None, worker.name) for one in detail.executions):
        return WorkerSign.UNKNOWN
    is_another = worker.born_at is not None and started_at is not None and worker.born_at > started_at
    if not worker.exists or is_another:
        return WorkerSign.MISSING
    if worker.died_at is not None:
        return WorkerSign.DIED
    return WorkerSign.IDLE if worker.state == "idle" else WorkerSign.ALIVE


def _earlier_runs_may_have_acted(detail: JobDetail) -> bool:
    """Whether a run before the last one may have entered the function.

    Runs that RQ repeats by itself leave no result (rq.md, A1), so with retries set there may have been any.
    """
    return _has_unrecorded_runs(detail) or any(
        one.kind is not ResultKind.FAILED or read_failure(one.text).reach is not Reach.NEVER_ENTERED
        for one in detail.results[1:]
    )


def _first_start(detail: JobDetail) -> datetime | None:
    """The earliest start on record, or the job's creation where a run before may have left no record."""
    starts = [one.started_at for one in detail.results]
    if _has_unrecorded_runs(detail) or None in starts:
        return detail.job.created_at
    return min(filter(None, [*starts, detail.job.started_at]), default=detail.job.created_at)


def _has_unrecorded_runs(detail: JobDetail) -> bool:
    return (
        detail.job.retries_left is not None
        or detail.results_total > len(detail.results)
        or _results_may_have_run_out(detail)
    )


def _results_may_have_run_out(detail: JobDetail) -> bool:
    """A job that waited longer than a failure is kept, after a requeue, has lost the results of its earlier runs."""
    kept, created = detail.job.failure_ttl_seconds, detail.job.created_at
    if not kept or kept <= 0:
        return False
    oldest = detail.results[-1].created_at if detail.results else None
    return oldest is None or created is None or (oldest - created).total_seconds() > kept
