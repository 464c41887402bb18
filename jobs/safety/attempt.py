"""What a job can ask and say about the attempt that it runs in: whether it is the last one, and how far it is."""

from __future__ import annotations

import time

from django.db import DatabaseError, InterfaceError

from jobs.ledger.progress import note_progress
from jobs.safety.logs import warn
from jobs.safety.running import current

REPORT_SECONDS = 1.0


def is_last_attempt() -> bool:
    """Whether no other attempt follows by itself if this one fails, so that whoever waits must be told now.

    Somebody may still run it again by hand. A process that dies says nothing: what people are told must not rest on
    this alone. Raises MisuseError outside a job.
    """
    operation = current().operation
    return operation.attempts_used >= operation.max_attempts


def report_progress(done: int, total: int | None = None) -> None:
    """How far the job is, in units of its own, for those who wait and those who look after it; `total` if it is known.

    Call it as often as you like, outside of a transaction: it is written once a second, and when all is done. What
    can't be written is no reason to fail, and an attempt that was taken over changes nothing. Raises MisuseError
    outside a job.
    """
    running = current()
    if done != total and time.monotonic() - running.reported_at < REPORT_SECONDS:
        return
    running.reported_at = time.monotonic()
    try:
        note_progress(running.operation, running.attempt, done, total)
    except (DatabaseError, InterfaceError) as error:
        warn("progress not noted", why=type(error).__name__)
