"""What proves afterwards that a run came to its end, though nobody heard of it in time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from jobs.broker import fields
from jobs.broker.records import JobDetail, Result, ResultKind
from jobs.domain.failures import Reach, read_failure
from jobs.domain.runs import START_UP


@dataclass(frozen=True, kw_only=True)
class Success:
    """A run that returned: the result that says so ('' where the job's own state does), when, and on which worker."""

    result_id: str
    ended_at: datetime | None
    worker_name: str | None


def success_of(detail: JobDetail, run: str) -> Success | None:
    """The proof that the job's run of this name (JobDetail.run) returned; None without one.

    Never that of another run: two may be on record, and even have worked side by side.
    """
    began = fields.time(run.rpartition("/")[2].encode())
    returned = [one for one in detail.results if _has_returned(one)]
    for one in returned:
        if _is_of(one, began):
            return Success(result_id=one.id, ended_at=one.ended_at, worker_name=one.worker_name)
    if detail.job.status == "finished" and detail.run == run and not returned:
        return Success(result_id="", ended_at=detail.job.ended_at, worker_name=detail.job.worker_name)
    return None


def _has_returned(result: Result) -> bool:
    """RQ recorded its success, or failed only after the function had returned."""
    if result.kind is ResultKind.FAILED:
        return read_failure(result.text).reach is Reach.RETURNED
    return result.kind is ResultKind.SUCCESSFUL


def _is_of(result: Result, began: datetime | None) -> bool:
    if began is None or result.started_at is None or result.ended_at is None:
        return False
    return result.started_at <= began <= result.ended_at and began - result.started_at < START_UP
