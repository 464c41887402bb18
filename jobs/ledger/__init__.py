"""The only writer of what SQL remembers: acts (audit.py), failures (failures.py), operations and reviews (reviews.py)."""

from __future__ import annotations

from jobs.ledger.audit import (
    close_entry,
    deletion_of_job,
    entries_about,
    entries_of_batch,
    entries_of_job,
    open_entry,
    record_change,
    record_refusal,
)

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
