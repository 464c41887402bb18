"""The single values inside an argument, and the ways in which each may be spelled in another text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, quote_plus

from jobs.domain.calls import WellKnown
from jobs.domain.literals import SHORTEST

MAX_VALUES = 100_000
MAX_CHARACTERS = 32 * 1024 * 1024
QUOTED_LIMIT = 4096
"""Longer values are not looked for in their URL-quoted form; no URL is that long."""
LINE = 12
"""Characters from which a line of a longer text counts as a value of its own."""
SAFE = re.compile(r"[A-Za-z0-9_.~-]*")
"""Text that is spelled alike everywhere."""
UNESCAPED = re.compile(r"[ !#-&(-\[\]-~]*")
"""ASCII without quotes, backslashes and line breaks: the same in repr() and JSON."""
WORD_KEY = re.compile(r"[A-Za-z]+(?:[_-][A-Za-z]+){0,7}")
TEMPLATE = (
    'Traceback (most recent call last):\n  File "", line , in \n'
    "During handling of the above exception, another exception occurred:\n"
    "The above exception was the direct cause of the following exception:"
)
"""Words that stand in every traceback: masking them would hide nothing and make it unreadable."""


def leaves(value: Any) -> Iterator[Any]:
    """Each text, number or byte string inside ``value``, at most ``MAX_VALUES``; keys of dicts unless plain words."""
    waiting, left = [value], MAX_VALUES
    while waiting and left:
        item = waiting.pop()
        if isinstance(item, dict):
            waiting += item.values()
            waiting += (key for key in item if not is_field_name(key))
        elif isinstance(item, list | tuple | set | frozenset):
            waiting += item
        elif isinstance(item, str | bytes | int | float) and not isinstance(item, bool):
            left -= 1
            yield item


def is_field_name(key: Any) -> bool:
    """Whether a dict's key only names a field: plain words, no digits, at most 40 characters."""
    return isinstance(key, str) and len(key) <= 40 and WORD_KEY.fullmatch(key) is not None


def spellings(leaf: Any, *, in_urls: bool = True) -> Iterator[str]:
    """How ``leaf`` may be written in an exception text; only spellings long enough to be told from other text."""
    if isinstance(leaf, str) and not isinstance(leaf, WellKnown) and SAFE.fullmatch(leaf):
        candidates: Iterator[str] = iter((leaf,))
    else:
        candidates = _all_spellings(leaf, in_urls=in_urls)
    return (text for text in candidates if len(text) >= SHORTEST and text not in TEMPLATE)


def _all_spellings(leaf: Any, *, in_urls: bool) -> Iterator[str]:
    if isinstance(leaf, bytes):
        yield repr(leaf)[2:-1]
        yield from _of_text(leaf.decode("utf-8", "replace"), in_urls=in_urls)
        yield from _of_text(leaf.decode("latin-1"), in_urls=in_urls)
    elif isinstance(leaf, WellKnown):
        yield from _of_text(str(leaf), in_urls=in_urls)
        yield from _of_moment(leaf)
    elif isinstance(leaf, str):
        yield from _of_text(leaf, in_urls=in_urls)
    else:
        yield repr(leaf)


def _of_text(text: str, *, in_urls: bool) -> Iterator[str]:
    yield text
    if not UNESCAPED.fullmatch(text):
        yield repr(text)[1:-1]
        yield json.dumps(text)[1:-1]
        yield json.dumps(text, ensure_ascii=False)[1:-1]
    if in_urls and len(text) <= QUOTED_LIMIT:
        yield quote(text)
        yield quote(text, safe="")
        yield quote_plus(text)
    if "\n" in text:
        yield from (line for line in map(str.strip, text.splitlines()[:MAX_VALUES]) if len(line) >= LINE)


def _of_moment(moment: WellKnown) -> Iterator[str]:
    """Dates as ``str()`` and ``repr()`` write them."""
    if moment.kind.startswith("datetime."):
        yield moment.replace("T", " ")
        numbers = [str(int(number)) for number in re.findall(r"\d+", moment)]
        yield f"{moment.kind}({', '.join(numbers[:5])}"
    elif moment.kind == "uuid.UUID":
        yield moment.replace("-", "")
