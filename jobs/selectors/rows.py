"""Rows of job lists as pages show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from jobs.broker.fields import epoch
from jobs.broker.records import JobHash, ListedJob, Result, ResultKind
from jobs.domain.arguments import Argument
from jobs.domain.calls import Unreadable
from jobs.domain.evidence import Evidence
from jobs.domain.findings import Finding, judge
from jobs.domain.idempotency import Idempotency
from jobs.domain.ticks import Tick
from jobs.judging import declared_types, function_path, idempotency_of
from jobs.models import NAME_LENGTH, JobType
from jobs.selectors.layered_rows import RowOperation, operations_of_rows
from jobs.selectors.texts import Masks, arguments_of, masks_of, one_line


@dataclass(frozen=True, kw_only=True)
class JobRow:
    """One row. `state` is a key of the words table (a Finding); `note` says what is odd about the row, or ''."""

    connection: str
    queue: str
    job_id: str
    can_open: bool
    seen: str
    """The token of what the list shows of it; an act on a ticked row is refused when it is another by then."""
    state: str
    note: str
    function: str | None
    ids: tuple[Argument, ...]
    hidden_arguments: int
    error: str
    idempotency: Idempotency
    layered: RowOperation | None
    """The operation that it delivers; None for a plain job."""
    created_at: datetime | None
    enqueued_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    failed_at: datetime | None
    """When the run ended, or when RQ recorded that it had: a stopped job has no end time."""
    score_at: datetime | None
    """The registry's own time: when a scheduled job is due, until when a running one holds its lease."""
    worker_name: str | None
    position: int | None = None

    @property
    def tick(self) -> str:
        """What the row is sent as when it is ticked; '' for a job that nobody can act on from here."""
        can_be_told = self.can_open and "\0" not in self.queue + self.job_id
        return Tick(self.queue, self.job_id, self.seen).encode() if can_be_told else ""


def job_rows(connection: str, listed_as: str, rows: Sequence[ListedJob], now: datetime) -> tuple[JobRow, ...]:
    """Rows of one list of `connection` (`listed_as`: queued, failed, started …), in the given order.

    Of failed ones two queries more for the operations that they deliver, and three where there are any.
    """
    at_home = [row for row in rows if _is_at_home(row)]
    types = declared_types(row.job.call for row in at_home)
    jobs = {(row.queue, row.job.job_id): function_path(row.job.call) for row in at_home if listed_as == "failed"}
    delivered = operations_of_rows(connection, jobs)
    return tuple(
        _job_row(connection, listed_as, row, types, delivered.get((row.queue, row.job.job_id)), now) for row in rows
    )


def _job_row(
    connection: str,
    listed_as: str,
    row: ListedJob,
    types: Mapping[str, JobType],
    layered: RowOperation | None,
    now: datetime,
) -> JobRow:
    job = row.job if _is_at_home(row) else _stranger(row.job)
    declared = types.get(function_path(job.call) or "")
    arguments = arguments_of(job.call, declared)
    state = _state(listed_as, row, now) if _is_at_home(row) else Finding.UNRECOGNISED
    return JobRow(
        connection=connection,
        queue=row.queue,
        job_id=job.job_id,
        can_open=_is_at_home(row) and len(job.job_id) <= NAME_LENGTH,
        seen=row.seen,
        state=state,
        note=_note(listed_as, row, state),
        function=function_path(job.call),
        ids=tuple(one for one in arguments if one.value is not None),
        hidden_arguments=sum(1 for one in arguments if one.value is None),
        error=_error(row.newest_result, masks_of(job.call, declared)),
        idempotency=idempotency_of(declared),
        layered=layered,
        created_at=job.created_at,
        enqueued_at=job.enqueued_at,
        started_at=job.started_at,
        ended_at=job.ended_at,
        failed_at=job.ended_at or (row.newest_result.created_at if row.newest_result else None),
        score_at=_score_time(listed_as, row),
        worker_name=job.worker_name,
        position=row.rank if listed_as == "queued" else None,
    )


def _error(result: Result | None, masks: Masks) -> str:
    if result is not None and result.kind is ResultKind.MAX_RETRIES_EXCEEDED and result.error is None:
        return "It asked to be run again; its retries are used up."
    return one_line(result, masks) if result else ""


def _is_at_home(row: ListedJob) -> bool:
    """A job listed under a queue that is not its own is not for the eyes of those who may only see this queue."""
    return row.job.origin is None or row.job.origin == row.queue


def _stranger(job: JobHash) -> JobHash:
    return JobHash(job_id=job.job_id, exists=True, call=Unreadable("it belongs to another queue"))


def _state(listed_as: str, row: ListedJob, now: datetime) -> str:
    job, newest = row.job, row.newest_result
    if job.status == "failed" and newest is None:
        # The list has not seen its result; that says nothing about how the run ended.
        return "failed"
    evidence = Evidence(
        exists=job.exists,
        status=job.status,
        listed_in=frozenset({listed_as}),
        queued_times=1 if listed_as == "queued" else None,
        newest_kind=newest.kind if newest else None,
        newest_text=newest.text if newest else None,
        succeeded_at=newest.ended_at or newest.created_at if newest and newest.kind == "successful" else None,
        started_at=job.started_at,
        timeout_seconds=job.timeout_seconds,
        retries_left=job.retries_left,
        repeats_left=job.repeats_left,
        lease_until=_score_time(listed_as, row) if listed_as == "started" else None,
    )
    return judge(evidence, now).finding


def _score_time(listed_as: str, row: ListedJob) -> datetime | None:
    return epoch(row.score) if listed_as in ("scheduled", "started") else None


def _note(listed_as: str, row: ListedJob, state: str) -> str:
    if not _is_at_home(row):
        return "It is listed here, but belongs to another queue."
    if state == Finding.GONE:
        return "Its data is gone; only its id is still listed."
    if len(row.job.job_id) > NAME_LENGTH:
        return f"Its id is too long to be opened: only up to {NAME_LENGTH} characters are supported."
    if row.job.status is None:
        return "Most of its data is gone."
    if row.job.status not in _EXPECTED[listed_as]:
        return f"It is still listed here, but is now {row.job.status[:40]}."
    if isinstance(row.job.call, Unreadable):
        return f"Its stored call can't be read: {row.job.call.reason}."
    return ""


_EXPECTED = {
    "queued": {"queued"},
    "started": {"started"},
    "failed": {"failed", "stopped"},
    "finished": {"finished"},
    "scheduled": {"scheduled"},
    "deferred": {"deferred"},
    "canceled": {"canceled"},
}
"""The statuses under which a job belongs in each list."""
