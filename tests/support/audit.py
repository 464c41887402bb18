"""Entries of the audit, as acts leave them, without the acts."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from jobs.models import AuditEntry


def entry(now: datetime, *, ago: float = 0, **changes: Any) -> AuditEntry:
    """One act on a job of orders by otto, so many seconds ago; `changes` to any field."""
    made = _entry(now - timedelta(seconds=ago), changes)
    made.save(force_insert=True)
    return made


def entries(now: datetime, count: int, **changes: Any) -> list[AuditEntry]:
    """Many of them, the newest first; each two are of one moment."""
    made = [_entry(now - timedelta(seconds=number // 2), changes) for number in range(count)]
    AuditEntry.objects.bulk_create(made)
    return sorted(made, key=lambda one: (one.created_at, one.pk), reverse=True)


def _entry(at: datetime, changes: dict[str, Any]) -> AuditEntry:
    about = {"actor_name": "otto", "verb": "retry_job", "connection": "default", "queue": "orders", "subject": "job-7"}
    return AuditEntry(**{**about, "status": "done", "created_at": at, "closed_at": at, **changes})
