"""Operations on record, one per job, and what was said of each in its reviews."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from hashlib import sha256

from django.db import IntegrityError

from jobs.domain.standing import Standing
from jobs.domain.verdicts import Verdict
from jobs.models import Operation, Resolution, Review


def plain_operation_id(connection: str, job_id: str) -> str:
    """The operation id of an RQ job that never heard of opsboard; a later job of the same id has a longer one."""
    return f"rq:{connection}:{job_id}"


def operation_of_job(connection: str, queue: str, job_id: str) -> Operation | None:
    """The operation on record for this job, if there is one: of the last that had this id, where several had."""
    operations = Operation.objects.filter(connection=connection, queue=queue, job_id=job_id)
    return operations.order_by("-created_at", "-id").first()


def standing_of(connection: str, queue: str, job_id: str, job_created_at: datetime | None) -> Standing:
    """What was said of the job in its reviews. Of another job that had this id before, nothing counts."""
    operation = Operation.objects.filter(
        connection=connection, queue=queue, job_id=job_id, job_created_at=job_created_at
    ).first()
    if operation is None:
        return Standing()
    review = open_review_of(operation)
    return replace(said_of(operation), has_open_review=review is not None, run_in_review=review.run if review else "")


def said_of(operation: Operation) -> Standing:
    """That it took effect, said of whichever run, holds for good; that it may have, until it is known that it did."""
    for verdict in (Verdict.HAPPENED, Verdict.ABANDON):
        said = Resolution.objects.filter(review__operation=operation, verdict=verdict).order_by("created_at").last()
        if said is not None:
            return Standing(
                has_happened=verdict is Verdict.HAPPENED,
                is_abandoned=verdict is Verdict.ABANDON,
                said_by=said.actor_name,
                said_at=said.created_at,
                reason=said.reason,
            )
    return Standing()


def open_review_of(operation: Operation) -> Review | None:
    """The review that is open for the operation."""
    return operation.reviews.filter(closed_at=None).first()


def operation_for(
    connection: str, queue: str, job_id: str, *, job_created_at: datetime | None, job_type: str, now: datetime
) -> Operation:
    """The operation of this job, made when it has none yet."""

    def found_or_made() -> Operation:
        operation, _is_new = Operation.objects.get_or_create(
            connection=connection,
            queue=queue,
            job_id=job_id,
            job_created_at=job_created_at,
            defaults={
                "operation_id": _free_operation_id(connection, queue, job_id, job_created_at),
                "job_type": job_type,
                "status": Operation.Status.UNKNOWN,
                "created_at": now,
                "updated_at": now,
            },
        )
        return operation

    try:
        return found_or_made()
    except IntegrityError:
        # Another job that had the same id has taken the usual operation id since we looked.
        return found_or_made()


def set_status(operation: Operation, status: str, code: str, text: str, now: datetime) -> None:
    """Say where the operation stands, and why: a code and a sentence."""
    Operation.objects.filter(pk=operation.pk).update(status=status, reason_code=code, reason_text=text, updated_at=now)


def _free_operation_id(connection: str, queue: str, job_id: str, job_created_at: datetime | None) -> str:
    """The usual one, if no other job had this id before, be it in another queue, whose readers are others."""
    usual = plain_operation_id(connection, job_id)
    if not Operation.objects.filter(operation_id=usual).exists():
        return usual
    return f"{usual}@{sha256(f'{queue}/{job_created_at}'.encode()).hexdigest()[:12]}"
