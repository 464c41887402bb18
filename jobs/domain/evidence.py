"""What is known about a job's last run: the whole evidence, never the status alone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class WorkerSign(StrEnum):
    """What Redis shows of the worker that began the job's last run."""

    UNKNOWN = "unknown"
    """The job names no worker, or a run of it belongs to another one."""
    ALIVE = "alive"
    IDLE = "idle"
    """It lives and waits for its next job, so the process it had for this one has ended."""
    DIED = "died"
    """It signed off."""
    MISSING = "missing"
    """Its record has run out, or another process goes by its name now."""


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
    """When the newest successful run ended by its worker's clock, or was recorded where that is missing."""
    created_at: datetime | None = None
    enqueued_at: datetime | None = None
    started_at: datetime | None = None
    first_started_at: datetime | None = None
    """No run of it began before this; None when that is not known."""
    earlier_runs_may_have_acted: bool = False
    """There were, or may have been, runs before the last one that entered the function."""
    timeout_seconds: int | None = None
    retries_left: int | None = None
    repeats_left: int | None = None
    """How often RQ will still repeat it by its `Repeat`; None for a job that does not repeat."""
    last_sign_of_life: datetime | None = None
    executions: int = 0
    """Runs on record as not ended, whether their lease lives or not."""
    lease_until: datetime | None = None
    """Until when RQ holds a run for alive, by its latest lease; None when there is no lease."""
    worker: WorkerSign = WorkerSign.UNKNOWN

    @property
    def has_open_run(self) -> bool:
        """A run of it is on record whose end was not."""
        return self.executions > 0 or self.lease_until is not None

    @property
    def never_began(self) -> bool:
        """Provably never entered: no start, no result, no run on record, and none that RQ retried without a trace.

        An act of requeueing clears the start and a result can run out, but the heartbeat of a run that was stays.
        """
        traces = (self.started_at, self.newest_kind, self.succeeded_at, self.retries_left, self.last_sign_of_life)
        return (
            self.exists
            and all(one is None for one in traces)
            and not self.has_open_run
            and not self.earlier_runs_may_have_acted
        )
