"""Rows of the index of failures, written straight into it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from jobs.ledger.failures import OPEN_PLACES, digest_of
from jobs.models import FailedJob

LONG_AGO = datetime(2026, 3, 14, 15, 9, 26, tzinfo=UTC)
_NUMBERS = count()


def failure(queue: str = "orders", **fields: Any) -> FailedJob:
    """One failure, not saved; each later than the one made before it, unless `failed_at` says when it was."""
    number = next(_NUMBERS)
    job_id = fields.pop("job_id", f"job-{number}")
    usual = {
        "connection": "default",
        "queue": queue,
        "job_id": job_id,
        "digest": digest_of(fields.get("connection", "default"), queue, job_id),
        "job_type": "fx.boom",
        "error_class": "ValueError",
        "finding": "failed_known",
        "failed_at": LONG_AGO + timedelta(seconds=number),
        "noticed_at": LONG_AGO,
        "is_open": fields.get("place", "failed") in OPEN_PLACES and not fields.get("verdict"),
    }
    return FailedJob(**(usual | fields))


def failures(*rows: FailedJob) -> list[FailedJob]:
    """The same, saved."""
    return FailedJob.objects.bulk_create(rows)
