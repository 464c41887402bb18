"""What the observer does besides the index, and how often: one line each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from jobs.actions.settle import settle_open_entries
from jobs.observer import operations, operations_exits, reviews, unknown
from jobs.observer.prune import prune
from jobs.observer.queues import record_new_queues


@dataclass(frozen=True)
class Duty:
    """Something that is done every so often. It may raise BrokerUnavailable, and is tried again when it is due next."""

    name: str
    every: timedelta
    do: Callable[..., Any]


EACH_PASS = timedelta(0)

PER_CONNECTION: tuple[Duty, ...] = (
    Duty("queues", timedelta(seconds=5), lambda connection, now: record_new_queues(connection)),
    Duty("deliveries", EACH_PASS, operations.deliver),
    Duty("exits", timedelta(seconds=5), operations_exits.take_over_ended),
    Duty("unknown", timedelta(seconds=5), unknown.look),
)
"""Done for each connection that answers: `do(connection, now)`."""

FOR_ALL: tuple[Duty, ...] = (
    Duty("takeovers", EACH_PASS, operations.take_over_dead),
    Duty("mending", timedelta(seconds=60), operations.mend),
    Duty("settle", timedelta(seconds=10), lambda now: settle_open_entries(now=now)),
    Duty("reviews", timedelta(seconds=5), reviews.follow),
    Duty("reviews of effects", timedelta(seconds=5), reviews.follow_effects),
    Duty("closed reviews", timedelta(seconds=60), reviews.follow_closed),
    Duty("prune", timedelta(hours=1), prune),
)
"""Done once: `do(now)`."""


@dataclass
class Due:
    """A duty, and when it was last begun."""

    duty: Duty
    begun_at: datetime | None = None

    def is_due(self, now: datetime) -> bool:
        """Whether it is time again."""
        return self.begun_at is None or now - self.begun_at >= self.duty.every

    def do(self, *about: Any) -> None:
        """Do it; the last of `about` is the time. It counts as begun, however it ends."""
        self.begun_at = about[-1]
        self.duty.do(*about)
