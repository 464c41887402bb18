"""Exports as SQL has them in each state, without a worker; of those that are ready, with their file."""

from __future__ import annotations

from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from exports.files import path_of
from exports.models import Export
from jobs.models import Attempt, Effect, Operation

CONTENT = "\ufeff" + '"number","amount"\r\n' + "".join(f'"O-{number:06}",{number}\r\n' for number in range(5000))
"""Of the files: a header and 5000 rows, larger than one piece of a stream."""


def lay_export(owner: User, status: str = "queued", *, requested_at: datetime | None = None, **columns: Any) -> Export:
    """An export whose operation is in this state. `done` and `total`: how far its job says it is."""
    at = requested_at or timezone.now() - timedelta(minutes=4)
    progress = {"progress_done": columns.pop("done", None), "progress_total": columns.pop("total", None)}
    export = Export(owner=owner, requested_at=at, **{"period": "2025", **columns})
    export.save(force_insert=True)
    export.operation = _operation(f"export:{export.pk}", "exports", status, at, **progress)
    export.save()
    return export


def lay_ready(owner: User, *, content: str = CONTENT, **columns: Any) -> Export:
    """One that is ready, and kept for another six days."""
    data, now = content.encode(), timezone.now()
    facts = {
        "rows": content.count("\n") - 1,
        "size": len(data),
        "sha256": sha256(data).hexdigest(),
        "ready_at": now - timedelta(minutes=2),
        "expires_at": now + timedelta(days=6),
    }
    export = lay_export(owner, "completed", **{**facts, **columns})
    path_of(export.pk).write_bytes(data)
    return export


def lay_mail(export: Export, status: str, effect: str = "") -> None:
    """A mail about it, whose operation and effect are in these states."""
    at = timezone.now() - timedelta(minutes=1)
    export.mail_operation = _operation(f"export-mail:{export.pk}", "mail", status, at)
    export.save()
    if effect:
        attempt = Attempt.objects.create(operation=export.mail_operation, number=1, fence=1, job_id="m", started_at=at)
        Effect.objects.create(
            operation=export.mail_operation,
            name="mail",
            idempotency="unsafe",
            status=effect,
            begun_by=attempt,
            begun_at=at,
            completed_at=at if effect == "completed" else None,
        )


def _operation(operation_id: str, queue: str, status: str, at: datetime, **columns: Any) -> Operation:
    return Operation.objects.create(
        operation_id=operation_id,
        origin="submitted",
        connection="default",
        queue=queue,
        job_id=f"job-{operation_id}",
        job_type="exports.tasks.build_export",
        status=status,
        created_at=at,
        updated_at=at,
        max_attempts=5,
        **columns,
    )
