"""Whether two looks at a job saw the same run of it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

START_UP = timedelta(seconds=30)
"""A worker dates the beginning of a run when it takes it, and once more when the process for it has begun.

RQ stores the second time with the run's end, so the start of a run that ended is a moment later than it was before.
"""


class Began(NamedTuple):
    """When a run was queued, and began."""

    enqueued_at: datetime | None
    started_at: datetime | None

    def is_of(self, other: Began) -> bool:
        """Whether both are of one run. Every run is queued anew; what no time is known of is like nothing else."""
        if self.started_at is None or other.started_at is None:
            return self == other and any(self)
        return self.enqueued_at == other.enqueued_at and abs(self.started_at - other.started_at) < START_UP
