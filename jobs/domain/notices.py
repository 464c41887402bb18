"""What is wrong with a queue or a job store, worst first; each warning is one sentence for the overview."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import IntEnum

OLD = timedelta(minutes=10)
"""A job that waits longer than this is worth a look."""
CLOCKS_APART = timedelta(seconds=5)


class Level(IntEnum):
    """How much a warning matters: HINT can wait, WARNING wants a look, ALARM wants a hand."""

    HINT = 1
    WARNING = 2
    ALARM = 3

    @property
    def word(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, order=True)
class Notice:
    """One warning."""

    level: Level
    sentence: str


def queue_warnings(
    *,
    queued: int,
    scheduled: int,
    expired_leases: int,
    workers_alive: int,
    has_scheduler: bool,
    oldest_age: timedelta | None,
    overdue: timedelta | None,
) -> tuple[Notice, ...]:
    """The warnings about one queue. `overdue`: how long ago the next scheduled job should have been queued."""
    found = []
    if queued and not workers_alive:
        found.append(Notice(Level.ALARM, f"{_jobs(queued)} waiting and no worker listens to this queue."))
    if expired_leases:
        found.append(Notice(Level.ALARM, f"{_runs(expired_leases)} gave no sign of life in time: result unknown."))
    if scheduled and not has_scheduler:
        level = Level.ALARM if overdue and overdue > timedelta(0) else Level.WARNING
        found.append(Notice(level, f"{_jobs(scheduled)} scheduled and no scheduler runs for this queue."))
    elif overdue and overdue > timedelta(minutes=2):
        found.append(Notice(Level.WARNING, "Scheduled jobs are overdue although a scheduler runs."))
    if oldest_age and oldest_age > OLD and workers_alive:
        found.append(Notice(Level.WARNING, f"The oldest job has been waiting for over {_minutes(oldest_age)}."))
    return tuple(sorted(found, reverse=True))


def store_warnings(
    *, may_drop_jobs: bool, eviction_policy: str | None, workers_suspended: bool, clock_ahead: timedelta | None
) -> tuple[Notice, ...]:
    """The warnings about one job store."""
    found = []
    if may_drop_jobs:
        found.append(
            Notice(
                Level.ALARM,
                f"Redis may drop job data when memory is short (maxmemory-policy {eviction_policy}); set noeviction.",
            )
        )
    if workers_suspended:
        found.append(Notice(Level.WARNING, "All workers are suspended (rq suspend): nothing is begun."))
    if clock_ahead is not None and abs(clock_ahead) > CLOCKS_APART:
        side = "ahead of" if clock_ahead > timedelta(0) else "behind"
        seconds = int(abs(clock_ahead).total_seconds())
        found.append(Notice(Level.WARNING, f"Redis's clock is {seconds} s {side} ours; ages may be wrong by that."))
    return tuple(sorted(found, reverse=True))


def review_warnings(*, overdue: int) -> tuple[Notice, ...]:
    """The warnings about reviews that nobody has answered in time."""
    if not overdue:
        return ()
    are = "1 review is" if overdue == 1 else f"{overdue} reviews are"
    return (Notice(Level.WARNING, f"{are} older than the age limit."),)


def incident_warnings(*, contradicted: int) -> tuple[Notice, ...]:
    """The warning about operations with contradicting evidence: something may have happened twice."""
    if not contradicted:
        return ()
    have = "1 operation has" if contradicted == 1 else f"{contradicted} operations have"
    sentence = f"{have} contradicting evidence of the last 7 days: an effect may have happened twice."
    return (Notice(Level.ALARM, sentence),)


def _jobs(count: int) -> str:
    return "1 job is" if count == 1 else f"{count} jobs are"


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"


def _minutes(age: timedelta) -> str:
    minutes = int(age.total_seconds() // 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h"


def oldest_age(oldest: datetime | None, now: datetime) -> timedelta | None:
    """Age of the oldest waiting job, never negative."""
    return max(now - oldest, timedelta(0)) if oldest else None
