"""Reads JSON item by item, with a limit on the work and in spite of a missing end."""

from __future__ import annotations

import json
import re
from typing import Any

from jobs.broker.symbols import DIGITS_LIMIT, CallParts, Damaged, EndOfData, Pairs, TooMuch, short_int

MAX_ITEMS = 300_000
SPACE = re.compile(r"[ \t\n\r]*")


def read_json(walk: JsonWalk) -> Any:
    """The whole value; dicts as :class:`Pairs`. Raises EndOfData where the text (or our patience) ends, or Damaged."""
    for _ in range(MAX_ITEMS):
        if walk.read_value() and not walk.open:
            return walk.root
    raise TooMuch


class JsonWalk:
    """Where the reading stands; after an exception ``root`` holds what was read, ``open`` what was not finished."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.root: Any = None
        self.open: list[list[Any] | Pairs] = []
        self.key = ""

    def read_value(self) -> bool:
        """Read the next scalar, or enter the next list or dict; True when that completed a value."""
        mark = self._peek()
        if mark not in "[{":
            self._put(self._scalar())
            return self._leave_finished()
        self.at += 1
        inner: list[Any] | Pairs = [] if mark == "[" else Pairs([])
        self._put(inner)
        self.open.append(inner)
        if self._peek() in "]}":
            return self._leave_finished()
        if mark == "{":
            self._read_key()
        return False

    def _leave_finished(self) -> bool:
        """Close what ends here, then move on to the next item of what is still open."""
        while self.open:
            mark, is_list = self._peek(), isinstance(self.open[-1], list)
            self.at += 1
            if mark == ",":
                if not is_list:
                    self._read_key()
                return True
            if mark != ("]" if is_list else "}"):
                raise Damaged(f"unexpected {mark!r}")
            self.open.pop()
        if SPACE.fullmatch(self.text, self.at) is None:
            raise Damaged("something after the end")
        return True

    def _read_key(self) -> None:
        if self._peek() != '"':
            raise Damaged("a key that is no text")
        self.key = self._scalar()
        if self._peek() != ":":
            raise Damaged("a key without a value")
        self.at += 1

    def _put(self, value: Any) -> None:
        if not self.open:
            self.root = value
        elif isinstance(self.open[-1], list):
            self.open[-1].append(value)
        else:
            self.open[-1].items.append((self.key, value))

    def _peek(self) -> str:
        self.at = SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]  # it matches nothing at all, too
        if self.at >= len(self.text):
            raise EndOfData
        return self.text[self.at]

    def _scalar(self) -> Any:
        try:
            value, end = SCALARS.raw_decode(self.text, self.at)
        except ValueError as error:
            if "Unterminated" in str(error) or len(self.text) - self.at < len("-Infinity"):
                raise EndOfData from error
            raise Damaged(str(error)) from error
        if end == len(self.text) and not isinstance(value, str):
            raise EndOfData  # a number may go on behind the cut
        self.at = end
        return value


def json_call_so_far(walk: JsonWalk) -> CallParts | None:
    """The leading parts of a call whose text was not read to its end; None when not even a function is known."""
    items = walk.root if isinstance(walk.root, list) else []
    if len(items) < 3 or not isinstance(items[2], list):
        return None
    args, kwargs = items[2], items[3].items if len(items) > 3 and isinstance(items[3], Pairs) else []
    open_now = {id(container) for container in walk.open}
    return CallParts(
        items[0],
        items[1],
        [value for value in args if id(value) not in open_now],
        [(key, value) for key, value in kwargs if id(value) not in open_now],
    )


def _float(text: str) -> float:
    return float(text[:DIGITS_LIMIT])


SCALARS = json.JSONDecoder(parse_int=short_int, parse_float=_float)
