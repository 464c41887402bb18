"""Whether what the observer records can be relied on, for the pages that show it and for the page of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Count

from jobs.domain.notices import Notice
from jobs.domain.watch import WatchReport
from jobs.domain.watch_state import Watch, WatchState, connection_watch_warnings, fill_percent, watch_warnings
from jobs.ledger.observing import retention_days
from jobs.models import AuditEntry, ObserverState
from jobs.permissions import Permission, Visibility, may
from jobs.selectors.incidents import Repeats, repeats_skipped
from jobs.selectors.lists import visible_connections


@dataclass(frozen=True, kw_only=True)
class WatchedStore:
    """One connection as the observer last saw it.

    `percent` of a sweep that fills the index. `total`: how many entries that sweep meets, told only to who may see all
    the queues that they are of.
    """

    connection: str
    state: WatchState
    report: WatchReport
    percent: int | None
    total: int | None


@dataclass(frozen=True, kw_only=True)
class ObserverPage:
    """The page. `notices`: what is wrong with the observer, as a whole or with one of these stores.

    `host` and `pid` of the observer that leads, for who may read the audit: they name a machine. `open_acts`: acts in
    visible queues whose answer is not known yet, by connection.
    """

    watch: Watch
    notices: tuple[Notice, ...]
    stores: tuple[WatchedStore, ...]
    leads_since: datetime | None
    lease_until: datetime | None
    host: str
    pid: int | None
    open_acts: dict[str, int]
    repeats: tuple[Repeats, ...]
    """Deliveries of operations that were not needed, by cause."""
    retention_days: int
    may_read_audit: bool

    @property
    def level(self) -> str:
        """The worst of what is wrong with it (a Level's word), or ok."""
        if self.notices:
            return max(self.notices).level.word
        return "hint" if self.watch.state is WatchState.STARTING else "ok"


def observer_health(now: datetime) -> Watch:
    """What is on record of the observer. One query.

    `watch.state_of(connection)` says how it stands there; jobs.domain.watch_state has the sentences.
    """
    return _watch(ObserverState.objects.first(), now)


def observer_page(user: User, visibility: Visibility, now: datetime) -> ObserverPage:
    """How the observer stands, and with each connection on which one may see anything. Asks no job store."""
    state, may_read_audit = ObserverState.objects.first(), may(user, Permission.VIEW_AUDIT)
    watch = _watch(state, now)
    leads = state is not None and watch.leads_since is not None
    names = visible_connections(visibility)
    of_stores = (notice for name in names for notice in connection_watch_warnings(watch, name))
    return ObserverPage(
        watch=watch,
        notices=(*watch_warnings(watch), *of_stores),
        stores=tuple(_store(watch, name, visibility) for name in names),
        leads_since=watch.leads_since,
        lease_until=state.lease_until if state and leads else None,
        host=state.host if state and leads and may_read_audit else "",
        pid=state.pid if state and leads and may_read_audit else None,
        open_acts=_open_acts(visibility),
        repeats=repeats_skipped(visibility, now),
        retention_days=retention_days(),
        may_read_audit=may_read_audit,
    )


def _watch(state: ObserverState | None, now: datetime) -> Watch:
    if state is None:
        return Watch(now=now, reports={})
    is_led = state.lease_until is not None and state.lease_until > now
    return Watch(
        now=now,
        last_pass_at=state.last_pass_at,
        leads_since=state.leads_since if is_led else None,
        reports=_reports(state.report),
    )


def _reports(stored: Mapping[str, Any]) -> dict[str, WatchReport]:
    return {connection: WatchReport.from_json(report) for connection, report in stored.items()}


def _store(watch: Watch, connection: str, visibility: Visibility) -> WatchedStore:
    report = watch.report_of(connection)
    return WatchedStore(
        connection=connection,
        state=watch.state_of(connection),
        report=report,
        percent=fill_percent(report) if report.is_filling else None,
        total=report.total if visibility.everything else None,
    )


def _open_acts(visibility: Visibility) -> dict[str, int]:
    found = (
        AuditEntry.objects.filter(status=AuditEntry.Status.INTENDED)
        .values_list("connection", "queue")
        .annotate(Count("pk"))
        .order_by()
    )
    acts: dict[str, int] = {}
    for connection, queue, count in found:
        if visibility.sees(connection, queue):
            acts[connection] = acts.get(connection, 0) + count
    return acts
