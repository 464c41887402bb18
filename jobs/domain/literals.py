"""Finds known values in a text, thousands at a time.

Searching the text once per value would take (values × text length); here each value is looked up by its first
characters (its *lead*), so the text is passed over once per length of lead.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from jobs.domain.spans import Span

SHORTEST = 4
"""Characters. Shorter values would be found everywhere and give nothing away."""
LEAD = 16
PIECE = 200
"""Of a longer value any piece of so many characters is found, however it goes on."""
STEP = 4096
"""Distance of the places inside a very long value from which a piece of it can be recognised."""
FEW = 40
"""Up to so many leads of one length are searched one by one, which is faster than passing over the text."""
CUT = ("...", "…", "'", '"', "\n", "`")
"""What follows a value of which only the beginning was printed, as in "invalid literal: 'abc…"."""
ELLIPSIS = re.compile(r"\.\.\.|…")
TAIL = 8
REST = re.compile(r"[^'\"\n]{8,200}")


class Entry(NamedTuple):
    """A value, or a place inside a very long one, from which it can be recognised."""

    piece: str
    value: str
    offset: int


class HiddenValues(tuple[str, ...]):
    """Values to be found in texts, prepared once for many texts."""

    @cached_property
    def short(self) -> dict[int, set[str]]:
        """Values no longer than a lead, by length."""
        found: dict[int, set[str]] = defaultdict(set)
        for value in self:
            if SHORTEST <= len(value) < LEAD:
                found[len(value)].add(value)
        return found

    @cached_property
    def long(self) -> dict[str, list[Entry]]:
        """The other values by lead, in order."""
        found: dict[str, list[Entry]] = defaultdict(list)
        for value in self:
            for offset in _offsets(len(value)):
                piece = value[offset : offset + PIECE]
                found[piece[:LEAD]].append(Entry(piece, value, offset))
        for entries in found.values():
            entries.sort()
        return found

    @cached_property
    def tails(self) -> dict[str, list[str]]:
        """Long values by their last characters."""
        found: dict[str, list[str]] = defaultdict(list)
        for value in self:
            if len(value) > LEAD and len(found[value[-TAIL:]]) < FEW:
                found[value[-TAIL:]].append(value)
        return found


def literal_spans(text: str, hidden: Iterable[str]) -> Iterator[Span]:
    """Where the ``hidden`` values stand in ``text``: in full, cut short with a mark of it, or in long pieces."""
    values = hidden if isinstance(hidden, HiddenValues) else HiddenValues(hidden)
    for size, wanted in values.short.items():
        yield from (Span(position, position + size) for position in _places(text, size, wanted))
    end = 0
    for position in _places(text, LEAD, values.long):
        if position >= end:
            match = _end_of_match(text, position, values.long[text[position : position + LEAD]])
            end = match if match >= position + PIECE else end  # a long piece need not be looked through again
            if match:
                yield Span(position, match)
    if values.long:
        yield from _cut_at_the_front(text, values)


def _offsets(length: int) -> Iterable[int]:
    if length < LEAD:
        return ()
    return range(0, length - LEAD, STEP) if length > 2 * STEP else (0,)


def _places(text: str, size: int, wanted: Collection[str]) -> Iterable[int]:
    """Where any of the ``wanted`` texts, all of one ``size``, begins; in order."""
    if len(wanted) <= FEW:
        return sorted(place for item in wanted for place in _each_place(text, item))
    return [place for place in range(len(text) - size + 1) if text[place : place + size] in wanted]


def _each_place(text: str, item: str) -> Iterator[int]:
    place = text.find(item)
    while place >= 0:
        yield place
        place = text.find(item, place + 1)


def _cut_at_the_front(text: str, values: HiddenValues) -> Iterator[Span]:
    """Values of which only the end was printed, behind "..."."""
    for mark in ELLIPSIS.finditer(text):
        rest = REST.match(text, mark.end())
        piece = rest[0] if rest else ""
        if rest and any(value.endswith(piece) for value in values.tails.get(piece[-TAIL:], ())):
            yield Span(rest.start(), rest.end())


def _end_of_match(text: str, position: int, entries: list[Entry]) -> int:
    """Where the longest match that starts here ends; 0 when there is none.

    A value of which only the beginning stands here counts when that is long, or stops where printed values are cut.
    """
    here = text[position : position + PIECE]
    place = bisect_right(entries, here, key=_piece)
    if place and len(here) == PIECE and entries[place - 1].piece == here:
        first = bisect_left(entries, here, key=_piece)
        return max(_end_of_shared(text, position, entry) for entry in entries[first : first + FEW])
    whole = _longest_whole(here, entries, place)
    if whole:
        return position + whole
    end = position + max(_shared(here, entry.piece) for entry in entries[max(0, place - 1) : place + 1])
    return end if end >= len(text) or text.startswith(CUT, end) else 0


def _longest_whole(here: str, entries: list[Entry], place: int) -> int:
    """Length of the longest entry that ``here`` begins with; each miss leaves only shorter ones to look at."""
    while place:
        piece = entries[place - 1].piece
        if here.startswith(piece):
            return len(piece)
        place = bisect_right(entries, here[: _shared(here, piece)], 0, place - 1, key=_piece)
    return 0


def _piece(entry: Entry) -> str:
    return entry.piece


def _end_of_shared(text: str, position: int, entry: Entry) -> int:
    """How far ``text`` goes on like the value from its place on; the steps double, so this is quick for megabytes."""
    value, offset = entry.value, entry.offset
    size = step = PIECE
    while step and offset + size < len(value):
        if text.startswith(value[offset + size : offset + size + step], position + size):
            size = min(size + step, len(value) - offset)
            step *= 2
        else:
            step //= 2
    return position + size


def _shared(one: str, other: str) -> int:
    """Length of the common beginning."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one.startswith(other[:middle]):
            low = middle
        else:
            high = middle - 1
    return low
