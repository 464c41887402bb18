"""The index of failures: what was seen failed, and what became of it."""

from __future__ import annotations

from datetime import datetime
from hashlib import sha256

from jobs.models import AuditEntry, FailedJob


def digest_of(connection: str, queue: str, job_id: bytes | str) -> str:
    """The key of a job in the index, by its id's own bytes as Redis holds them."""
    raw = job_id if isinstance(job_id, bytes) else job_id.encode("utf-8", "surrogateescape")
    return sha256(b"\0".join((connection.encode(), queue.encode("utf-8", "surrogateescape"), raw))).hexdigest()[:32]


def failed_job(connection: str, queue: str, job_id: str) -> FailedJob | None:
    """The index's row of a job, if it was ever seen failed."""
    return FailedJob.objects.filter(digest=digest_of(connection, queue, job_id)).first()


def note_act(entry: AuditEntry, now: datetime) -> None:
    """What an act that was carried out means for the index; call it in the transaction that closes the act's entry."""
    place = _AFTER_ACT.get(entry.verb)
    if place is None or entry.status != AuditEntry.Status.DONE:
        return
    digest = digest_of(entry.connection, entry.queue, entry.subject)
    FailedJob.objects.filter(digest=digest).update(place=place, is_open=False, left_at=now)


def note_verdict(connection: str, queue: str, job_id: str, verdict: str) -> None:
    """What was said of a job in its review: somebody has looked after it, so it is open no longer."""
    FailedJob.objects.filter(digest=digest_of(connection, queue, job_id)).update(verdict=verdict, is_open=False)


_AFTER_ACT = {
    "retry_job": FailedJob.Place.MOVED,
    "enqueue_job": FailedJob.Place.MOVED,
    "delete_job": FailedJob.Place.DELETED,
    "remove_entry": FailedJob.Place.GONE,
}
"""Where an act leaves a failed job, by the act's verb."""
