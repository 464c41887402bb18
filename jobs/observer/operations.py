"""Looks after operations of the job-safety layer: each that is under way has a time by which somebody must have acted.

What is to be done is decided by the table of rules, and done by the ledger, which restates what was seen here
(jobs.ledger.rescues). So two observers at once, or one that is killed at any point, leave the same rows.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TypeAlias

from django.db.models import Exists, F, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Concat

from jobs.broker import connections, deliveries
from jobs.broker.whereabouts import Place, Whereabouts, find_jobs
from jobs.domain.operations import TERMINAL
from jobs.domain.operations import OperationStatus as Status
from jobs.ledger import adoption, attempts, rescues
from jobs.ledger.attempts import LEASE_OVER
from jobs.ledger.moves import queue_grace
from jobs.models import Attempt, Delivery, Operation, Review
from jobs.observer import operations_ended
from jobs.observer.trouble import apart, told
from jobs.safety import processes
from jobs.safety.points import point

AT_ONCE = 500
"""Operations that one look takes up, the longest overdue first."""
PROCESS_GONE = "process_gone"

log = logging.getLogger("opsboard.observer")
_said: set[str] = set()
_Step: TypeAlias = tuple[Operation, Callable[[Operation], bool]]
"""What is to be done about an operation; true when it was done, false when it was not as it was seen."""

layered = Operation.objects.exclude(origin=Operation.Origin.PLAIN)


# Running --------------------------------------------------------------------------------------------------------------


def take_over_dead(now: datetime) -> int:
    """Take over from attempts that are dead: their lease is over, or their process, of this very host, is gone.

    Returns how many. It needs no store: what became of the calls of a dead attempt is in the ledger.
    """
    here = processes.own_identity()
    holding = Attempt.objects.filter(
        pk=F("operation__current_attempt"),
        operation__status=Status.RUNNING,
        operation__connection__in=connections.names(),
    )
    is_ours = Q(boot_id=here.boot_id, pid_namespace=here.pid_namespace) if here.boot_id else Q(pk=None)
    suspects = holding.filter(is_ours | Q(operation__due_at__lte=now)).select_related("operation")
    found = [(one, _proof_of_death(one, now)) for one in suspects.order_by("operation__due_at", "pk")[:AT_ONCE]]
    return sum(each([(one.operation, partial(take_over, one, proof)) for one, proof in found if proof]))


def take_over(attempt: Attempt, proof: str, operation: Operation) -> bool:
    """Have the ledger take the operation over from this attempt; False when it is not as it was seen."""
    decision = attempts.take_over(operation.pk, attempt.pk, fence=operation.fence, proof=proof)
    if decision is not None:
        log.info("%s was taken over (%s): %s", operation.operation_id, proof, decision.code)
    return decision is not None


def _proof_of_death(attempt: Attempt, now: datetime) -> str:
    """'' when there is none."""
    identity = processes.Identity(
        host=attempt.host,
        boot_id=attempt.boot_id,
        pid_namespace=attempt.pid_namespace,
        pid=attempt.pid,
        process_started=attempt.process_started,
    )
    if processes.is_gone(identity):
        return PROCESS_GONE
    due_at = attempt.operation.due_at
    return LEASE_OVER if due_at is not None and due_at <= now else ""


# Waiting to be run ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Found:
    """An operation that is due, and where its newest RQ job is."""

    operation: Operation
    where: Whereabouts


def deliver(connection: str, now: datetime) -> int:
    """Look where the jobs are of operations that should run by now, and queue again what would never run.

    Returns how many were queued again. Raises BrokerUnavailable.
    """
    due = list(_due(connection, now))
    if not due or not _can_push(connection):
        return 0
    places = find_jobs(connection, [(one.queue, one.job_id) for one in due], patience=queue_grace())
    found = [Found(*one) for one in zip(due, places, strict=True)]
    _leave(connection, [one for one in found if _is_on_its_way(one)], now)
    ended = [one.operation for one in found if _has_ended_unclaimed(one)]
    plans = operations_ended.plans(connection, ended, now) if ended else {}
    stranded = [one for one in found if not _is_on_its_way(one)]
    return sum(each([(one.operation, partial(_rescue, one.where, plans)) for one in stranded]))


def _due(connection: str, now: datetime) -> QuerySet[Operation]:
    """Read by the index of what is due, however many are over, or wait: no other column is compared as it stands.

    SQLite, which has no statistics, would take the index that begins with the connection, and read all there are.
    """
    # What is over has no time to be due at; and if it had one, it would still be over (protocol, I6).
    due = layered.filter(due_at__lte=now).exclude(status__in=(Status.RUNNING, Status.UNKNOWN, *TERMINAL))
    return (
        due.annotate(place=Concat("connection", Value(""))).filter(place=connection).order_by("due_at", "pk")[:AT_ONCE]
    )


def _is_on_its_way(found: Found) -> bool:
    """RQ will bring it, or is just about to. The run of an attempt that was lost is no such thing."""
    if found.where.place is Place.STARTED and found.operation.status == Status.RETRY_WAIT:
        return not rescues.was_lost(found.operation)
    return found.where.place in (Place.WAITING, Place.SCHEDULED, Place.STARTED)


def _has_ended_unclaimed(found: Found) -> bool:
    return found.where.place is Place.ENDED and found.operation.status != Status.RETRY_WAIT


def _leave(connection: str, found: Sequence[Found], now: datetime) -> None:
    """Look again later at what RQ is to bring; the submitter of one that counts as accepted did not get to say so."""
    for one in found:
        if one.operation.status == Status.ACCEPTED:
            adoption.mark_queued(one.operation.pk, one.operation.job_id)
        elif one.where.place is Place.SCHEDULED and one.where.due_at:
            rescues.look_again([one.operation], at=max(one.where.due_at, now) + queue_grace())
        elif one.where.place is Place.STARTED:
            rescues.look_again([one.operation], at=now + queue_grace())
    for status in (Status.QUEUED, Status.RETRY_WAIT):
        waiting = [
            one.operation for one in found if one.where.place is Place.WAITING and one.operation.status == status
        ]
        if waiting:
            rescues.look_again(waiting)


def _rescue(where: Whereabouts, plans: operations_ended.Plans, operation: Operation) -> bool:
    """Have it delivered again, or what the rules want instead; returns whether it was queued."""
    if operation.status == Status.RETRY_WAIT and rescues.complete_declared(operation):
        log.info("%s is completed: only its final mark was missing", operation.operation_id)
        return False
    queued = _plan(operation, where.place, plans)(operation)
    if queued is None:
        _tell_of_end(operation, where.place)
        return False
    point("before_push_again")
    deliveries.push_again(queued)
    log.info("%s was queued again: its job was %s", queued.operation_id, where.place)
    return True


def _tell_of_end(operation: Operation, place: Place) -> None:
    """Why it was not queued again, where it is at rest by now; else it has changed since it was seen."""
    operation.refresh_from_db(fields=["status", "reason_code"])
    if operation.status in (*TERMINAL, Status.UNKNOWN):
        log.info(
            "%s is %s (%s): its job was %s", operation.operation_id, operation.status, operation.reason_code, place
        )


def _plan(operation: Operation, place: Place, plans: operations_ended.Plans) -> operations_ended.Plan:
    if operation.pk in plans:
        return plans[operation.pk]
    if place is Place.ENDED and operation.status != Status.RETRY_WAIT:
        return operations_ended.leave
    if place is Place.CUT_OFF and operation.status != Status.RETRY_WAIT:
        return rescues.queue_unentered
    return lambda seen: rescues.queue_again(seen, _cause(seen))


def _cause(operation: Operation) -> str:
    """Why it is put on its queue once more."""
    if operation.status == Status.ACCEPTED:
        return Delivery.Cause.NEVER_QUEUED
    if operation.status == Status.QUEUED:
        return Delivery.Cause.LOST
    if operation.reason_code in _ANSWERED:
        return Delivery.Cause.REVIEW
    return Delivery.Cause.TAKEOVER if rescues.was_lost(operation) else Delivery.Cause.RETRY


_ANSWERED = ("said_happened", "said_not_happened", "probe_again")
"""Reasons of an operation that goes on since its review was answered (ledger.consequences)."""


def _can_push(connection: str) -> bool:
    if deliveries.can_push(connection):
        return True
    _say(f"operations of {connection} are left alone: start the observer with the RQ_KEY_PREFIX of that connection")
    return False


# What should never be -------------------------------------------------------------------------------------------------


def mend(now: datetime) -> int:
    """Look for operations that nobody would ever look after: without a deadline, without a review, on no connection.

    Returns how many have somebody again. Those of connections that are not configured are only told of.
    """
    given = rescues.give_deadlines(now)
    asking = Review.objects.filter(operation=OuterRef("pk"), closed_at=None)
    unasked = layered.filter(~Exists(asking), status=Status.UNKNOWN)
    asked = sum(each([(one, rescues.open_missing_review) for one in unasked.order_by("pk")[:AT_ONCE]]))
    elsewhere = layered.filter(due_at__lte=now).exclude(connection__in=connections.names())
    for name in sorted(set(elsewhere.order_by().values_list("connection", flat=True)[:AT_ONCE])):
        _say(f"operations of the connection {name} are left alone, since it is not configured")
    return given + asked


# ----------------------------------------------------------------------------------------------------------------------


def each(steps: Sequence[_Step]) -> list[bool]:
    """Do each step; one that fails in a way that nobody foresaw holds up no other, and its operation waits a while."""

    def failed(step: _Step, error: Exception) -> bool:
        operation = step[0]
        log.error("an unexpected error keeps %s from being looked after: %s", operation.operation_id, told(error))
        rescues.look_again([operation])
        return False

    return apart(lambda some: [do(operation) for operation, do in some], steps, failed) if steps else []


def _say(sentence: str) -> None:
    """Log it, if that was not done before."""
    if sentence not in _said:
        _said.add(sentence)
        log.warning("%s", sentence)
