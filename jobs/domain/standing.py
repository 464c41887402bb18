"""What stands on record about a job's earlier run, as far as it bears on running it again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, kw_only=True)
class Standing:
    """What people, or late evidence, have said of this job; nothing by default. `said_by`: '' for late evidence."""

    has_open_review: bool = False
    run_in_review: str = ""
    """The run that the open review asks about; '' without one."""
    has_happened: bool = False
    is_abandoned: bool = False
    said_by: str = ""
    said_at: datetime | None = None
    reason: str = ""
