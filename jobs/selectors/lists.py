"""The lists of one queue by state, as RQ has them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from django.db.models import Q

from jobs.broker import connections
from jobs.broker.cursors import Cursor
from jobs.broker.rows import PAGE_SIZE, JobPage, read_queued, read_registry
from jobs.models import Queue
from jobs.permissions import Visibility
from jobs.selectors.rows import JobRow, job_rows


@dataclass(frozen=True, kw_only=True)
class ListPage:
    """One page of a list. `newer` and `older` are cursors for the address, None where there is nothing more."""

    connection: str
    queue: str
    state: str
    rows: tuple[JobRow, ...]
    total: int
    newer: str | None
    older: str | None
    is_first: bool
    is_out_of_order: bool = False
    """Some rows are kept for another time than the rest, so that RQ files them out of the order of their failing."""


def registry_page(queue: Queue, state: str, *, after: Cursor | None, before: Cursor | None, now: datetime) -> ListPage:
    """One queue's jobs in the registry `state`. Raises BrokerUnavailable."""
    page = read_registry(
        queue.connection, state, [queue.name], after=after, before=before, with_errors=state == "failed"
    )
    return _list_page(queue.connection, queue.name, state, page, now, is_first=not (after or before))


def queued_page(queue: Queue, *, start: int, now: datetime) -> ListPage:
    """One queue's waiting jobs from position `start`, the next to run first. Raises BrokerUnavailable."""
    rows, total = read_queued(queue.connection, queue.name, start=start)
    return ListPage(
        connection=queue.connection,
        queue=queue.name,
        state="queued",
        rows=job_rows(queue.connection, "queued", rows, now),
        total=total,
        newer=str(max(0, start - PAGE_SIZE)) if start else None,
        older=str(start + PAGE_SIZE) if start + PAGE_SIZE < total else None,
        is_first=start == 0,
    )


def recorded_queue_names(visibility: Visibility, connection: str) -> list[str]:
    """The queues of a connection that are on record and that one may see."""
    return sorted(queue.name for queue in visibility.queues if queue.connection == connection)


def visible_connections(visibility: Visibility) -> list[str]:
    """The configured connections on which one may see anything."""
    seen = {queue.connection for queue in visibility.queues}
    return [name for name in connections.names() if visibility.everything or name in seen]


def _list_page(connection: str, queue: str, state: str, page: JobPage, now: datetime, *, is_first: bool) -> ListPage:
    rows = job_rows(connection, state, page.rows, now)
    ended = [row.failed_at for row in rows if row.failed_at]
    return ListPage(
        connection=connection,
        queue=queue,
        state=state,
        rows=rows,
        total=page.total,
        newer=page.newer.encode() if page.newer else None,
        older=page.older.encode() if page.older else None,
        is_first=is_first,
        is_out_of_order=state == "failed" and not _is_falling(ended),
    )


def _is_falling(times: list[datetime]) -> bool:
    """Newest first, give or take the second to which RQ rounds."""
    return all((later - earlier).total_seconds() > -2 for later, earlier in pairwise(times))


def in_visible_queues(seen: Visibility, prefix: str = "") -> Q:
    """What narrows rows to the queues that may be seen. `prefix`: of the fields connection and queue, up to them."""
    if seen.everything:
        return Q()
    names: dict[str, list[str]] = {}
    for queue in seen.queues:
        names.setdefault(queue.connection, []).append(queue.name)
    allowed = Q(pk__in=[])
    for connection, queues in names.items():
        allowed |= Q(**{f"{prefix}connection": connection, f"{prefix}queue__in": queues})
    return allowed
