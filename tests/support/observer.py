"""What the observing process does, done at once in the test's own."""

from __future__ import annotations

from datetime import datetime

from django.utils import timezone

from jobs.broker import connections
from jobs.observer import departures, failures, reviews, unknown


def watch(now: datetime | None = None) -> None:
    """Bring SQL to where a fast observer would have brought it by now; only Queue records are left to the test."""
    now = now or timezone.now()
    for connection in connections.names():
        failures.sweep(connection, now)
        departures.walk(connection, now)
        memory = unknown.Memory(connections.get(connection))
        for _first_and_second in range(2):
            unknown.look(connection, now, memory)
    reviews.follow(now)
    reviews.follow_closed(now)
