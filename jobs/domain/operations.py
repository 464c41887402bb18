"""An operation as the rules see it: its state, its attempts, its effects (protocol, 1.1 to 1.3)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from jobs.domain.idempotency import Idempotency


class OperationStatus(StrEnum):
    """Where an operation stands (protocol, 1.2)."""

    ACCEPTED = "accepted"
    QUEUED = "queued"
    RUNNING = "running"
    RETRY_WAIT = "retry_wait"
    UNKNOWN = "unknown"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


TERMINAL = frozenset({OperationStatus.COMPLETED, OperationStatus.FAILED, OperationStatus.CANCELLED})


class AttemptOutcome(StrEnum):
    """How an attempt ended (protocol, 1.2). `lost`: nobody reported; `superseded`: it reported after a takeover."""

    COMPLETED = "completed"
    FAILED = "failed"
    RETRYING = "retrying"
    UNKNOWN = "unknown"
    SKIPPED_DUPLICATE = "skipped_duplicate"
    REFUSED = "refused"
    CANCELLED = "cancelled"
    LOST = "lost"
    SUPERSEDED = "superseded"


class EffectStatus(StrEnum):
    """Where an effect stands; one without a row is absent (protocol, 1.3)."""

    BEGUN = "begun"
    COMPLETED = "completed"
    RELEASED = "released"
    """Proved not to have happened; it may be begun again, under the same key."""
    UNKNOWN = "unknown"
    """Begun, and in review."""
    ABANDONED = "abandoned"
    """Given up: it may have happened."""
    REVERSED = "reversed"
    """It happened, and a person undid it; it still blocks a new run."""


class DedupCause(StrEnum):
    """What led to a delivery that was not needed, so that it was skipped (protocol, 1.2)."""

    QUEUE_REDELIVERY = "queue_redelivery"
    SWEEPER = "sweeper"
    MANUAL_RETRY = "manual_retry"
    RQ_ABANDONED = "rq_abandoned"
    DOUBLE_SUBMIT = "double_submit"


class ErrorKind(StrEnum):
    """What an error means for the next attempt."""

    PERMANENT = "permanent"
    """Repeating does not help: the data is wrong."""
    TRANSIENT = "transient"
    LOST = "lost"
    """Nobody reported an error; the process died."""


class AskedBy(StrEnum):
    """Who wants the operation run. No role gets past R1 to R15; an operator may override R16 to R19 (protocol, 2)."""

    AUTO = "auto"
    """The worker that claims, or the attempt that has just failed."""
    SWEEPER = "sweeper"
    """The observer."""
    OPERATOR = "operator"
    BULK = "bulk"


@dataclass(frozen=True, kw_only=True)
class LiveAttempt:
    """The attempt that holds the operation, as of now. Times are those of the database's clock."""

    number: int
    worker_name: str
    started_at: datetime
    lease_until: datetime
    """It may act until then; also the time after which it is dead for certain (protocol, Choices: one clock)."""
    is_proved_dead: bool = False
    """Proved before the lease ran out: RQ recorded the horse's exit, or the process is gone."""

    def is_live(self, now: datetime) -> bool:
        """Whether it may still act."""
        return not self.is_proved_dead and now < self.lease_until


@dataclass(frozen=True, kw_only=True)
class EffectState:
    """One effect as the rules see it.

    `key_valid_until`: how long the other side recognises the key (keyed only; None otherwise).
    `settled_at`: from when on the other side's answer about a begun effect can be believed (checkable only).
    """

    name: str
    item: str = ""
    idempotency: Idempotency
    status: EffectStatus
    begun_at: datetime | None = None
    key_valid_until: datetime | None = None
    is_same_request: bool = True
    """False when the next call would send another content under the same key."""
    has_probe: bool = False
    settled_at: datetime | None = None
    may_still_act: bool = False
    """The attempt that began it is not proved dead and its lease has not run out."""
    dead_after: datetime | None = None
    """Until when it may still act, if it may."""
    probes_made: int = 0
    """How often the other side was asked and gave no answer that settles it."""
    probes_allowed: int = 5

    @property
    def is_open(self) -> bool:
        """Begun, and nobody knows yet whether it happened."""
        return self.status in (EffectStatus.BEGUN, EffectStatus.UNKNOWN)

    @property
    def label(self) -> str:
        """As a sentence names it: `mail`, or `mail (42)` for one of many."""
        return f"{self.name} ({self.item})" if self.item else self.name


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """All that a decision about an operation is taken from; read in one transaction.

    Defaults are those of an operation that has just been accepted.
    """

    exists: bool = True
    """False: a job names an operation that has no row."""
    status: OperationStatus = OperationStatus.ACCEPTED
    has_same_arguments: bool = True
    reason: str = ""
    """Why it is in its status, as it was said then."""
    closed_by: str = ""
    closed_at: datetime | None = None
    is_abandoned: bool = False
    """Failed by a review that was given up: something may have happened."""
    has_open_review: bool = False
    attempt: LiveAttempt | None = None
    effects: tuple[EffectState, ...] = ()
    declared_effects: tuple[str, ...] = ()
    """The names that the job type declares it has; () when it declares none."""
    is_layered: bool = True
    """It runs through the layer: whatever it did outside has a row among its effects."""
    is_code_known: bool = True
    """This release has the function. True where nobody can tell (the dashboard does not import job code)."""
    does_call_bind: bool = True
    """The stored arguments fit its parameters."""
    is_cancel_requested: bool = False
    last_error: ErrorKind | None = None
    last_message: str = ""
    attempts_used: int = 0
    max_attempts: int = 5
    lost_attempts: int = 0
    max_lost: int = 3
    next_attempt_at: datetime | None = None
    external_id: str = ""
    """What the effects that happened are known as elsewhere; '' when nobody knows."""
    completed_by_attempt: int | None = None
    call_timeout: timedelta = timedelta(seconds=30)
    """How long a call to the outside may take: a key must live so much longer (protocol, W4)."""
