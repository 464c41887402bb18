"""What the job-safety layer needs of RQ: the job in hand, a retry by RQ's own engine, and putting a job on its queue.

Tested with RQ 2.12 and 3.0. Nothing of the workers is subclassed or replaced.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import rq
from redis import Redis, exceptions
from rq.decorators import job as rq_job
from rq.worker import BaseWorker

from jobs.broker import connections
from jobs.broker.errors import BrokerUnavailable

META = "opsboard_operation"
"""Under this name a job's meta tells which operation it was submitted for."""
RETRY_LIMIT = 1_000_000
"""RQ wants a bound on returned retries; the ledger counts attempts, so this one is never reached."""


@dataclass(frozen=True, kw_only=True)
class Dispatch:
    """How a job is enqueued: seconds, None for RQ's own default; `serializer` as an import path, '' for RQ's pickle."""

    timeout: int | None = None
    result_ttl: int | None = None
    failure_ttl: int | None = None
    serializer: str = ""

    def to_json(self) -> dict[str, Any]:
        """As the ledger keeps it."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Dispatch:
        """As `to_json` wrote it."""
        return cls(**{name: stored[name] for name in cls.__dataclass_fields__ if name in stored})


@dataclass(frozen=True, kw_only=True)
class JobInHand:
    """The RQ job that this process runs now.

    `timeout_seconds`: None without a limit. `operation_id`: that it was submitted for, None when it was just enqueued.
    `is_repeated`: RQ has retried it before.
    """

    queue: str
    job_id: str
    created_at: datetime | None
    execution_id: str
    worker_name: str
    timeout_seconds: int | None
    operation_id: str | None
    is_repeated: bool
    dispatch: Dispatch
    client: Redis

    def worker_field(self, name: str) -> str | None:
        """A field of its worker's hash, read now; None when it is not there. Raises BrokerUnavailable."""
        try:
            found = self.client.hget(f"{BaseWorker.redis_worker_namespace_prefix}{self.worker_name}", name)
        except exceptions.RedisError as error:
            raise BrokerUnavailable(connection_name(), type(error).__name__) from None
        return found.decode(errors="replace") if isinstance(found, bytes) else None


class OnRecord(Protocol):
    """What is on record of an operation that is to be delivered (jobs.models.Operation)."""

    operation_id: str
    connection: str
    queue: str
    job_id: str
    job_type: str
    args: Any
    dispatch: Any


@dataclass(frozen=True)
class Declared:
    """What RQ's `@job` says of a function: its queue, and how it is enqueued."""

    queue: rq.Queue
    dispatch: Dispatch


def job_in_hand() -> JobInHand | None:
    """The job that runs in this process; None outside a worker."""
    job = rq.get_current_job()
    if job is None:
        return None
    timeout = int(job.timeout) if job.timeout is not None else None
    return JobInHand(
        queue=job.origin or "",
        job_id=job.id,
        created_at=_aware(job.created_at),
        execution_id=str(getattr(job, "execution_id", None) or ""),
        worker_name=job.worker_name or "",
        timeout_seconds=timeout if timeout and timeout > 0 else None,
        operation_id=_operation_of(job),
        is_repeated=bool(job.number_of_retries),
        dispatch=Dispatch(
            timeout=timeout,
            result_ttl=job.result_ttl,
            failure_ttl=job.failure_ttl,
            serializer=_path_of(job.serializer),
        ),
        client=job.connection,
    )


def automatic_retry(after: timedelta) -> rq.Retry:
    """What a job returns so that RQ runs it again: not before `after`, which RQ's schedule keeps by whole seconds.

    RQ cuts a due time to its second, so one second more is asked for.
    """
    seconds = max(after.total_seconds(), 0)
    return rq.Retry(max=RETRY_LIMIT, interval=math.ceil(seconds) + 1 if seconds else 0)


def declared_by(delay: Callable[..., Any] | None) -> Declared | None:
    """What stands in RQ's or django-rq's `@job` above a function, read from the `delay` that it has added.

    The decorator keeps that for itself, in RQ 2.12 and 3.0 alike as the `self` of a closure; None when it is not there.
    """
    cells = getattr(delay, "__closure__", None) or ()
    for cell in cells:
        decorator = cell.cell_contents
        if isinstance(decorator, rq_job):
            queue = decorator.queue
            if isinstance(queue, str):
                queue = decorator.queue_class(name=queue, connection=decorator.connection)
            return Declared(queue=queue, dispatch=_declared_dispatch(decorator, queue))
    return None


def push(declared: Declared, path: str, *, kwargs: Mapping[str, Any], job_id: str, operation_id: str) -> None:
    """Put a submitted operation on its queue. The description is its id: RQ's own repeats the call with its values.

    Somebody waits for the answer of the request that submits it, so a store that is silent is given up on soon.
    Raises BrokerUnavailable; then it may have been carried out or not.
    """
    queue = copy(declared.queue)
    queue.connection = connections.in_time(queue.connection)
    _enqueue(queue, declared.dispatch, path, kwargs, job_id, operation_id)


def push_again(operation: OnRecord) -> None:
    """Put an operation on its queue from another process than its own, which need not have its code.

    Raises BrokerUnavailable; then it may have been carried out or not.
    """
    dispatch = Dispatch.from_json(operation.dispatch)
    with connections.acting(operation.connection) as client:
        queue = rq.Queue(operation.queue, connection=client, serializer=dispatch.serializer or None)
    _enqueue(queue, dispatch, operation.job_type, operation.args, operation.job_id, operation.operation_id)


def can_push(connection: str) -> bool:
    """Whether RQ, in this process, uses the key prefix of that connection: it knows one only (RQ_KEY_PREFIX)."""
    own = rq.Queue.redis_queues_keys.removesuffix(":queues")
    return own == connections.get(connection).prefix


def connection_name() -> str:
    """How the connection that this process's workers use is called on the dashboard (OPSBOARD_CONNECTION)."""
    from django.conf import settings

    named: str | None = getattr(settings, "OPSBOARD_CONNECTION", None)
    return named or next(iter(connections.names()), "default")


# ----------------------------------------------------------------------------------------------------------------------


def _enqueue(
    queue: rq.Queue, dispatch: Dispatch, path: str, kwargs: Mapping[str, Any], job_id: str, operation_id: str
) -> None:
    try:
        queue.enqueue_call(
            path,
            kwargs=dict(kwargs),
            timeout=dispatch.timeout,
            result_ttl=dispatch.result_ttl,
            failure_ttl=dispatch.failure_ttl,
            job_id=job_id,
            description=operation_id,
            meta={META: operation_id},
        )
    except exceptions.RedisError as error:
        raise BrokerUnavailable(connection_name(), type(error).__name__) from None


def _declared_dispatch(decorator: rq_job, queue: rq.Queue) -> Dispatch:
    timeout = decorator.timeout or queue._default_timeout
    return Dispatch(
        timeout=int(timeout) if timeout else None,
        result_ttl=decorator.result_ttl,
        failure_ttl=decorator.failure_ttl,
        serializer=_path_of(queue.serializer),
    )


def _path_of(serializer: Any) -> str:
    """A class's import path; RQ's pickle, the default of both versions, is ''."""
    kind = serializer if isinstance(serializer, type) else type(serializer)
    path = f"{kind.__module__}.{kind.__qualname__}"
    return "" if path.endswith(".DefaultSerializer") or path.endswith(".PickleSerializer") else path


def _operation_of(job: rq.job.Job) -> str | None:
    meta: Any = job.meta
    named = meta.get(META) if isinstance(meta, dict) else None
    return named if isinstance(named, str) else None


def _aware(at: datetime | None) -> datetime | None:
    return at.replace(tzinfo=UTC) if at is not None and at.tzinfo is None else at
