"""What a job can ask and say about the attempt that it runs in: whether it is the last one, and how far it is."""

from __future__ import annotations

import operator
import time
from typing import SupportsIndex

from django.db import DatabaseError, InterfaceError

from jobs.ledger.progress import note_progress
from jobs.ledger.prospects import goes_on_after_failure
from jobs.safety.errors import MisuseError
from jobs.safety.logs import warn
from jobs.safety.running import Running, current

REPORT_SECONDS = 1.0
LARGEST_NUMBER = 2**63 - 1
"""What both databases can hold."""


def is_last_attempt() -> bool:
    """Whether no other attempt follows by itself if this one fails, so that whoever waits must be told now.

    By the table, as of now: the attempts that are left, and an effect in doubt, after which a person is asked, or the
    other side. What an error means by itself (PermanentError, bad_data) is for the caller to know. Somebody may still
    run it again by hand; and a process that dies says nothing, so what people are told must not rest on this alone.
    Raises MisuseError outside a job, and nothing else: a database that is gone leaves what was so at the claim.
    """
    running = current()
    try:
        return not goes_on_after_failure(running.operation, running.attempt)
    except (DatabaseError, InterfaceError):
        return running.operation.attempts_used >= running.operation.max_attempts


def report_progress(done: int, total: int | None = None) -> None:
    """How far the job is, in units of its own, for those who wait and those who look after it; `total` if it is known.

    Call it as often as you like: it is written once a second, and when all is done; within a transaction not at all,
    since nobody would see it. A total may change, and may turn out too small. What can't be written is no reason to
    fail, and an attempt that was taken over changes nothing. Raises MisuseError outside a job, and for what is no
    whole number; one that can't be is taken for the nearest that can.
    """
    running = current()
    done, total = _number(done), None if total is None else _number(total)
    if not _is_due(running, is_all=done == total):
        return
    try:
        note_progress(running.operation, running.attempt, done, total)
    except RuntimeError:
        # Within a transaction of the job's. The first report after it is due at once.
        return
    except (DatabaseError, InterfaceError) as error:
        warn("progress not noted", why=type(error).__name__)
    running.reported_at, running.has_reported_all = time.monotonic(), done == total


def _number(given: SupportsIndex) -> int:
    try:
        number = int(operator.index(given))
    except TypeError:
        kind = type(given).__name__
        raise MisuseError(f"Progress is counted in whole numbers, not in a {kind}: report_progress(12, 40).") from None
    return min(max(number, 0), LARGEST_NUMBER)


def _is_due(running: Running, *, is_all: bool) -> bool:
    """A second after the last one; that all is done is said at once, but once only."""
    is_time = time.monotonic() - running.reported_at >= REPORT_SECONDS
    return is_time or (is_all and not running.has_reported_all)
