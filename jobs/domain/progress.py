"""How far a job says it is, for people: a count, what it is a count of, and how much that is of the whole."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """`total`: None while nobody knows it. Either may be anything that a job came to say."""

    done: int
    total: int | None = None

    @property
    def percent(self) -> int | None:
        """Rounded down, so that 100 is all; None where a share would say nothing."""
        if not self.total or self.is_beyond:
            return None
        return self.done * 100 // self.total

    @property
    def is_beyond(self) -> bool:
        """More is done than there was to do: the total was a guess, or has changed since."""
        return self.total is not None and self.done > self.total
