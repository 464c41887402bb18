"""Deaths that RQ has put on record: its worker saw the process end that ran an attempt (protocol, Choices).

It tells sooner than the lease, and of processes on other hosts too.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial

from django.db.models import F

from jobs.broker.records import Result, ResultKind
from jobs.broker.whereabouts import recorded_ends
from jobs.domain.failures import Reach, read_failure
from jobs.domain.operations import OperationStatus as Status
from jobs.domain.runs import START_UP
from jobs.models import Attempt
from jobs.observer import operations

EXIT_RECORDED = "exit_recorded"


def take_over_ended(connection: str, now: datetime) -> int:
    """Take over from running attempts whose process RQ saw ending; returns how many. Raises BrokerUnavailable."""
    running = Attempt.objects.filter(
        pk=F("operation__current_attempt"), operation__status=Status.RUNNING, operation__connection=connection
    )
    found = list(running.select_related("operation").order_by("started_at", "pk")[: operations.AT_ONCE])
    ends = recorded_ends(connection, [one.job_id for one in found])
    dead = [one for one, end in zip(found, ends, strict=True) if end is not None and proves_exit(one, end)]
    return sum(operations.each([(one.operation, partial(operations.take_over, one, EXIT_RECORDED)) for one in dead]))


def proves_exit(attempt: Attempt, end: Result) -> bool:
    """Whether this result says that the process of this very attempt has ended.

    That RQ gave the run up, since nobody gave signs of life, proves nothing: the process may live on.
    """
    failure = read_failure(end.text)
    is_end = end.kind in (ResultKind.FAILED, ResultKind.STOPPED) and failure.reach is Reach.UNKNOWN and failure.is_dead
    return is_end and _is_of(attempt, end)


def _is_of(attempt: Attempt, end: Result) -> bool:
    """By worker, and by the times of the run, which began a moment before its attempt was claimed."""
    if attempt.execution_id and end.execution_id and attempt.execution_id != end.execution_id:
        return False
    if end.started_at is None or end.ended_at is None or end.worker_name != attempt.worker_name:
        return False
    return end.started_at <= attempt.started_at <= end.ended_at and attempt.started_at - end.started_at < START_UP
