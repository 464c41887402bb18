"""What happens to an operation and has no record of its own."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from jobs.domain.operations import DedupCause
from jobs.models import Attempt, Delivery, Effect, Operation, OperationEvent

Kind = OperationEvent.Kind


def note(
    operation: Operation,
    kind: str,
    *,
    now: datetime,
    code: str = "",
    text: str = "",
    attempt: Attempt | None = None,
    effect: Effect | None = None,
) -> OperationEvent:
    """Put something on record; in the caller's transaction."""
    return OperationEvent.objects.create(
        operation=operation, kind=kind, code=code, text=text, attempt=attempt, effect=effect, at=now
    )


def note_delivery(operation: Operation, job_id: str, cause: str, now: datetime, *, queue: str = "") -> None:
    """The operation was put on its queue as this RQ job, or was found on that queue or another."""
    Delivery.objects.create(
        operation=operation,
        connection=operation.connection,
        queue=queue or operation.queue,
        job_id=job_id,
        cause=cause,
        at=now,
    )


def operation_of_delivery(connection: str, queue: str, job_id: str) -> Operation | None:
    """The operation that this RQ job delivers, through the job-safety layer; None for a plain job."""
    found = Delivery.objects.filter(connection=connection, queue=queue, job_id=job_id)
    delivery = found.select_related("operation").order_by("-at", "-id").first()
    if delivery is not None:
        return delivery.operation
    # Dispatched a moment ago: its delivery is on record only once the push is known to have gone through.
    layered = Operation.objects.exclude(origin=Operation.Origin.PLAIN)
    return layered.filter(connection=connection, queue=queue, job_id=job_id).first()


def operations_of_deliveries(connection: str, jobs: Collection[tuple[str, str]]) -> dict[tuple[str, str], Operation]:
    """The same for many RQ jobs by (queue, job id): those that deliver an operation; two queries, none for none."""
    if not jobs:
        return {}
    # By their queues too, though the ids alone would do: only so an index finds them.
    named = {
        "connection": connection,
        "queue__in": {queue for queue, _id in jobs},
        "job_id__in": {one for _, one in jobs},
    }
    layered = Operation.objects.exclude(origin=Operation.Origin.PLAIN)
    dispatched = layered.filter(**named)
    found = {(one.queue, one.job_id): one for one in dispatched.order_by("created_at", "id")}
    delivered = Delivery.objects.filter(**named).select_related("operation")
    found |= {(one.queue, one.job_id): one.operation for one in delivered.order_by("at", "id")}
    return {place: operation for place, operation in found.items() if place in jobs}


def dedup_cause(operation: Operation, job_id: str, *, was_abandoned: bool) -> DedupCause:
    """What brought a delivery that was not needed (protocol, 1.2): told by the newest delivery of that job."""
    if was_abandoned:
        return DedupCause.RQ_ABANDONED
    if job_id != operation.job_id and not operation.deliveries.filter(job_id=job_id).exists():
        return DedupCause.DOUBLE_SUBMIT
    newest = operation.deliveries.filter(job_id=job_id).order_by("at", "id").last()
    return _BY_DELIVERY.get(newest.cause if newest else "", DedupCause.QUEUE_REDELIVERY)


_BY_DELIVERY = {
    **dict.fromkeys(("never_queued", "lost", "retry", "takeover"), DedupCause.SWEEPER),
    **dict.fromkeys(("operator", "review"), DedupCause.MANUAL_RETRY),
}
