"""How long to wait before the next attempt: exponential, with full jitter (protocol, 3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

SHORTEST_SECONDS = 1.0
LONGEST_SECONDS = 366 * 86400.0
"""A year: what waits longer is a mistake in the unit."""


@dataclass(frozen=True)
class Backoff:
    """How an operation is retried. Raises ValueError, with the remedy, when it can't be kept to.

    `base`: the longest wait after the first failed attempt, in seconds; it doubles with each attempt up to `cap`.
    0 means at once. `max_lost`: so many attempts may end in the death of their process before the job itself is
    suspected (protocol, R17).
    """

    max_attempts: int = 5
    base: float = 30.0
    cap: float = 3600.0
    max_lost: int = 3

    def __post_init__(self) -> None:
        _require_count("max_attempts", self.max_attempts)
        _require_count("max_lost", self.max_lost)
        _require_seconds("base", self.base)
        _require_seconds("cap", self.cap)
        if self.cap < self.base:
            raise ValueError("cap is the longest wait: it can’t be below base, the wait after the first attempt.")

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Backoff:
        """As `to_json` wrote it; what is not there has its default, what is unknown is left out."""
        return cls(**{name: stored[name] for name in cls.__dataclass_fields__ if name in stored})

    def to_json(self) -> dict[str, int | float]:
        """As the ledger keeps it."""
        return asdict(self)

    def delay(self, attempt: int, *, chance: float) -> timedelta:
        """How long to wait after this attempt (1, 2, …) failed; `chance` is a random number from 0 to 1.

        Full jitter, so that jobs which failed together do not come back together; never below a second, unless base
        is 0. Raises ValueError outside these bounds.
        """
        if attempt < 1 or not 0 <= chance <= 1:
            raise ValueError("Attempts are counted from 1, and chance is a number from 0 to 1.")
        if not self.base:
            return timedelta()
        # 2.0**1024 overflows, and long before that every wait is at its cap.
        longest = min(self.cap, self.base * 2.0 ** min(attempt - 1, 64))
        return timedelta(seconds=max(chance * longest, SHORTEST_SECONDS))


# ----------------------------------------------------------------------------------------------------------------------


def _require_count(name: str, value: object) -> None:
    if type(value) is not int or value < 1:
        raise ValueError(f"{name} is how many attempts may be made: give a whole number from 1 on.")


def _require_seconds(name: str, value: object) -> None:
    seconds = value if isinstance(value, int | float) and not isinstance(value, bool) else -1
    # Written so that it fails for nan too, with which no comparison holds.
    if not 0 <= seconds <= LONGEST_SECONDS:
        raise ValueError(f"{name} is a wait in seconds: give a number from 0 to {LONGEST_SECONDS:.0f} (a year).")
