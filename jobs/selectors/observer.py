"""Whether what the observer records can be relied on, for the pages that show it and for the page of its own."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from jobs.domain.watch import WatchReport
from jobs.domain.watch_state import Watch
from jobs.models import ObserverState


def observer_health(now: datetime) -> Watch:
    """What is on record of the observer. One query.

    `watch.state_of(connection)` says how it stands there, domain.watch_state has the sentences.
    """
    return _watch(ObserverState.objects.first(), now)


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
