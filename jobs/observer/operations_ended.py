"""What follows when RQ has filed the job of an operation that was never begun: failed, stopped, finished, cancelled.

No attempt is on record, so nothing of the job ran, whatever RQ says (protocol, C5). What RQ says tells only whether
another delivery would fare better (C18).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeAlias

from jobs.broker.details import read_jobs
from jobs.broker.records import JobDetail, Result
from jobs.domain.failures import DOES_NOT_FIT, NOT_FOUND, UNREADABLE, Reach, read_failure
from jobs.ledger import rescues
from jobs.models import Attempt, Delivery, Operation

BATCH = 50
Plan: TypeAlias = Callable[[Operation], Operation | None]
"""What is to be done about an operation; returns it when it is on record as queued again, for the caller to push."""
Plans: TypeAlias = dict[int, Plan]


def plans(connection: str, operations: Sequence[Operation], now: datetime) -> Plans:
    """What is to be done about each, by primary key. Raises BrokerUnavailable."""
    found: Plans = {}
    for start in range(0, len(operations), BATCH):
        batch = operations[start : start + BATCH]
        details = read_jobs(connection, [(one.queue, one.job_id) for one in batch], now=now)
        turned_away = _turned_away(batch)
        for one, detail in zip(batch, details, strict=True):
            found[one.pk] = refuse_arguments if one.pk in turned_away else _plan(one, detail)
    return found


def leave(_operation: Operation) -> None:
    """It has changed since it was seen: the next look tells what it is now."""


def refuse_function(operation: Operation) -> None:
    """This release has no such function."""
    rescues.refuse_code(operation, is_known=False)


def refuse_arguments(operation: Operation) -> None:
    """The function takes other arguments in this release."""
    rescues.refuse_code(operation, is_known=True)


def ask(operation: Operation) -> None:
    """It ran outside the layer: a person is asked."""
    rescues.ask_of_unseen_run(operation)


def lost(operation: Operation) -> Operation | None:
    """Its job is gone by now."""
    return rescues.queue_again(operation, Delivery.Cause.LOST)


# ----------------------------------------------------------------------------------------------------------------------


def _turned_away(operations: Sequence[Operation]) -> set[int]:
    """Those whose delivery was refused at the claim, since its arguments are not those on record.

    The delivery was made of the record: so the function's own defaults are others in the release that runs it.
    """
    refused = Attempt.objects.filter(operation__in=operations, decision_code="args_mismatch")
    jobs = {one.pk: (one.job_id, one.dispatched_at) for one in operations}
    found = refused.values_list("operation_id", "job_id", "started_at")
    return {pk for pk, job_id, at in found if jobs[pk][0] == job_id and at >= (jobs[pk][1] or at)}


def _plan(operation: Operation, detail: JobDetail | None) -> Plan:
    if detail is None:
        return lost
    return {
        "failed": _plan_failed(operation, detail.newest_result),
        "stopped": rescues.queue_unentered,
        "canceled": rescues.follow_cancel,
        "finished": ask,
    }.get(detail.job.status or "", leave)


def _plan_failed(operation: Operation, newest: Result | None) -> Plan:
    """By the result of this very delivery: an older one is of a run before it, and says nothing about it."""
    sent_at = operation.dispatched_at
    if newest is None or (sent_at and newest.created_at and newest.created_at < sent_at):
        return rescues.queue_unentered
    failure = read_failure(newest.text)
    known = _PLANS.get(failure.cause) if failure.reach is Reach.NEVER_ENTERED else None
    return known or rescues.queue_unentered


_PLANS: dict[str, Plan] = {
    NOT_FOUND: refuse_function,
    DOES_NOT_FIT: refuse_arguments,
    UNREADABLE: refuse_arguments,
}
