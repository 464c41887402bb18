"""The guarded acts on jobs of the connection `default`, as the actions call them: a job is read, then acted on."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from jobs.broker import commands
from jobs.broker.commands import Target
from jobs.broker.details import read_job
from jobs.broker.records import JobDetail

MARK = b"opsboard:act:audit-1"
"""What an act on `target` leaves behind."""


def read(job_id, queue="orders") -> JobDetail | None:
    return read_job("default", queue, job_id, now=datetime.now(UTC))


def target(job_id, queue="orders", **changes) -> Target:
    """The job as it is seen now; `changes` to any field of the Target."""
    detail = read(job_id, queue)
    whole = Target(
        connection="default",
        queue=queue,
        job_id=job_id,
        seen=detail.seen if detail else "",
        deadline=datetime.now(UTC) + timedelta(seconds=30),
        audit_id="audit-1",
    )
    return replace(whole, **changes)


def requeue(where: Target) -> str:
    return commands.requeue_failed(where, now=datetime.now(UTC))


def delete(where: Target, *, group_id=None, dependency_ids=()) -> str:
    return commands.delete_job(where, group_id=group_id, dependency_ids=dependency_ids)


def cancel(where: Target) -> str:
    return commands.cancel_job(where, now=datetime.now(UTC))


def stop(where: Target, *, worker_name="nobody") -> str:
    return commands.stop_job(where, worker_name=worker_name)


def enqueue(where: Target) -> str:
    return commands.enqueue_now(where, now=datetime.now(UTC))


def remove(where: Target) -> str:
    return commands.remove_entry(where)
