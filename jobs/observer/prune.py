"""Forgets, after the time that was set, failures that Redis holds no more; what people did and said stays for good."""

from __future__ import annotations

from datetime import datetime, timedelta

from jobs.ledger.failures import forget_departed
from jobs.ledger.observing import retention_days

BATCH = 500


def prune(now: datetime) -> int:
    """Delete what left its failed registry longer ago than the retention; returns how many rows."""
    before, deleted = now - timedelta(days=retention_days()), 0
    while forgotten := forget_departed(before, limit=BATCH):
        deleted += forgotten
    return deleted
