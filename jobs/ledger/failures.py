"""The index of failures: what was seen failed, and what became of it."""

from __future__ import annotations

from hashlib import sha256

from jobs.models import FailedJob


def digest_of(connection: str, queue: str, job_id: bytes | str) -> str:
    """The key of a job in the index, by its id's own bytes as Redis holds them."""
    raw = job_id if isinstance(job_id, bytes) else job_id.encode("utf-8", "surrogateescape")
    return sha256(b"\0".join((connection.encode(), queue.encode("utf-8", "surrogateescape"), raw))).hexdigest()[:32]


def failed_job(connection: str, queue: str, job_id: str) -> FailedJob | None:
    """The index's row of a job, if it was ever seen failed."""
    return FailedJob.objects.filter(digest=digest_of(connection, queue, job_id)).first()
