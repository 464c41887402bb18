"""Submitting: the operation is created in the caller's transaction, and queued once that is committed (W0 to W2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

from django.db import DatabaseError, InterfaceError, transaction

from jobs.broker import deliveries
from jobs.broker.deliveries import Declared
from jobs.broker.errors import BrokerUnavailable
from jobs.ledger import adoption
from jobs.ledger.database import alias
from jobs.models import Operation
from jobs.safety.calls import Call
from jobs.safety.errors import ArgumentsDiffer, MisuseError
from jobs.safety.logs import warn
from jobs.safety.operation import JobKind
from jobs.safety.points import point
from jobs.safety.setup import needing_tables


def submit(kind: JobKind, call: Call, delay: Callable[..., Any] | None) -> Operation:
    """The operation of this call: a new one, which is queued on commit, or the one that there is already.

    Raises ArgumentsDiffer when its id belongs to a call with other arguments (R3), MisuseError without a queue.
    """
    declared = deliveries.declared_by(delay)
    if declared is None:
        raise MisuseError(f"{kind.path} has no queue: put RQ's or django-rq's @job above @operation.")
    if declared.dispatch.timeout is None or declared.dispatch.timeout <= 0:
        raise MisuseError(f"{kind.path} has no time limit, so it would never be known dead: give @job a timeout.")
    with needing_tables():
        operation, is_new = _accept(kind, call, declared)
    if not is_new:
        _require_same(kind, call, operation)
        adoption.note_double_submit(operation)
    point("after_accept")
    if is_new:
        transaction.on_commit(lambda: _dispatch(operation, call, declared), using=alias())
    return operation


def _require_same(kind: JobKind, call: Call, operation: Operation) -> None:
    is_same = adoption.is_same_call(
        operation,
        job_types=(kind.path, *kind.formerly),
        args=call.args,
        args_fingerprint=call.fingerprint,
        defaults=call.defaults,
    )
    if not is_same:
        raise ArgumentsDiffer(
            f"{call.operation_id} belongs to another call, of {operation.job_type}: use another operation id."
        )


def _accept(kind: JobKind, call: Call, declared: Declared) -> tuple[Operation, bool]:
    return adoption.accept(
        call.operation_id,
        args_fingerprint=call.fingerprint,
        args=dict(call.args),
        entity=call.entity[:200],
        connection=deliveries.connection_name(),
        queue=declared.queue.name,
        job_id=uuid4().hex,
        job_type=kind.path,
        dispatch=declared.dispatch.to_json(),
        policy=kind.retry.to_json(),
        max_attempts=kind.retry.max_attempts,
        declared_effects=list(kind.effects),
    )


def _dispatch(operation: Operation, call: Call, declared: Declared) -> None:
    """After the commit: whatever goes wrong now, the operation is accepted, and the observer queues it later (C2)."""
    point("before_push")
    try:
        deliveries.push(
            declared,
            operation.job_type,
            kwargs=call.args,
            job_id=operation.job_id,
            operation_id=operation.operation_id,
        )
    except BrokerUnavailable as silence:
        warn("accepted, not queued yet", operationId=operation.operation_id, why=str(silence))
        return
    point("after_push")
    try:
        adoption.mark_queued(operation.pk, operation.job_id)
    except (DatabaseError, InterfaceError) as error:
        warn("queued, not noted", operationId=operation.operation_id, why=type(error).__name__)
