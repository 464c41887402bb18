"""The end of an act: its entry is closed, and what follows from it for the other records, all or nothing."""

from __future__ import annotations

from datetime import datetime

from jobs.ledger import audit, failures, operator_acts, reviews
from jobs.ledger.database import same_transaction
from jobs.models import AuditEntry


def close_entry(entry: AuditEntry, *, status: str, outcome: str, now: datetime) -> bool:
    """Say once what became of an act. Returns False when somebody else has closed the entry before."""
    with same_transaction():
        if not audit.close_once(entry, status=status, outcome=outcome, now=now):
            return False
        if status == AuditEntry.Status.DONE:
            # Reviews before failures, as every writer of both: in one order nobody waits for the other.
            reviews.conclude_retry(entry, now)
            failures.note_act(entry)
            operator_acts.note_requeue(entry, now)
        return True
