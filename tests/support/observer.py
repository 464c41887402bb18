"""What the observing process does, done at once in the test's own."""

from __future__ import annotations

from datetime import datetime

from django.utils import timezone

from jobs.broker import connections
from jobs.observer import departures, failures, reviews, unknown
from jobs.observer.failures import Memory, Progress


def watch(now: datetime | None = None) -> None:
    """Bring SQL to where a fast observer would have brought it by now; only Queue records are left to the test."""
    now = now or timezone.now()
    for connection in connections.names():
        sweep_through(connection, now)
        walk_through(connection, now)
        memory = unknown.Memory(connections.get(connection))
        for _first_and_second in range(2):
            unknown.look(connection, now, memory)
    reviews.follow(now)
    reviews.follow_effects(now)
    reviews.follow_closed(now)


def sweep_through(connection: str, now: datetime) -> int:
    """One whole sweep; returns how many failed entries were read."""
    return sum(failures.sweep(connection, lambda: now, Memory(), Progress()))


def walk_through(connection: str, now: datetime) -> int:
    """One whole walk through the index; returns how many are no longer failed."""
    return sum(departures.walk(connection, now))


def look_for_newest(connection: str, now: datetime, memory: Memory | None = None) -> int:
    """One whole look for what failed since the last one; returns how many were read."""
    return sum(failures.newest(connection, now, memory or Memory()))
