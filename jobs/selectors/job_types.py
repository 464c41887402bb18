"""Job types: what is declared, and the function paths that turned up although nobody has declared them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from jobs.broker.errors import BrokerUnavailable
from jobs.broker.records import ListedJob
from jobs.broker.rows import JobPage, read_registry
from jobs.domain.paths import is_dotted_path
from jobs.judging import function_path
from jobs.models import AuditEntry, JobType, Operation
from jobs.permissions import Visibility
from jobs.selectors.each import read_each
from jobs.selectors.lists import recorded_queue_names, visible_connections

RECENT_ACTS = 1000
"""Entries of the audit that are looked through, the newest ones: what is older is no news."""
RECENT_OPERATIONS = 1000
"""The same of operations."""


@dataclass(frozen=True, kw_only=True)
class UndeclaredType:
    """A path that nobody has declared. `failed`: how many of the newest failed jobs call it."""

    path: str
    failed: int
    asked_for_at: datetime | None
    """When somebody last did something about a job of it, or tried to."""
    is_layered: bool = False
    """Its jobs run as operations, whose effects have promises of their own."""

    @property
    def can_be_declared(self) -> bool:
        return is_dotted_path(self.path)


@dataclass(frozen=True, kw_only=True)
class JobTypesPage:
    """The page. `looked_at`: how many failed jobs were read; `unreachable`: each silent store with its cause."""

    declared: tuple[JobType, ...]
    undeclared: tuple[UndeclaredType, ...]
    looked_at: int
    unreachable: tuple[BrokerUnavailable, ...]


def job_types_page(visibility: Visibility) -> JobTypesPage:
    """Every declared type; of the others those that turned up in queues that one may see. Three queries.

    Costs two round trips a store, and a third where queues are to be discovered. A silent store is left out.
    """
    declared = tuple(JobType.objects.select_related("declared_by"))
    answers = _newest_failed(visibility)
    rows = [
        row
        for connection, page in answers.items()
        if not isinstance(page, BrokerUnavailable)
        for row in page.rows
        if visibility.sees(connection, _home(row))
    ]
    return JobTypesPage(
        declared=declared,
        undeclared=_undeclared({one.path for one in declared}, rows, _acted_on(visibility)),
        looked_at=len(rows),
        unreachable=tuple(one for one in answers.values() if isinstance(one, BrokerUnavailable)),
    )


def layered_types() -> set[str]:
    """The types whose jobs run through the job-safety layer, as far as the newest operations show."""
    newest = Operation.objects.exclude(origin=Operation.Origin.PLAIN).order_by("-pk")
    return set(newest.values_list("job_type", flat=True)[:RECENT_OPERATIONS])


def _newest_failed(visibility: Visibility) -> Mapping[str, JobPage | BrokerUnavailable]:
    """A page of failed jobs of each store."""
    stores = visible_connections(visibility)
    queues = {store: recorded_queue_names(visibility, store) for store in stores}
    read = partial(read_registry, state="failed", discover=visibility.everything)
    return read_each(stores, lambda store: read(store, queues=queues[store]))


def _home(row: ListedJob) -> str:
    """The queue whose job it is: RQ may list a job under another one."""
    return row.job.origin or row.queue


def _acted_on(visibility: Visibility) -> dict[str, datetime]:
    """Paths of jobs that people did something about, with the time of the newest act."""
    newest = AuditEntry.objects.values_list("job_type", "connection", "queue", "created_at")[:RECENT_ACTS]
    found: dict[str, datetime] = {}
    for path, connection, queue, at in newest:
        if path and visibility.sees(connection, queue):
            found.setdefault(path, at)
    return found


def _undeclared(
    declared: set[str], rows: Iterable[ListedJob], acted_on: Mapping[str, datetime]
) -> tuple[UndeclaredType, ...]:
    """By how often they failed, then by name."""
    failed = Counter(path for row in rows if (path := function_path(row.job.call)))
    layered = layered_types()
    found = [
        UndeclaredType(path=path, failed=failed[path], asked_for_at=acted_on.get(path), is_layered=path in layered)
        for path in {*failed, *acted_on} - declared
    ]
    return tuple(sorted(found, key=lambda one: (-one.failed, one.path)))
