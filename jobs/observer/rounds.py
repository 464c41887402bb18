"""Work that goes through everything there is, in small steps, again and again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

LEAST_PERIOD = timedelta(seconds=30)
SHARE = 4
"""A round begins at the earliest so many times its duration after it began last: three quarters of the time are quiet.

One that takes 12 seconds thus meets whatever changes within a minute: its period, and the time until it is there.
"""
AGAIN_AFTER_TROUBLE = timedelta(seconds=5)


@dataclass
class Round:
    """One such work. `begin` starts it anew and yields between its steps."""

    begin: Callable[[], Iterator[int]]
    due_at: datetime | None = None
    """When the next one begins; None at once."""
    began_at: datetime | None = None
    ended_at: datetime | None = None
    """When the last one came to its end."""
    seconds: float | None = None
    """How long that one took."""
    _steps: Iterator[int] | None = None

    def is_due(self, now: datetime) -> bool:
        """Whether there is something to be done: a round goes on, or it is time for the next."""
        return self._steps is not None or self.due_at is None or now >= self.due_at

    def step(self, clock: Callable[[], datetime]) -> None:
        """Go one step on, or begin. Raises what the work raises; then it begins anew a little later."""
        if self._steps is None:
            self._steps, self.began_at = self.begin(), clock()
        try:
            is_over = next(self._steps, None) is None
        except Exception:
            # Whatever it was: a generator that raised is at its end, so the round can't go on and has to begin anew.
            self._steps, self.due_at = None, clock() + AGAIN_AFTER_TROUBLE
            raise
        if is_over:
            self._end(clock())

    def _end(self, now: datetime) -> None:
        began = self.began_at or now
        self._steps, self.ended_at, self.seconds = None, now, (now - began).total_seconds()
        self.due_at = began + max(LEAST_PERIOD, SHARE * (now - began))
