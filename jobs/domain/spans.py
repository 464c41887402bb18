"""Stretches of a text that must not be shown, and the text without them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

HIDDEN = "[hidden]"


class Span(NamedTuple):
    start: int
    end: int
    label: str = HIDDEN
    """What stands in its place."""


def merged(spans: Iterable[Span]) -> list[Span]:
    """In order, with those that touch or overlap made one."""
    result: list[Span] = []
    for span in sorted(spans):
        last = result[-1] if result else None
        if last is None or span.start > last.end or (span.start == last.end and span.label != last.label):
            result.append(span)
        elif span.end > last.end:
            label = last.label if last.label == span.label else HIDDEN
            result[-1] = Span(last.start, span.end, label)
    return result


def covered(text: str, spans: list[Span], start: int, end: int) -> str:
    """``text[start:end]`` with each of the merged ``spans`` replaced by its label, also those it cuts through."""
    pieces: list[str] = []
    position = start
    for span in spans:
        if span.end <= start:
            continue
        if span.start >= end:
            break
        pieces += (text[position : max(position, span.start)], span.label)
        position = span.end
    pieces.append(text[position : max(position, end)])
    return "".join(pieces)
