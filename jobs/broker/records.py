"""What the reader hands out: frozen, complete in itself, with damage said and never raised."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from jobs.domain.calls import Call, Unreadable
from jobs.domain.excerpts import Excerpt

SEEN_LENGTH = 128
"""Longest seen token: it travels in forms and addresses."""


class ResultKind(StrEnum):
    """RQ's result types (results.py, the same numbers in 2.12 and 3.0)."""

    SUCCESSFUL = "successful"
    FAILED = "failed"
    STOPPED = "stopped"
    RETRIED = "retried"
    MAX_RETRIES_EXCEEDED = "max_retries_exceeded"
    UNRECOGNISED = "unrecognised"


@dataclass(frozen=True, kw_only=True)
class JobHash:
    """The whitelisted fields of `rq:job:<id>`. Everything is optional; `exists` is False when none was found."""

    job_id: str
    exists: bool
    status: str | None = None
    origin: str | None = None
    created_at: datetime | None = None
    enqueued_at: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    enqueued_at_text: str = ""
    started_at_text: str = ""
    ended_at_text: str = ""
    last_heartbeat: datetime | None = None
    worker_name: str | None = None
    timeout_seconds: int | None = None
    failure_ttl_seconds: int | None = None
    retries_left: int | None = None
    repeats_left: int | None = None
    dependency_ids: tuple[str, ...] = ()
    group_id: str | None = None
    is_rate_limited: bool = False
    call: Call | Unreadable


@dataclass(frozen=True, kw_only=True)
class Result:
    """One entry of `rq:results:<id>`: a run that RQ recorded. `error` is its traceback as stored, not yet masked."""

    id: str
    kind: ResultKind
    created_at: datetime | None
    worker_name: str | None
    execution_id: str | None
    started_at: datetime | None
    ended_at: datetime | None
    error: Excerpt | None

    @property
    def text(self) -> str | None:
        """The error's text, or its two ends when it is very long."""
        return self.error.text if self.error else None


def seen_token(job: JobHash, newest_result: Result | None) -> str:
    """The token of what an operator looks at, by which an act knows whether the job has changed since.

    The same text as seen_token in lua/guard.lua: of a failed job its newest result (or its end, when there is none), of
    a job that is gone just that, else its status and when it was queued and begun.
    """
    if job.status is None:
        return "gone"
    if job.status in ("failed", "stopped"):
        token = newest_result.id if newest_result else f"-{job.ended_at_text}"
    else:
        token = f"{job.status}@{job.enqueued_at_text}/{job.started_at_text}"
    return token[:SEEN_LENGTH]


@dataclass(frozen=True, kw_only=True)
class ListedJob:
    """One row of a registry or queue: the id that is listed there, and what its hash says today."""

    job: JobHash
    queue: str
    score: float
    rank: int
    newest_result: Result | None = None

    @property
    def seen(self) -> str:
        """As JobDetail.seen, by the newest result that the list has read."""
        return seen_token(self.job, self.newest_result)


@dataclass(frozen=True, kw_only=True)
class Execution:
    """A run that is going on, by its lease: RQ renews `lease_until` while the worker's parent lives."""

    execution_id: str
    worker_name: str | None
    started_at: datetime | None
    last_heartbeat: datetime | None
    lease_until: datetime | None


@dataclass(frozen=True, kw_only=True)
class Relative:
    """A job that this one waits for, or that waits for this one."""

    job_id: str
    exists: bool
    status: str | None
    origin: str | None


@dataclass(frozen=True, kw_only=True)
class Worker:
    """One entry of `rq:workers`. `exists` is False when its hash has run out: the worker is gone."""

    name: str
    exists: bool
    queues: tuple[str, ...] = ()
    state: str | None = None
    born_at: datetime | None = None
    last_heartbeat: datetime | None = None
    died_at: datetime | None = None
    shutdown_requested_at: datetime | None = None
    hostname: str | None = None
    pid: int | None = None
    version: str | None = None
    python_version: str | None = None
    current_job_ids: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class QueueCounts:
    """One queue at one moment: numbers of jobs by state, and the times that tell whether it moves."""

    connection: str
    name: str
    queued: int
    counts: dict[str, int]
    expired_leases: int
    oldest_enqueued_at: datetime | None
    newest_failed_id: str | None
    workers_alive: int
    has_scheduler: bool
    next_due_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class ServerHealth:
    """What the store itself says: its clock, and whether it may drop job data when memory is short."""

    time: datetime | None
    eviction_policy: str | None
    memory_limit_bytes: int
    workers_suspended: bool

    @property
    def may_drop_jobs(self) -> bool:
        return self.memory_limit_bytes > 0 and self.eviction_policy not in (None, "noeviction")


@dataclass(frozen=True, kw_only=True)
class JobDetail:
    """Everything Redis knows of one job, read in two round trips."""

    connection: str
    queue: str
    job: JobHash
    results: tuple[Result, ...]
    """Newest first."""
    results_total: int
    executions: tuple[Execution, ...]
    scores: dict[str, float]
    """Score in each registry that lists the id (`failed`, `finished` …; `started` is in `executions`)."""
    queued_times: int | None
    """How often the id stands in its queue; None when the queue is longer than was looked at."""
    in_intermediate: bool
    expires_at: datetime | None
    results_expire_at: datetime | None
    dependencies: tuple[Relative, ...]
    dependents: tuple[Relative, ...]
    dependents_total: int
    worker: Worker | None
    queue_has_worker: bool
    queue_has_scheduler: bool

    @property
    def newest_result(self) -> Result | None:
        return self.results[0] if self.results else None

    @property
    def seen(self) -> str:
        """The token of what an operator looked at (seen_token)."""
        return seen_token(self.job, self.newest_result)

    @property
    def run(self) -> str:
        """Names the job's last run, whatever is filed about it later: when it was queued to begin, and began.

        Both, since an act that queues a lost job anew leaves the start of its earlier run.
        """
        when = "/".join(filter(None, (self.job.enqueued_at_text, self.job.started_at_text)))
        return (when or (self.newest_result.id if self.newest_result else ""))[:SEEN_LENGTH]

    @property
    def busy_worker(self) -> str | None:
        """The worker of the run that goes on now, by its latest lease; else the one that the job itself names."""
        leased = [one for one in self.executions if one.lease_until and one.worker_name]
        newest = max(leased, key=lambda one: one.lease_until or datetime.min, default=None)
        return newest.worker_name if newest else self.job.worker_name
