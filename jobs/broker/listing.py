"""Pages of RQ's sorted sets by keyset: one queue or many merged, two round trips at any depth and size.

Order: by score, the newest first (or the soonest first), then queue name, then member as Redis breaks ties.
Many failures share one score (RQ rounds it to the second), so a page cannot be cut by score alone: around the
row where the last page ended a window of ranks is read, and the cut is found by comparing. Should the set
have moved further than the window reaches, the place is searched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from jobs.broker import connections
from jobs.broker.connections import value
from jobs.broker.cursors import Cursor
from jobs.broker.guarded import ReadOnlyRedis

SLACK = 50
_PROBES = 16


class Entry(NamedTuple):
    """One member of a sorted set: where it is listed, and its rank there (0 is the first shown)."""

    queue: str
    member: bytes
    score: float
    rank: int


class Place(NamedTuple):
    """A sorted set to list: its queue's name and its key."""

    queue: str
    key: str


class Discovery(NamedTuple):
    """Where more places are named: a set of Redis, and what its members stand for."""

    key: str
    places: Callable[[Any], Sequence[Place]]


@dataclass(frozen=True, kw_only=True)
class Listing:
    """One page of entries in shown order. `total` counts all; the flags say whether there is more either way."""

    entries: tuple[Entry, ...]
    total: int
    has_newer: bool
    has_older: bool
    places: tuple[Place, ...] = ()
    """All that the page covers, those that were discovered too."""


def read_listing(
    client: ReadOnlyRedis,
    places: Sequence[Place],
    *,
    after: Cursor | None = None,
    before: Cursor | None = None,
    size: int = 50,
    soonest_first: bool = False,
    discovery: Discovery | None = None,
) -> Listing:
    """The `size` entries after (older than) or before (newer than) a cursor, or the first ones.

    Call inside `connections.reading`. One round trip, unless the set moved far since the cursor was made; one more
    where there are places to discover.
    """
    question = _Question(cursor=after or before, newer=before is not None, size=size, rising=soonest_first)
    sets = [_Set(place, question) for place in places]
    named = _read(client, sets, discovery.key if discovery else None)
    if discovery and (others := [_Set(place, question) for place in discovery.places(named) if place not in places]):
        _read(client, others)
        sets += others
    return _merge(sets, after, before, size)


def _read(client: ReadOnlyRedis, sets: Sequence[_Set], names: str | None = None) -> Any:
    """Fill the sets in one round trip, which also asks for the members of the key `names` and returns them."""
    pipeline = client.pipeline()
    if names:
        pipeline.smembers(names)
    asked = [one.ask(pipeline) for one in sets]
    answers = iter(connections.fetch(pipeline) if len(pipeline) else ())
    members = value(next(answers), ()) if names else ()
    for one, commands in zip(sets, asked, strict=True):
        one.take(client, *islice(answers, commands))
    return members


def _merge(sets: Sequence[_Set], after: Cursor | None, before: Cursor | None, size: int) -> Listing:
    if not sets:
        return Listing(entries=(), total=0, has_newer=False, has_older=False)
    ordered = sorted((entry for one in sets for entry in one.entries), key=sets[0].order)
    if before is not None:
        page, more = ordered[-size:], len(ordered) > size
        newer, older = more, True
    else:
        page, more = ordered[:size], len(ordered) > size
        newer, older = after is not None, more
    return Listing(
        entries=tuple(page),
        total=sum(one.card for one in sets),
        has_newer=newer,
        has_older=older,
        places=tuple(one.place for one in sets),
    )


@dataclass(frozen=True, kw_only=True)
class _Question:
    """What is wanted of every set: `size` entries on one side of the cursor; `rising` lists low scores first."""

    cursor: Cursor | None
    newer: bool
    size: int
    rising: bool


class _Set:
    """One sorted set on the way to a page: asks for what may be on it, then cuts at the cursor."""

    def __init__(self, place: Place, question: _Question) -> None:
        self.place = place
        self.queue, self.key = place
        self.cursor, self.newer = question.cursor, question.newer
        self.size, self.rising = question.size, question.rising
        self.is_cursors_own = self.cursor is not None and self.cursor.queue == self.queue
        self.card = self.start = 0
        self.entries: list[Entry] = []

    def order(self, entry: Entry) -> tuple[Any, ...]:
        return self._order(entry.score, entry.queue, entry.member)

    def _order(self, score: float, queue: str, member: bytes) -> tuple[Any, ...]:
        if self.rising:
            return (score, queue, member)
        # Redis breaks ties from the end when it reads backwards.
        return (-score, queue, (*(255 - byte for byte in member), 256))

    def ask(self, pipeline: Any) -> int:
        """Ask how many there are and for the entries around the cut; where their ranks can't be told from the cursor,
        also how many stand before it. Returns the number of commands.
        """
        pipeline.zcard(self.key)
        if self.cursor is None:
            self._range(pipeline, 0, self.size)
        elif self.is_cursors_own:
            self.start = max(0, self.cursor.rank - SLACK - (self.size if self.newer else 0))
            self._range(pipeline, self.start, self.cursor.rank + SLACK + (0 if self.newer else self.size))
        else:
            self._ask_by_score(pipeline, self.cursor.score, ties_wanted=(self.queue < self.cursor.queue) == self.newer)
            return 3
        return 2

    def _range(self, pipeline: Any, first: int, last: int) -> None:
        (pipeline.zrange if self.rising else pipeline.zrevrange)(self.key, first, last, withscores=True)

    def _ask_by_score(self, pipeline: Any, score: float, *, ties_wanted: bool) -> None:
        """Of another queue's entries with the cursor's own score, all are shown before it or all after it."""
        edge = f"{'' if ties_wanted else '('}{score!r}"
        before = f"{'(' if ties_wanted != self.newer else ''}{score!r}"
        if self.rising != self.newer:
            pipeline.zrangebyscore(self.key, edge, "+inf", start=0, num=self.size + 1, withscores=True)
        else:
            pipeline.zrevrangebyscore(self.key, edge, "-inf", start=0, num=self.size + 1, withscores=True)
        pipeline.zcount(self.key, *(("-inf", before) if self.rising else (before, "+inf")))

    def take(self, client: ReadOnlyRedis, card: Any, found: Any, shown_before: Any = None) -> None:
        self.card, entries = value(card, 0), value(found, [])
        if self.is_cursors_own:
            self.entries = self._cut(self._settled_window(client, entries))
        elif self.cursor is None:
            self.entries = self._window(entries, 0)
        else:
            first, step = (value(shown_before, 0) - 1, -1) if self.newer else (value(shown_before, 0), 1)
            self.entries = [
                Entry(self.queue, member, score, first + step * at) for at, (member, score) in enumerate(entries)
            ]

    def _settled_window(self, client: ReadOnlyRedis, found: list[tuple[bytes, float]]) -> list[Entry]:
        window = self._window(found, self.start)
        if self._covers(window):
            return window
        rank = self._search(client)
        pipeline = client.pipeline()
        self.start = max(0, rank - (self.size + 1 if self.newer else 0))
        self._range(pipeline, self.start, rank + (0 if self.newer else self.size + 1))
        return self._window(value(connections.fetch(pipeline)[0], []), self.start)

    def _window(self, found: list[tuple[bytes, float]], start: int) -> list[Entry]:
        return [Entry(self.queue, member, score, start + at) for at, (member, score) in enumerate(found)]

    def _side(self, entry: Entry) -> int:
        """-1, 0 or 1: the entry is shown before, at or after the cursor."""
        assert self.cursor is not None
        here, there = self.order(entry), self._order(self.cursor.score, self.cursor.queue, self.cursor.member)
        return (here > there) - (here < there)

    def _covers(self, window: list[Entry]) -> bool:
        if not window:
            return self.start == 0
        begins = self.start == 0 or self._side(window[0]) <= 0
        ends = window[-1].rank >= self.card - 1 or self._side(window[-1]) >= 0
        return begins and ends and self._holds_a_page(window)

    def _holds_a_page(self, window: list[Entry]) -> bool:
        """Enough rows on the wanted side of the cut, or the set's own end."""
        wanted = -1 if self.newer else 1
        beyond = sum(1 for entry in window if self._side(entry) == wanted)
        at_end = window[0].rank == 0 if self.newer else window[-1].rank >= self.card - 1
        return beyond >= self.size or at_end

    def _cut(self, window: list[Entry]) -> list[Entry]:
        if self.newer:
            return [entry for entry in window if self._side(entry) < 0][-(self.size + 1) :]
        return [entry for entry in window if self._side(entry) > 0][: self.size + 1]

    def _search(self, client: ReadOnlyRedis) -> int:
        """The rank of the first entry that is shown at or after the cursor, by probing ranks."""
        low, high = 0, self.card
        while low < high:
            step = max(1, (high - low) // _PROBES)
            ranks = list(range(low, high, step))
            pipeline = client.pipeline()
            for rank in ranks:
                self._range(pipeline, rank, rank)
            answers = [value(answer, []) for answer in connections.fetch(pipeline)]
            before = [
                rank
                for rank, answer in zip(ranks, answers, strict=True)
                if answer and self._side(Entry(self.queue, answer[0][0], answer[0][1], rank)) < 0
            ]
            low, high = (before[-1] + 1, min(high, before[-1] + step)) if before else (low, low)
        return low
