"""What is known about a job's last run: the whole evidence, never the status alone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What Redis shows of one job at one moment, as far as it bears on what became of its last run."""

    exists: bool
    status: str | None
    listed_in: frozenset[str] = frozenset()
    """The registries that hold the id: failed, finished, scheduled, deferred, canceled."""
    queued_times: int | None = 0
    """How often the id stands in its queue; None when the queue is too long to look."""
    in_intermediate: bool = False
    """The id stands on the list between a worker's pop and its start."""
    is_readable: bool = True
    is_rate_limited: bool = False
    is_confusable: bool = False
    """RQ would take one of its names for something else (keys.is_confusable)."""
    newest_kind: str | None = None
    """Kind of the newest recorded result: successful, failed, stopped, retried, max_retries_exceeded."""
    newest_text: str | None = None
    newest_at: datetime | None = None
    succeeded_at: datetime | None = None
    """When the newest successful result was recorded."""
    started_at: datetime | None = None
    first_started_at: datetime | None = None
    """No run of it began before this; None when that is not known."""
    earlier_runs_may_have_acted: bool = False
    """There were, or may have been, runs before the last one that entered the function."""
    timeout_seconds: int | None = None
    retries_left: int | None = None
    last_sign_of_life: datetime | None = None
    lease_until: datetime | None = None
    """Until when RQ holds the run for alive, by its latest lease; None when there is no execution record."""
    worker_is_known: bool = False
    """The worker that ran it still has a record and has not signed off."""
