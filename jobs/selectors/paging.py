"""Pages of a long list: each begins beyond a place, which stands in the address and outlives the row that had it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Generic, TypeVar

PAGE_SIZE = 50

_TIMED = re.compile(r"(\d{1,17})-(\d{1,18})", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Row = TypeVar("Row")
Place = TypeVar("Place")


@dataclass(frozen=True)
class Sheet(Generic[Row, Place]):
    """Rows of one page in the order of the list, and the places before and after which there are more; else None."""

    rows: Sequence[Row]
    first: Place | None
    last: Place | None


@dataclass(frozen=True)
class TimedPlace:
    """The place of a row in a list by time, as it stands in an address; the row itself need not be there."""

    at: datetime
    pk: int

    def encode(self) -> str:
        """The place as text for an address."""
        return f"{stamp_of(self.at)}-{self.pk}"

    @classmethod
    def decode(cls, text: str) -> TimedPlace:
        """The place in an address. Raises ValueError for anything that `encode` did not make."""
        match = _TIMED.fullmatch(text)
        if match is None:
            raise ValueError("This address does not name a place in the list.")
        return cls(time_of_stamp(match[1]), int(match[2]))


def read_sheet(
    read: Callable[[Place | None, bool], Sequence[Row]],
    place_of: Callable[[Row], Place],
    *,
    after: Place | None,
    before: Place | None,
) -> Sheet[Row, Place]:
    """The first page of a list, the one after a place, or the one before it; of two places `before` counts.

    `read(place, is_backwards)` gives up to PAGE_SIZE + 1 rows beyond a place, from there on, or from the end of the
    list. Where those before a place fill no page, the first page has them all.
    """
    if before is not None:
        rows = read(before, True)
        if len(rows) > PAGE_SIZE:
            shown = rows[PAGE_SIZE - 1 :: -1]
            return Sheet(shown, place_of(shown[0]), place_of(shown[-1]))
        after = None
    rows = read(after, False)
    shown = rows[:PAGE_SIZE]
    first = place_of(shown[0]) if shown else after
    return Sheet(shown, first if after is not None else None, place_of(shown[-1]) if len(rows) > PAGE_SIZE else None)


def stamp_of(at: datetime) -> str:
    """A time as it stands in an address: microseconds since 1970."""
    return str((at - _EPOCH) // timedelta(microseconds=1))


def time_of_stamp(stamp: str) -> datetime:
    """The time of a stamp of at most 17 digits."""
    return _EPOCH + timedelta(microseconds=int(stamp))
