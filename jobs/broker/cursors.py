"""A place in a list, as it stands in an address: stable while jobs come and go, also when its own row is gone."""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass


class BadCursor(ValueError):
    """The text is no cursor of ours; go back to the first page."""


@dataclass(frozen=True, kw_only=True)
class Cursor:
    """The row next to which a page begins. `rank` is where it stood then: a hint that saves a search, no more."""

    score: float
    queue: str
    member: bytes
    rank: int

    def encode(self) -> str:
        """The cursor as URL-safe text."""
        row = [repr(self.score), self.queue, self.member.decode("utf-8", "surrogateescape"), self.rank]
        return base64.urlsafe_b64encode(json.dumps(row).encode()).decode().rstrip("=")


def decode(text: str) -> Cursor:
    """The cursor in an address. Raises BadCursor for anything that `encode` did not make."""
    try:
        row = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        score, queue, member, rank = row
        return Cursor(
            score=float(score),
            queue=str(queue),
            member=str(member).encode("utf-8", "surrogateescape"),
            rank=max(0, min(int(rank), 2**40)),
        )
    except (ValueError, TypeError, OverflowError, RecursionError, binascii.Error):
        raise BadCursor("This address does not name a place in the list.") from None
