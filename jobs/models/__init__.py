"""What SQL knows: who may see and do what, what was declared, what failed, what was intended and what became of it.

Redis forgets a job after its time-to-live; what is recorded here outlives it. Only jobs.ledger writes the records below
JobType.
"""

from __future__ import annotations

from jobs.models.audit import AuditEntry
from jobs.models.failures import FailedJob, ObservedAttempt
from jobs.models.lengths import NAME_LENGTH
from jobs.models.observing import ObserverState
from jobs.models.operations import Attempt, Delivery, Effect, Operation, OperationEvent
from jobs.models.queues import JobType, Queue
from jobs.models.reviews import Resolution, Review

__all__ = [
    "NAME_LENGTH",
    "Attempt",
    "AuditEntry",
    "Delivery",
    "Effect",
    "FailedJob",
    "JobType",
    "ObservedAttempt",
    "ObserverState",
    "Operation",
    "OperationEvent",
    "Queue",
    "Resolution",
    "Review",
]
