"""Who was faster: whoever loses a race for a job is told to whom."""

from __future__ import annotations

from datetime import datetime, timedelta

from jobs import ledger
from jobs.actions.outcomes import DONE, SENTENCES, UNKNOWN
from jobs.models import AuditEntry, Queue

RECENTLY = timedelta(minutes=2)


def rival_sentence(
    queue: Queue,
    job_id: str,
    now: datetime,
    *,
    seen: str | None = None,
    but: AuditEntry | None = None,
    otherwise: str = SENTENCES["changed"][1],
) -> str:
    """Says whose act on this job came first, a moment ago; `otherwise` when none is on record, `but` left aside.

    `seen`: only an act on the job as it was seen made it another; one before that changed nothing for this person.
    """
    entries = [
        entry
        for entry in ledger.entries_of_job(queue.connection, queue.name, job_id, limit=50)
        if entry.created_at > now - RECENTLY
        and entry.verb in _WORDS
        and (but is None or entry.pk != but.pk)
        and (seen is None or entry.seen == seen)
    ]
    for status in (DONE, UNKNOWN):
        if rival := next((entry for entry in entries if entry.status == status), None):
            return f"Not done: {rival.actor_name} {_WORDS[rival.verb][status != DONE]} this job."
    return otherwise


_WORDS = {
    "retry_job": ("has just retried", "is already retrying"),
    "delete_job": ("has just deleted", "is already deleting"),
    "cancel_job": ("has just cancelled", "is already cancelling"),
    "stop_job": ("has just stopped", "is already stopping"),
    "enqueue_job": ("has just queued", "is already queueing"),
    "remove_entry": ("has just struck off the entry of", "is already striking off the entry of"),
}
"""By verb: for an act that is done, and for one that is not known to be."""
