"""Forgets, after the time that was set, failures that Redis holds no more; what people did and said stays for good."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from jobs.ledger.failures import forget_departed
from jobs.selectors.observer import retention_days

BATCH = 500


def prune(now: datetime) -> int:
    """Delete what left its failed registry longer ago than the retention; returns how many rows."""
    return sum(prune_in_batches(now))


def prune_in_batches(now: datetime) -> Iterator[int]:
    """The same, some at a time: between two of them the caller may do something else, or stop for good."""
    before = now - timedelta(days=retention_days())
    while forgotten := forget_departed(before, limit=BATCH):
        yield forgotten
