"""Whether the observer keeps up, judged by what it last wrote down of itself; each doubt is one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from jobs.domain.notices import Level, Notice
from jobs.domain.times import split_duration
from jobs.domain.watch import WatchReport

LATE_AFTER = timedelta(seconds=30)
"""It looks for new failures every second; one that has not for so long is late."""
ABSENT_AFTER = timedelta(minutes=1)
"""From then on nobody is expected to look."""


class WatchState(StrEnum):
    """How it stands; each is a key of the words table."""

    KEEPS_UP = "watch_keeps_up"
    FILLING = "watch_filling"
    """It keeps up with what fails now, and has not yet read everything that failed before its first start."""
    KEPT_OUT = "watch_kept_out"
    """It can't read a job store, in whole or in part."""
    STARTING = "watch_starting"
    """It leads, and has not looked yet."""
    LATE = "watch_late"
    ABSENT = "watch_absent"


@dataclass(frozen=True, kw_only=True)
class Watch:
    """What is on record of the observer. `leads_since`: of one whose lease is good, else None."""

    now: datetime
    last_pass_at: datetime | None = None
    leads_since: datetime | None = None
    reports: Mapping[str, WatchReport]

    @property
    def heard_at(self) -> datetime | None:
        """When it last looked, or began to lead."""
        return max(filter(None, (self.last_pass_at, self.leads_since)), default=None)

    @property
    def state(self) -> WatchState:
        """How it stands as a whole: STARTING, LATE, ABSENT or KEEPS_UP."""
        if self.heard_at is None or self.now - self.heard_at > ABSENT_AFTER:
            return WatchState.ABSENT
        if self.now - self.heard_at > LATE_AFTER:
            return WatchState.LATE
        return WatchState.KEEPS_UP if self.heard_at == self.last_pass_at else WatchState.STARTING

    def report_of(self, connection: str) -> WatchReport:
        """What it says of a connection; of one that it never met, a report that says nothing."""
        return self.reports.get(connection, WatchReport())

    def state_of(self, connection: str) -> WatchState:
        """How it stands with one connection; while it does not look at all, that is what there is to say of each."""
        if self.state in (WatchState.ABSENT, WatchState.LATE):
            return self.state
        report = self.report_of(connection)
        if report.error:
            return WatchState.KEPT_OUT
        if report.passed_at is None:
            return WatchState.STARTING
        return WatchState.FILLING if report.is_filling else WatchState.KEEPS_UP


def watch_warnings(watch: Watch) -> tuple[Notice, ...]:
    """What is wrong with the observer as a whole: nothing, or one sentence with the remedy."""
    if watch.state is WatchState.ABSENT:
        return (Notice(Level.ALARM, f"{_silence(watch)} {_MISSED} Start it with manage.py observe."),)
    if watch.state is WatchState.LATE:
        return (Notice(Level.WARNING, f"{_silence(watch)} New failures and unknown results show up late."),)
    return ()


def connection_watch_warnings(watch: Watch, connection: str) -> tuple[Notice, ...]:
    """What is wrong with the observer on one connection, unless something is wrong with it as a whole."""
    report, state = watch.report_of(connection), watch.state_of(connection)
    if state is WatchState.KEPT_OUT:
        return (Notice(Level.WARNING, f"The observer can't read all of “{connection}”: {report.error}"),)
    if state is WatchState.FILLING:
        return (
            Notice(
                Level.HINT,
                f"Older failures of “{connection}” are still being read in{_share(report)}: some are not listed yet.",
            ),
        )
    return ()


def fill_percent(report: WatchReport) -> int | None:
    """How much has been gone through; None before anything was counted. Numbers would tell of every queue there is."""
    return min(99, report.done * 100 // report.total) if report.total else None


_MISSED = "New failures are not listed, and unknown results are noticed by nobody."


def _silence(watch: Watch) -> str:
    if watch.heard_at is None:
        return "No observer has looked yet."
    number, unit = split_duration(watch.now - watch.heard_at)[0]
    return f"The observer has not looked for {number} {unit}."


def _share(report: WatchReport) -> str:
    percent = fill_percent(report)
    return "" if percent is None else f" ({percent} %)"
