"""The only writer of what SQL remembers: acts (audit.py, closing.py), failures, operations and their reviews."""

from __future__ import annotations

from jobs.ledger.audit import (
    deletion_of_job,
    entries_about,
    entries_of_batch,
    entries_of_job,
    open_entry,
    record_change,
    record_refusal,
)
from jobs.ledger.closing import close_entry

__all__ = [
    "close_entry",
    "deletion_of_job",
    "entries_about",
    "entries_of_batch",
    "entries_of_job",
    "open_entry",
    "record_change",
    "record_refusal",
]
