"""What a person does with an operation, from its own page or by a job that delivers it: a run, or its cancelling.

The operation's record moves first, in the transaction that holds the intent; Redis follows. Where nothing came of it
the record is put back; where nobody knows, the observer finds out.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import uuid4

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.utils.timezone import get_current_timezone

from jobs import ledger
from jobs.actions.guarded import (
    DEADLINE,
    Act,
    Wish,
    about,
    asked_by,
    carry_out,
    deadline_of,
    perform,
    refuse,
    silence_on_record,
)
from jobs.actions.outcomes import CHANGED, DONE, REFUSED, SENTENCES, UNCONFIRMED, Outcome
from jobs.broker import commands
from jobs.broker.commands import OutcomeUnknown, Target
from jobs.broker.details import read_job
from jobs.broker.errors import BrokerUnavailable, UnknownConnection
from jobs.broker.records import JobDetail
from jobs.domain.decisions import Decision
from jobs.domain.layered import decide_cancelling, decide_from_record, is_put_back
from jobs.domain.operations import AskedBy
from jobs.judging import case_of_delivery, layered_of
from jobs.ledger import operator_acts
from jobs.models import AuditEntry, Operation, Queue, Review
from jobs.permissions import RIGHT_FOR, find_operation, require

log = logging.getLogger("opsboard.acts")
OVERTAKEN = SENTENCES["changed"][1].replace("the job changed", "the operation changed")


@dataclass(frozen=True, kw_only=True)
class OperationWish:
    """What one person wants done with one operation, as it was *seen* (Operation.version).

    `confirmed`: the code of the decision that the person has confirmed.
    """

    actor: User
    operation_id: str
    seen: int
    reason: str = ""
    confirmed: str = ""
    now: datetime


# By a job that delivers it --------------------------------------------------------------------------------------------


def run_again(act: Act, wish: Wish, detail: JobDetail, operation: Operation, decision: Decision) -> Outcome:
    """Put this job back on its queue, and its operation with it."""
    with silence_on_record(act, wish, detail):
        deadline = deadline_of(wish)
    run = operator_acts.intend_requeue(
        operation,
        code=decision.code,
        asked_by=asked_by(wish),
        job_id=wish.job_id,
        deadline_at=deadline,
        **about(act, wish, detail),
    )
    if run is None:
        return refuse(act, wish, detail, "changed", OVERTAKEN)
    outcome = perform(act, wish, detail, run.entry, deadline)
    if not outcome.is_done and not outcome.is_unknown:
        operator_acts.take_back(run)
    return outcome


def cancel_delivery(act: Act, wish: Wish, detail: JobDetail, operation: Operation, decision: Decision) -> Outcome:
    """Cancel its operation, and take the job out of what would run it; should it run after all, it is turned away."""
    entry = operator_acts.cancel(operation, code=decision.code, **about(act, wish, detail))
    if entry is None:
        return refuse(act, wish, detail, "changed", OVERTAKEN)
    _take_out(operation, wish.job_id, wish.seen, entry, wish.now)
    return Outcome(DONE, entry.outcome, entry)


# From its own page ----------------------------------------------------------------------------------------------------


def retry_operation(act: Act, wish: OperationWish) -> Outcome:
    """Have it run again: as its failed job, put back on its queue, or as a new one where there is none.

    `act`: that of a retry. Raises OperationNotVisible (404), PermissionDenied, and BrokerUnavailable when nothing was
    attempted.
    """
    operation, queue = _find(wish, act.verb)
    if operation.version != wish.seen:
        return _refuse(wish, act.verb, operation, "changed", OVERTAKEN)
    operation = operator_acts.free_if_over(operation)
    detail = _newest_job(wish, act.verb, operation)
    layered = layered_of(operation, operation.job_id)
    case = case_of_delivery(detail, wish.now, layered)
    if detail is not None and is_put_back(case, layered):
        return carry_out(act, _wish_of_job(wish, queue, detail))
    return _queue_afresh(wish, act.verb, operation, decide_from_record(case, layered, get_current_timezone()))


def cancel_operation(wish: OperationWish) -> Outcome:
    """Cancel it, or ask the worker that runs it to. Raises as retry_operation, but for a silent store."""
    verb = "cancel_job"
    operation, _queue = _find(wish, verb)
    decision = decide_cancelling(layered_of(operation, operation.job_id))
    if not decision.allows_act:
        return _refuse(wish, verb, operation, decision.code, decision.sentence)
    if wish.confirmed != decision.code:
        return _refuse(wish, verb, operation, "unconfirmed", UNCONFIRMED)
    entry = operator_acts.cancel(operation, code=decision.code, **_about(wish, verb, operation))
    if entry is None:
        return _refuse(wish, verb, operation, "changed", OVERTAKEN)
    _take_out(operation, operation.job_id, None, entry, wish.now)
    return Outcome(DONE, entry.outcome, entry)


# ----------------------------------------------------------------------------------------------------------------------


def _find(wish: OperationWish, verb: str) -> tuple[Operation, Queue]:
    """The operation and its queue, when this person may do it there; else the attempt is on record."""
    try:
        operation, queue = find_operation(wish.actor, wish.operation_id)
        require(wish.actor, RIGHT_FOR[verb], queue)
    except (PermissionDenied, Http404):
        hidden = Operation.objects.filter(operation_id=wish.operation_id).first()
        if hidden is not None:
            ledger.record_refusal(**_about(wish, verb, hidden), outcome="No right to do this.")
        raise
    return operation, queue


def _newest_job(wish: OperationWish, verb: str, operation: Operation) -> JobDetail | None:
    """The job of its newest delivery, where Redis has it. A silent store is on record, and raises BrokerUnavailable."""
    try:
        detail = _read(operation, operation.job_id, wish.now)
    except BrokerUnavailable as error:
        ledger.record_refusal(**_about(wish, verb, operation), outcome=f"Not done: {error}")
        raise
    return detail if detail and detail.job.exists else None


def _read(operation: Operation, job_id: str, now: datetime) -> JobDetail | None:
    """One job of it. Raises BrokerUnavailable, also where its job store is not configured here."""
    try:
        return read_job(operation.connection, operation.queue, job_id, now=now)
    except UnknownConnection:
        raise BrokerUnavailable(operation.connection, "it is not configured here") from None


def _wish_of_job(wish: OperationWish, queue: Queue, detail: JobDetail) -> Wish:
    return Wish(
        actor=wish.actor,
        queue=queue,
        job_id=detail.job.job_id,
        seen=detail.seen,
        reason=wish.reason,
        confirmed=wish.confirmed,
        now=wish.now,
    )


def _queue_afresh(wish: OperationWish, verb: str, operation: Operation, decision: Decision) -> Outcome:
    if decision.wants_review:
        asked = operator_acts.ask_first(operation, asked_by=AskedBy.OPERATOR, **_about(wish, verb, operation))
        return _sent_to_review(asked) if asked else _refuse(wish, verb, operation, "changed", OVERTAKEN)
    if not decision.allows_act:
        return _refuse(wish, verb, operation, decision.code, decision.sentence)
    if decision.asks and wish.confirmed != decision.code:
        return _refuse(wish, verb, operation, "unconfirmed", UNCONFIRMED)
    run = operator_acts.queue_afresh(
        operation,
        code=decision.code,
        asked_by=AskedBy.OPERATOR,
        job_id=uuid4().hex,
        outcome=QUEUED_AFRESH,
        **_about(wish, verb, operation),
    )
    if run is None:
        return _refuse(wish, verb, operation, "changed", OVERTAKEN)
    return Outcome(DONE, f"{QUEUED_AFRESH} {_push(run.operation)}".strip(), run.entry)


def _sent_to_review(asked: tuple[AuditEntry, Review]) -> Outcome:
    entry, review = asked
    return Outcome(REFUSED, entry.outcome, entry, review=review)


def _push(operation: Operation) -> str:
    """Put it on its queue. It is on record as queued, so what gets lost here the observer queues again."""
    # This is done by RQ itself; the process of the pages has not loaded it before, since no page needs it.
    from jobs.broker import deliveries

    if not deliveries.can_push(operation.connection):
        return LEFT_TO_THE_OBSERVER
    try:
        deliveries.push_again(operation)
    except Exception as error:
        # It is on record as queued, and must not end in an error page, whatever kept RQ from it: a silent store, or a
        # serializer that only the job's own code has.
        log.warning("%s is on record as queued, but was not: %s", operation.operation_id, type(error).__name__)
        return LEFT_TO_THE_OBSERVER
    return ""


def _take_out(operation: Operation, job_id: str, seen: str | None, entry: AuditEntry, now: datetime) -> None:
    """Take the job of a cancelled operation out of its queue. Where that fails it is turned away when it runs."""
    try:
        detail = _read(operation, job_id, now)
        if detail is None or not detail.job.exists:
            return
        target = Target(
            connection=operation.connection,
            queue=operation.queue,
            job_id=job_id,
            seen=detail.seen if seen is None else seen,
            deadline=commands.server_time(operation.connection) + DEADLINE,
            audit_id=str(entry.pk),
        )
        commands.cancel_job(target, now=now)
    except (BrokerUnavailable, OutcomeUnknown):
        return


def _refuse(wish: OperationWish, verb: str, operation: Operation, code: str, sentence: str) -> Outcome:
    status = CHANGED if code == "changed" else REFUSED
    about_it = _about(wish, verb, operation)
    entry = ledger.record_refusal(**about_it, status=status, decision_code=code, outcome=sentence)
    return Outcome(status, sentence, entry)


def _about(wish: OperationWish, verb: str, operation: Operation) -> dict[str, Any]:
    """The fields of an audit entry; its subject is the newest job, by which the acts on an operation are found."""
    return {
        "actor": wish.actor,
        "verb": verb,
        "subject": operation.job_id,
        "connection": operation.connection,
        "queue": operation.queue,
        "job_type": operation.job_type,
        "reason": wish.reason,
        "now": wish.now,
    }


LEFT_TO_THE_OBSERVER = "It could not be put on its queue from here: the observer does that within about a minute."
QUEUED_AFRESH = "The operation is queued again, as a new job."
