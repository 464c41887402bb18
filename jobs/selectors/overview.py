"""The overview: one verdict, then every visible queue with what is wrong with it, the worst first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from urllib.parse import urlencode

from jobs.broker.errors import BrokerUnavailable
from jobs.broker.queues import read_overview
from jobs.broker.records import QueueCounts, ServerHealth
from jobs.domain.notices import (
    Notice,
    incident_warnings,
    oldest_age,
    queue_warnings,
    review_warnings,
    store_warnings,
)
from jobs.domain.watch_state import Watch, connection_watch_warnings, watch_warnings
from jobs.permissions import Visibility
from jobs.selectors.each import read_each
from jobs.selectors.incidents import contradicted_operations
from jobs.selectors.lists import visible_connections
from jobs.selectors.observer import observer_health
from jobs.selectors.review_counts import ReviewCount, open_review_counts


@dataclass(frozen=True, kw_only=True)
class QueueRow:
    """One queue. `counts` by state: queued, started, failed, finished, scheduled, deferred, canceled."""

    connection: str
    name: str
    counts: dict[str, int]
    oldest_enqueued_at: datetime | None
    next_due_at: datetime | None
    workers_alive: int
    has_scheduler: bool
    open_reviews: int
    notices: tuple[Notice, ...]

    @property
    def review_query(self) -> str:
        """What narrows the review queue to this one."""
        return urlencode({"queue": self.name, "connection": self.connection})

    @property
    def badness(self) -> tuple[int, int, int, int]:
        """For sorting: the worst notice, then reviews, then failures, then what waits."""
        worst = self.notices[0].level if self.notices else 0
        return (worst, self.open_reviews, self.counts["failed"], self.counts["queued"])


@dataclass(frozen=True, kw_only=True)
class StoreRow:
    """One connection: unreachable with its reason, or its notices and its queues."""

    connection: str
    unreachable: str
    notices: tuple[Notice, ...]
    queues: tuple[QueueRow, ...]


@dataclass(frozen=True, kw_only=True)
class Overview:
    """The page. `level` is the worst of everything (a Level's word, or ok); `verdict` its sentence."""

    level: str
    verdict: str
    stores: tuple[StoreRow, ...]
    totals: dict[str, int]
    queues_total: int
    watch: Watch
    watch_notices: tuple[Notice, ...]
    """What is wrong with the observer as a whole; what is wrong with it on one connection stands there."""
    review_notices: tuple[Notice, ...]
    incident_notices: tuple[Notice, ...]
    incident: str
    """The id of the newest operation with contradicting evidence; '' without one."""

    @property
    def is_complete(self) -> bool:
        return not any(store.unreachable for store in self.stores)


def overview(visibility: Visibility, now: datetime) -> Overview:
    """Every queue that one may see, on every connection. Never raises for a store that does not answer.

    Three queries: for the open reviews, for contradicting evidence, and for the observer.
    """
    names = visible_connections(visibility)
    found = read_each(names, lambda name: read_overview(name, lambda queue: visibility.sees(name, queue), now))
    reviews, watch = open_review_counts(visibility, now), observer_health(now)
    stores = tuple(_store(name, found[name], reviews, watch) for name in names)
    rows = [row for store in stores for row in store.queues]
    incidents = contradicted_operations(visibility, now)
    overall = (
        watch_warnings(watch),
        review_warnings(overdue=sum(one.overdue for one in reviews.values())),
        incident_warnings(contradicted=len(incidents)),
    )
    level, verdict = _verdict(stores, rows, [*chain(*overall)], sum(one.open for one in reviews.values()))
    states = ("queued", "started", "failed", "finished", "scheduled", "deferred", "canceled")
    return Overview(
        level=level,
        verdict=verdict,
        stores=stores,
        totals={state: sum(row.counts[state] for row in rows) for state in states},
        queues_total=len(rows),
        watch=watch,
        watch_notices=overall[0],
        review_notices=overall[1],
        incident_notices=overall[2],
        incident=incidents[0] if incidents else "",
    )


def _store(
    name: str,
    found: tuple[ServerHealth, tuple[QueueCounts, ...]] | BrokerUnavailable,
    reviews: Mapping[tuple[str, str], ReviewCount],
    watch: Watch,
) -> StoreRow:
    if isinstance(found, BrokerUnavailable):
        return StoreRow(connection=name, unreachable=found.cause, notices=(), queues=())
    health, counts = found
    notices = store_warnings(
        may_drop_jobs=health.may_drop_jobs,
        eviction_policy=health.eviction_policy,
        workers_suspended=health.workers_suspended,
        clock_ahead=health.time - watch.now if health.time else None,
    )
    rows = [_row(one, reviews.get((name, one.name), ReviewCount()), watch.now) for one in counts]
    return StoreRow(
        connection=name,
        unreachable="",
        notices=(*notices, *connection_watch_warnings(watch, name)),
        queues=tuple(sorted(rows, key=lambda row: row.badness, reverse=True)),
    )


def _row(counts: QueueCounts, reviews: ReviewCount, now: datetime) -> QueueRow:
    notices = queue_warnings(
        queued=counts.queued,
        scheduled=counts.counts["scheduled"],
        expired_leases=counts.expired_leases,
        workers_alive=counts.workers_alive,
        has_scheduler=counts.has_scheduler,
        oldest_age=oldest_age(counts.oldest_enqueued_at, now),
        overdue=now - counts.next_due_at if counts.next_due_at else None,
    )
    return QueueRow(
        connection=counts.connection,
        name=counts.name,
        counts={"queued": counts.queued, **counts.counts},
        oldest_enqueued_at=counts.oldest_enqueued_at,
        next_due_at=counts.next_due_at,
        workers_alive=counts.workers_alive,
        has_scheduler=counts.has_scheduler,
        open_reviews=reviews.open,
        notices=notices,
    )


def _verdict(
    stores: Sequence[StoreRow], rows: Sequence[QueueRow], overall: Sequence[Notice], open_reviews: int
) -> tuple[str, str]:
    """The worst thing first, with its cause; then reviews and failures; else that all is well."""
    silent = [store for store in stores if store.unreachable]
    if silent:
        return "alarm", f"The job store “{silent[0].connection}” can't be reached: {silent[0].unreachable}."
    named = [("", notice) for store in stores for notice in store.notices]
    named += [(f"{row.name}: ", notice) for row in rows for notice in row.notices]
    named += [("", notice) for notice in overall]
    rest = " ".join(filter(None, (_reviews(open_reviews), _failures(sum(row.counts["failed"] for row in rows)))))
    if named:
        place, worst = max(named, key=lambda pair: pair[1].level)
        return worst.level.word, f"{place}{worst.sentence} {rest}".strip()
    return ("hint", rest) if rest else ("ok", "Nothing has failed, and every queue with work has a worker.")


def _reviews(count: int) -> str:
    if count == 0:
        return ""
    return "1 review is open." if count == 1 else f"{count} reviews are open."


def _failures(count: int) -> str:
    if count == 0:
        return ""
    return "1 job has failed." if count == 1 else f"{count} jobs have failed."
