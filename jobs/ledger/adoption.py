"""New operations of the job-safety layer: submitted with the business data, or adopted from a job on a queue."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.db import IntegrityError

from jobs.domain.backoff import Backoff
from jobs.domain.operations import DedupCause
from jobs.domain.operations import OperationStatus as Status
from jobs.ledger import events
from jobs.ledger.database import now as database_now
from jobs.ledger.database import outlasting_locks, own_transaction, same_transaction
from jobs.ledger.moves import queue_grace
from jobs.models import Operation

if TYPE_CHECKING:
    from jobs.ledger.attempts import Delivered


def accept(operation_id: str, **fields: Any) -> tuple[Operation, bool]:
    """The operation of this id, created in the caller's transaction unless there is one, and whether it is new (W0).

    `fields`: those of Operation that describe the call. The caller asks `is_same_call` of one that was there, and
    notes a repeat.
    """
    now = database_now()
    found = Operation.objects.filter(operation_id=operation_id).first()
    if found is None:
        made = _create(
            now,
            operation_id=operation_id,
            origin=Operation.Origin.SUBMITTED,
            status=Status.ACCEPTED,
            due_at=now + queue_grace(),
            **fields,
        )
        if made is not None:
            return made, True
        found = Operation.objects.get(operation_id=operation_id)
    return found, False


def note_double_submit(operation: Operation) -> None:
    """It was submitted again, and the caller was given the one that there is."""
    text = "It was submitted again; nothing was queued for that."
    events.note(operation, events.Kind.DEDUP, now=database_now(), code=DedupCause.DOUBLE_SUBMIT, text=text)


def is_same_call(
    operation: Operation,
    *,
    job_types: Collection[str],
    args: Mapping[str, Any],
    args_fingerprint: str,
    defaults: Mapping[str, Any],
) -> bool:
    """Whether this call is the operation's own (protocol, R3).

    `job_types`: the function's path, and those that it had before. Two functions whose ids come out the same are two
    intents: one must not pass for the repeat of the other. `defaults`: of the function's parameters now. One that a
    release has added since is no other call, as long as it has its default: otherwise a deployment would turn away
    all that is under way.
    """
    if operation.job_type not in job_types:
        return False
    if operation.args_fingerprint == args_fingerprint:
        return True
    return _canonical({**defaults, **operation.args}) == _canonical(args)


@outlasting_locks
def mark_queued(operation_pk: int, job_id: str) -> bool:
    """The push went through (W2). False when a worker has claimed it in the meantime, which says as much."""
    with own_transaction():
        now = database_now()
        waiting = Operation.objects.filter(pk=operation_pk, status=Status.ACCEPTED, job_id=job_id)
        is_first = bool(
            waiting.update(
                status=Status.QUEUED, reason_code="", dispatched_at=now, due_at=now + queue_grace(), updated_at=now
            )
        )
        operation = Operation.objects.get(pk=operation_pk)
        if not operation.deliveries.filter(job_id=job_id).exists():
            events.note_delivery(operation, job_id, "submit", now)
        return is_first


def adopt(delivered: Delivered, now: datetime) -> Operation:
    """The row for a job that was enqueued by `.delay()`, made at its first claim; of two at once one makes it."""
    made = _create(
        now,
        operation_id=delivered.operation_id,
        origin=Operation.Origin.ADOPTED,
        status=Status.QUEUED,
        connection=delivered.connection,
        queue=delivered.queue,
        job_id=delivered.job_id,
        job_type=delivered.job_type,
        args=delivered.args,
        args_fingerprint=delivered.args_fingerprint,
        entity=delivered.entity,
        dispatch=delivered.dispatch,
        policy=delivered.policy,
        declared_effects=list(delivered.declared_effects),
        max_attempts=Backoff.from_json(delivered.policy).max_attempts,
        due_at=now + queue_grace(),
    )
    return made or Operation.objects.select_for_update().get(operation_id=delivered.operation_id)


def _canonical(args: Mapping[str, Any]) -> str:
    """As text, for Python takes 1 and True for the same."""
    return json.dumps(args, sort_keys=True)


def _create(now: datetime, **fields: Any) -> Operation | None:
    """The new row; None when somebody else has made one of this id in the meantime."""
    try:
        with same_transaction():
            return Operation.objects.create(created_at=now, updated_at=now, **fields)
    except IntegrityError:
        if Operation.objects.filter(operation_id=fields["operation_id"]).exists():
            return None
        raise
