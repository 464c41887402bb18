"""Whether a run that nobody saw ending may still be at work: its lease, and the time after which it must be over."""

from __future__ import annotations

from datetime import datetime, timedelta

from jobs.domain.evidence import Evidence

KILL_GRACE = timedelta(seconds=60)
"""RQ's worker kills a run this long after its time limit."""
MARGIN = timedelta(seconds=30)
"""For clocks that differ: `dead_after` = start + time limit + KILL_GRACE + MARGIN (protocol, Choices)."""
LONGEST_LIMIT_SECONDS = 10 * 365 * 86_400
"""A longer time limit is as good as none."""


def has_live_lease(evidence: Evidence, now: datetime) -> bool:
    """Whether RQ holds a run of the job for alive now."""
    return evidence.lease_until is not None and evidence.lease_until >= now


def dead_after(evidence: Evidence) -> datetime | None:
    """When a run that nobody saw ending can no longer act; None for one without a time limit or a known time.

    Of a run whose start is not known, the time when RQ filed it counts: it began before that.
    """
    began, limit = evidence.started_at or evidence.newest_at, evidence.timeout_seconds
    if began is None or limit is None or not 0 < limit <= LONGEST_LIMIT_SECONDS:
        return None
    return began + timedelta(seconds=limit) + KILL_GRACE + MARGIN


def is_dead_by_now(evidence: Evidence, now: datetime) -> bool:
    """Whether time alone proves that no run of the job is at work any more."""
    end = dead_after(evidence)
    return end is not None and now > end and not has_live_lease(evidence, now)
