"""Which arguments of a job may be shown, and which values must therefore be masked wherever else they turn up.

Only ids are shown. Of a job type nothing was declared for, that is the first positional integer or UUID and the
keyword parameters named ``*_id``, ``*_uuid`` or ``pk``; a declaration replaces this rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from jobs.domain.calls import Call, Opaque, Unreadable, WellKnown
from jobs.domain.leaves import MAX_CHARACTERS, MAX_VALUES, leaves, spellings
from jobs.domain.literals import HiddenValues
from jobs.domain.redaction import scrub

MAX_SHOWN = 200
MAX_NAME = 60
MAX_ARGUMENTS = 100
QUOTED_VALUES = 2_000
"""Values that are also looked for as URLs spell them; working that out for all of a huge list takes seconds."""
ID_NAME = re.compile(r"(?:.*_(?:id|uuid)|pk)", re.IGNORECASE)
NAME_OF_SECRET = re.compile(
    r"session|token|secret|passw|pwd|cookie|auth|credential|api_?key|access_?key", re.IGNORECASE
)
UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
ID_TEXT = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
LIKE_A_KEY = re.compile(r"(?=[^0-9]*[0-9])(?=[^A-Za-z]*[A-Za-z])[A-Za-z0-9]{33,}")
KINDS = {"uuid.UUID": "UUID", "datetime.datetime": "date and time", "datetime.date": "date"} | {
    "decimal.Decimal": "decimal number",
    "pathlib.Path": "path",
}


@dataclass(frozen=True)
class Argument:
    """One argument as it may be shown."""

    name: str
    """``#1`` for the first positional one; the parameter's name, or "argument" when that is no identifier."""
    value: str | None
    """None when only kind and size may be shown."""
    kind: str
    """E.g. "text", "number", "dict", "object fx.Customer"."""
    size: str
    """E.g. "12 characters", "3 entries"; empty where it says nothing."""


def shown_arguments(call: Call, id_parameters: Sequence[str] = ()) -> tuple[Argument, ...]:
    """The arguments of ``call`` (at most 100), positional ones first.

    ``id_parameters`` are the declared names ("order_id", or "#1" for the first positional one).
    A declaration shows scalars of up to 200 characters. A declared keyword name does not reach an argument that was
    passed by position, because the function's signature is not known here; declare "#1" for that.
    """
    judged = _judged(call, id_parameters)
    made = [
        Argument(_name(key), _one_line(value) if is_shown else None, *_kind_and_size(value))
        for key, value, is_shown in judged[:MAX_ARGUMENTS]
    ]
    if len(judged) > MAX_ARGUMENTS:
        made.append(Argument("more", None, f"{len(judged) - MAX_ARGUMENTS:,} further arguments", ""))
    return tuple(made)


def recorded_ids(call: Call, id_parameters: Sequence[str] = ()) -> list[list[Any]]:
    """The ids among the arguments as the index of failures keeps them, for `still_shown`.

    Each as [name, value, kind, whether it would be an id as well if nothing were declared].
    """
    undeclared = shown_arguments(call)
    return [
        [one.name, one.value, one.kind, other.value is not None]
        for one, other in zip(shown_arguments(call, id_parameters), undeclared, strict=True)
        if one.value is not None
    ]


def still_shown(recorded: Sequence[Sequence[Any]], id_parameters: Sequence[str] = ()) -> tuple[Argument, ...]:
    """What was recorded as ids (`recorded_ids`), as far as these are ids by today's declaration."""
    return tuple(
        Argument(name, value, kind, "")
        for name, value, kind, *by_default in recorded
        if (name in id_parameters if id_parameters else any(by_default))
    )


def hidden_values(call: Call, id_parameters: Sequence[str] = ()) -> HiddenValues:
    """Every value of ``call`` that is not shown, as text, in the spellings in which it may turn up elsewhere.

    Of four characters or more, longest first. Keys of dicts count as values too unless they are plain words: "name"
    or "card_no" names a field, "anna@example.org" or "4711" is data. Capped: see ``can_be_masked``.
    """
    judged = _judged(call, id_parameters)
    shown = {_one_line(value) for _, value, is_shown in judged if is_shown}
    hidden = [value for _, value, is_shown in judged if not is_shown]
    hidden += [key for key in call.kwargs if _name(key) != key]
    texts = {
        spelling
        for number, leaf in enumerate(leaves((*hidden, *call.unshown)))
        if _as_text(leaf) not in shown
        for spelling in spellings(leaf, in_urls=number < QUOTED_VALUES)
    }
    return HiddenValues(sorted(texts, key=lambda text: (-len(text), text)))


def can_be_masked(call: Call | Unreadable) -> bool:
    """Whether ``hidden_values`` knows all values; when not, exception messages must be hidden as a whole."""
    if isinstance(call, Unreadable) or not call.complete:
        return False
    count, size = 0, 0
    for leaf in leaves((call.args, dict(call.kwargs), call.unshown)):
        count += 1
        size += len(leaf) if isinstance(leaf, str | bytes) else 0
    return count < MAX_VALUES and size < MAX_CHARACTERS


def _judged(call: Call, id_parameters: Sequence[str]) -> list[tuple[str, Any, bool]]:
    """(name, value, whether it may be shown) of each argument."""
    named = [(f"#{number}", value) for number, value in enumerate(call.args, start=1)]
    keywords = [("argument" if key.startswith("#") else key, value) for key, value in call.kwargs.items()]
    if id_parameters:
        return [(key, value, key in id_parameters and _is_short_scalar(value)) for key, value in (*named, *keywords)]
    first = next((key for key, value in named if _is_integer(value) or _is_uuid(value)), None)
    return [
        *((key, value, key == first and (_is_uuid(value) or abs(value) < 10**10)) for key, value in named),
        *((key, value, _is_id_name(key) and _is_id(value)) for key, value in keywords),
    ]


def _is_short_scalar(value: Any) -> bool:
    return isinstance(value, bool | int | float | str) and len(_as_text(value)) <= MAX_SHOWN


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_uuid(value: Any) -> bool:
    return isinstance(value, str) and UUID.fullmatch(value) is not None


def _is_id_name(name: str) -> bool:
    return ID_NAME.fullmatch(name) is not None and NAME_OF_SECRET.search(name) is None


def _is_id(value: Any) -> bool:
    """Whether a value has the shape of an id and nothing of a secret, a card number or an account number."""
    if isinstance(value, WellKnown) and not _is_uuid(value):
        return False
    if _is_integer(value):
        return abs(value) < 10**20 and scrub(str(value)) == str(value)
    if not isinstance(value, str) or ID_TEXT.fullmatch(value) is None:
        return False
    return _is_uuid(value) or (LIKE_A_KEY.search(value) is None and scrub(value) == value)


def _name(key: str) -> str:
    """Names come out of Redis as well, so one that is no name is not repeated."""
    if key.startswith("#") and key[1:].isdecimal():
        return key
    return key if key.isidentifier() and len(key) <= MAX_NAME else "argument"


def _as_text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _one_line(value: Any) -> str:
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in _as_text(value))


def _kind_and_size(value: Any) -> tuple[str, str]:
    if value is None:
        return "nothing", ""
    if isinstance(value, Opaque):
        return f"object {value.kind}", ""
    if isinstance(value, WellKnown):
        return KINDS.get(value.kind, "text"), ""
    if isinstance(value, bool):
        return "true or false", ""
    if isinstance(value, int | float):
        return "number", ""
    return next(_sizes(value))


def _sizes(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield "text", _count(value, "character", "characters")
    if isinstance(value, bytes):
        yield "binary", _count(value, "byte", "bytes")
    yield type(value).__name__.replace("frozenset", "set"), _count(value, "entry", "entries")


def _count(value: Any, one: str, many: str) -> str:
    return f"{len(value):,} {one if len(value) == 1 else many}"
