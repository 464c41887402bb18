"""What people did: an entry before the act, closed once after it."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import QuerySet

from jobs.ledger.database import own_transaction
from jobs.models import AuditEntry

MAX_TEXT = 2000
"""Characters of a reason or an outcome that are kept."""


def open_entry(*, actor: User, verb: str, subject: str, now: datetime, **details: Any) -> AuditEntry:
    """Write and commit the intent to act. Raises RuntimeError inside a transaction, which could still undo it.

    `details` are fields of AuditEntry: connection, queue, job_type, seen, decision_code, reason, deadline_at.
    """
    with own_transaction():
        return open_entry_within(actor=actor, verb=verb, subject=subject, now=now, **details)


def open_entry_within(*, actor: User, verb: str, subject: str, now: datetime, **details: Any) -> AuditEntry:
    """The same inside a transaction that commits more than the entry, and before the act."""
    return _create(actor=actor, verb=verb, subject=subject, created_at=now, **details)


def close_once(entry: AuditEntry, *, status: str, outcome: str, now: datetime) -> bool:
    """Say once what became of it, and nothing else: acts are closed by ledger.close_entry."""
    changed = AuditEntry.objects.filter(pk=entry.pk, status=AuditEntry.Status.INTENDED).update(
        status=status, outcome=outcome, closed_at=now
    )
    entry.refresh_from_db()
    return bool(changed)


def record_refusal(
    *,
    actor: User,
    verb: str,
    subject: str,
    outcome: str,
    now: datetime,
    status: AuditEntry.Status = AuditEntry.Status.REFUSED,
    **details: Any,
) -> AuditEntry:
    """An act that was asked for and not attempted: open and closed in one write."""
    return _create(
        actor=actor,
        verb=verb,
        subject=subject,
        status=status,
        outcome=outcome,
        created_at=now,
        closed_at=now,
        **details,
    )


def record_change(*, actor: User, verb: str, subject: str, now: datetime, **details: Any) -> AuditEntry:
    """A change in our own database; call it in the transaction that makes the change, so that both hold or neither."""
    return _create(
        actor=actor,
        verb=verb,
        subject=subject,
        status=AuditEntry.Status.DONE,
        created_at=now,
        closed_at=now,
        **details,
    )


def entries_of_job(connection: str, queue: str, job_id: str, *, limit: int = 50) -> QuerySet[AuditEntry]:
    """What people did or asked for about one job, newest first."""
    return AuditEntry.objects.filter(connection=connection, queue=queue, subject=job_id)[:limit]


def deletion_of_job(connection: str, queue: str, job_id: str) -> AuditEntry | None:
    """The act by which a job was deleted here, if it was."""
    entries = AuditEntry.objects.filter(connection=connection, queue=queue, subject=job_id)
    return entries.filter(verb="delete_job", status=AuditEntry.Status.DONE).first()


def entries_of_batch(batch: UUID, actor: User) -> QuerySet[AuditEntry]:
    """What became of one press of this person on many jobs, in the order of the acts."""
    return AuditEntry.objects.filter(batch=batch, actor=actor).order_by("created_at", "id")


def entries_about(verb: str, subject: str, *, limit: int = 50) -> QuerySet[AuditEntry]:
    """Acts of one kind about one thing that is not a job, newest first."""
    return AuditEntry.objects.filter(verb=verb, subject=subject)[:limit]


def _create(*, actor: User, **details: Any) -> AuditEntry:
    fitting = {name: _fitting(name, value) for name, value in details.items()}
    return AuditEntry.objects.create(actor=actor, actor_name=actor.get_username(), **fitting)


def _fitting(name: str, value: Any) -> Any:
    """Text as the column takes it: what people send may be longer, or hold a NUL, which PostgreSQL refuses."""
    if not isinstance(value, str):
        return value
    return value.replace("\0", "")[: getattr(AuditEntry._meta.get_field(name), "max_length", None) or MAX_TEXT]
