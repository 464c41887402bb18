"""What the index says, for tests to hold against what Redis said."""

from __future__ import annotations

import zlib

from jobs.ledger.failures import digest_of
from jobs.models import FailedJob


def row(job_id, queue="orders") -> FailedJob:
    """The row of a job, by its id as text or as the bytes that Redis has."""
    return FailedJob.objects.get(digest=digest_of("default", queue, job_id))


def ids(**narrowed) -> list[str]:
    """The ids of all rows, sorted."""
    return sorted(FailedJob.objects.filter(**narrowed).values_list("job_id", flat=True))


def attempts(job_id) -> list[tuple[str, str]]:
    """Kind and error line of each attempt on record, the newest first."""
    return list(row(job_id).attempts.values_list("kind", "error_line"))


def text(attempt) -> str:
    """An attempt's traceback as it is kept."""
    return zlib.decompress(attempt.compressed_text).decode()
