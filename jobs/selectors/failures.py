"""The failed list: rows found in the index of failures, and what has become of each, confirmed in Redis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from jobs.broker.errors import BrokerUnavailable
from jobs.broker.records import JobHash, seen_token
from jobs.broker.rows import read_states
from jobs.domain.arguments import Argument, still_shown
from jobs.domain.findings import Finding
from jobs.domain.idempotency import Idempotency
from jobs.domain.notices import Level, Notice
from jobs.domain.ticks import Tick
from jobs.domain.watch_state import Watch, WatchState, connection_watch_warnings, watch_warnings
from jobs.judging import idempotency_of
from jobs.models import FailedJob, JobType, Queue, Resolution
from jobs.permissions import Visibility
from jobs.selectors import failure_index
from jobs.selectors.failure_index import COUNTED, Place, Wanted
from jobs.selectors.layered_rows import RowOperation, operations_of_rows
from jobs.selectors.observer import observer_health
from jobs.selectors.stored import hidden_since, stored_line
from jobs.selectors.texts import declared_ids

FAILED_STATUSES = frozenset({"failed", "stopped"})


@dataclass(frozen=True, kw_only=True)
class FailureRow:
    """One row. `state` is a key of the words table; `note` says what is odd about it, or ''."""

    connection: str
    queue: str
    job_id: str
    can_open: bool
    tick: str
    """What the row is sent as when it is ticked, with the token of the failure that is shown; '' for none."""
    state: str
    note: str
    function: str | None
    ids: tuple[Argument, ...]
    error: str
    idempotency: Idempotency
    layered: RowOperation | None
    """The operation that it delivers; None for a plain job."""
    failed_at: datetime | None
    """As Redis says it; None where it does not, and the row stands where it was noticed."""
    gone_at: datetime | None
    """When it was first seen to be no longer in Redis, though nobody deleted it here."""


@dataclass(frozen=True, kw_only=True)
class FailurePage:
    """One page of the failed list. `newer` and `older` are places for the address, None where there is nothing more."""

    connection: str
    queue: str | None
    queues: tuple[Queue, ...]
    """What the list could be narrowed to; those without a record, which only superusers see, are unsaved ones."""
    rows: tuple[FailureRow, ...]
    total: int
    newer: str | None
    older: str | None
    is_first: bool
    hidden_by_filter: int
    """How many would be there if nothing were narrowed, where nothing is left of them."""
    unreachable: str
    """Why the job store does not answer, or '': then the rows are as they were recorded."""
    recorded_at: datetime | None
    """When the observer last looked for new failures here."""
    notices: tuple[Notice, ...]
    """What is missing, as far as the observer is late, absent or not done."""
    types: Sequence[str]
    errors: Sequence[str]
    findings: Sequence[str]

    @property
    def is_capped(self) -> bool:
        return self.total > COUNTED

    @property
    def counted(self) -> int:
        """As far as was counted."""
        return min(self.total, COUNTED)


def failed_page(
    seen: Visibility, wanted: Wanted, queue: Queue | None, *, after: Place | None, before: Place | None, now: datetime
) -> FailurePage:
    """Failed jobs of one queue, or of all that one may see, newest first. One round trip, none where there is no row.

    A store that does not answer takes nothing from the list but what has become of its jobs since.
    """
    queues = _visible_queues(seen, wanted.connection)
    names = [queue.name] if queue else [one.name for one in queues]
    wanted = failure_index.steered(wanted, names)
    found = failure_index.read_page(wanted, names, after=after, before=before)
    total = failure_index.count(wanted, names)
    jobs, unreachable = _confirmed(wanted.connection, found.rows)
    watch = observer_health(now)
    return FailurePage(
        connection=wanted.connection,
        queue=queue.name if queue else None,
        queues=tuple(queues),
        rows=_rows(wanted.connection, found.rows, jobs, is_live=not unreachable),
        total=total,
        newer=found.first.encode() if found.first else None,
        older=found.last.encode() if found.last else None,
        is_first=not (after or before),
        hidden_by_filter=failure_index.count(_unnarrowed(wanted), names) if wanted.is_narrowed and not total else 0,
        unreachable=unreachable,
        recorded_at=watch.report_of(wanted.connection).passed_at,
        notices=_watch_notices(watch, wanted.connection),
        types=_choices("job_type", wanted, names),
        errors=_choices("error_class", wanted, names),
        findings=_choices("finding", wanted, names),
    )


def _choices(column: str, wanted: Wanted, names: Sequence[str]) -> list[str]:
    """What there is, and what is asked for though there is none."""
    asked = wanted.exact.get(column)
    return sorted({*failure_index.choices(column, wanted, names), *([asked] if asked else [])})


def _unnarrowed(wanted: Wanted) -> Wanted:
    return Wanted(connection=wanted.connection, with_closed=wanted.with_closed)


def _watch_notices(watch: Watch, connection: str) -> tuple[Notice, ...]:
    if watch.state_of(connection) is WatchState.STARTING:
        return (Notice(Level.HINT, _("The observer has begun, and has not looked here yet.")),)
    return (*watch_warnings(watch), *connection_watch_warnings(watch, connection))


def _visible_queues(seen: Visibility, connection: str) -> list[Queue]:
    """By name: those on record, and for who may see everything those of which only a failure is."""
    queues = {one.name: one for one in seen.queues if one.connection == connection}
    for name in failure_index.indexed_queues(connection) if seen.everything else ():
        queues.setdefault(name, Queue(connection=connection, name=name))
    return sorted(queues.values(), key=lambda one: one.name)


def _confirmed(connection: str, rows: Sequence[FailedJob]) -> tuple[Mapping[str, JobHash], str]:
    """What Redis says now of the jobs that can be asked for by their id; and why it says nothing, or ''."""
    ids = sorted({row.job_id for row in rows if row.can_open})
    if not ids:
        return {}, ""
    try:
        return {job.job_id: job for job in read_states(connection, ids)}, ""
    except BrokerUnavailable as error:
        return {}, error.cause


def _rows(
    connection: str, rows: Sequence[FailedJob], jobs: Mapping[str, JobHash], *, is_live: bool
) -> tuple[FailureRow, ...]:
    types = JobType.objects.in_bulk({row.job_type for row in rows if row.job_type}, field_name="path")
    delivered = operations_of_rows(connection, {(row.queue, row.job_id): row.job_type for row in rows})
    return tuple(
        _row(
            row,
            jobs.get(row.job_id),
            types.get(row.job_type),
            delivered.get((row.queue, row.job_id)),
            is_live=is_live,
        )
        for row in rows
    )


def _row(
    row: FailedJob, job: JobHash | None, declared: JobType | None, layered: RowOperation | None, *, is_live: bool
) -> FailureRow:
    state, note = _now(row, job) if job else _recorded(row)
    return FailureRow(
        connection=row.connection,
        queue=row.queue,
        job_id=row.job_id,
        can_open=row.can_open,
        tick=_tick(row) if is_live else "",
        state=state,
        note=" ".join(filter(None, (_said(row), note))),
        function=row.job_type or None,
        ids=still_shown(row.ids, declared_ids(declared)),
        error=stored_line(row.error_line, hidden_since(row, declared)),
        idempotency=idempotency_of(declared),
        layered=layered,
        failed_at=_failed_at(row),
        gone_at=row.left_at if row.place == FailedJob.Place.GONE and state == Finding.GONE else None,
    )


def _tick(row: FailedJob) -> str:
    is_there = row.can_open and row.place == FailedJob.Place.FAILED
    return Tick(row.queue, row.job_id, row.seen).encode() if is_there else ""


def _failed_at(row: FailedJob) -> datetime | None:
    """The time on record. A row without one, or with one that is ahead, stands in the list where it was noticed."""
    if row.failed_at != row.noticed_at:
        return row.failed_at
    return row.ended_at if row.ended_at and row.ended_at >= row.noticed_at else None


def _said(row: FailedJob) -> str:
    """What a person said of it in a review, in a word or two."""
    return _("Resolved: %(verdict)s.") % {"verdict": Resolution.Verdict(row.verdict).label} if row.verdict else ""


def _recorded(row: FailedJob) -> tuple[str, str]:
    """State and note as the index has them."""
    return (row.finding, row.note) if row.place == FailedJob.Place.FAILED else (row.place, "")


def _now(row: FailedJob, job: JobHash) -> tuple[str, str]:
    """State and note of what Redis holds now under the id. A job of another queue is none that this row speaks of."""
    if not job.exists or job.origin not in (None, row.queue):
        return _without_job(row)
    if _is_as_recorded(row, job):
        return _recorded(row)
    if job.status is None:
        return Finding.UNRECOGNISED, _("Most of its data is gone.")
    if job.created_at != row.created_at:
        return Finding.GONE, _("Its id is used by a newer job now.")
    if job.status in FAILED_STATUSES:
        return job.status, _("It failed again since this was recorded.")
    return job.status, _still_listed(row, job.status)


def _without_job(row: FailedJob) -> tuple[str, str]:
    if row.place == FailedJob.Place.DELETED or row.finding == Finding.GONE or not row.can_open:
        return _recorded(row)
    return Finding.GONE, "" if row.place == FailedJob.Place.GONE else _("Its data is gone from Redis.")


def _is_as_recorded(row: FailedJob, job: JobHash) -> bool:
    """Whether the job still is what was indexed. Of a failed one the token is its result's id, which is not read here;
    but no run leaves the job's times as they were.
    """
    if job.status not in FAILED_STATUSES or row.seen.startswith("-"):
        return row.seen == seen_token(job, None)
    recorded = (row.created_at, row.enqueued_at, row.started_at, row.ended_at)
    return "@" not in row.seen and recorded == (job.created_at, job.enqueued_at, job.started_at, job.ended_at)


def _still_listed(row: FailedJob, status: str) -> str:
    if row.place != FailedJob.Place.FAILED:
        return ""
    return _("It is still listed here, but is now %(status)s.") % {"status": status[:40]}
