"""What stands on the stack while a payload is read: names and parts of things, never the things themselves."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

KIND_LIMIT = 200
DIGITS_LIMIT = 1_200
"""Longer integers are not turned into numbers: Python refuses to print them, and no id is that long."""


class Damaged(Exception):
    """The payload is not what it claims to be."""


class EndOfData(Exception):
    """The payload stops in the middle."""


class TooMuch(EndOfData):
    """There is more of it than we care to follow."""


class Named:
    """A class or function that the payload refers to by name. It is never imported."""

    __slots__ = ("path",)

    def __init__(self, module: Any, name: Any) -> None:
        home = module[:KIND_LIMIT] if isinstance(module, str) else "?"
        own = name[:KIND_LIMIT] if isinstance(name, str) else "?"
        self.path = f"{MODULES_OF_OLD.get(home, home)}.{own}"


class Thing:
    """An object that would have been built: its class, and everything it would have been built from."""

    __slots__ = ("kind", "parts", "text")

    def __init__(self, kind: str, parts: list[Any]) -> None:
        self.kind, self.parts = kind[:KIND_LIMIT], parts
        self.text: str | None = None


class Pairs:
    """A dict in the making; a list of pairs because a key may be anything."""

    __slots__ = ("items",)

    def __init__(self, items: list[tuple[Any, Any]]) -> None:
        self.items = items


class Members:
    """A set or frozenset in the making."""

    __slots__ = ("frozen", "items")

    def __init__(self, items: list[Any], *, frozen: bool) -> None:
        self.items, self.frozen = items, frozen


@dataclass(frozen=True, repr=False)  # what it holds may be endless when written out
class CallParts:
    """The four parts of a stored call as symbols, the last two as far as they were read."""

    function: Any
    instance: Any
    args: list[Any]
    kwargs: list[tuple[Any, Any]]


MODULES_OF_OLD = {"__builtin__": "builtins", "copy_reg": "copyreg"}
UNFINISHED = (list, Pairs, Members, Thing, Named)
"""Kinds of symbols to which later instructions may still add something."""


def called(function: Any, args: Any) -> Any:
    """What calling ``function`` would give: data for a few harmless well-known classes, else a :class:`Thing`."""
    values = args if isinstance(args, tuple) else (args,)
    if not isinstance(function, Named):
        return Thing("object", [function, *values])
    maker = WELL_KNOWN.get(function.path)
    made = maker(values) if maker is not None else None
    return Thing(function.path, list(values)) if made is None else made


def made_new(cls: Any, args: Any) -> Any:
    """An instance of ``cls`` before its state is set."""
    values = args if isinstance(args, tuple) else (args,)
    return Thing(cls.path if isinstance(cls, Named) else "object", list(values))


def set_state(thing: Any, state: Any) -> None:
    """Give ``thing`` its state, as far as that means anything here."""
    if not isinstance(thing, Thing):
        return
    thing.parts.append(state)
    if thing.kind == "uuid.UUID":
        thing.text = _uuid_text(state)


def from_pairs(flat: list[Any]) -> list[tuple[Any, Any]]:
    if len(flat) % 2:
        raise Damaged("odd number of dict items")
    return list(zip(flat[::2], flat[1::2], strict=True))


def short_int(text: str) -> Any:
    """The integer a text spells; a :class:`Thing` when it is too long to be printed again."""
    return int(text) if len(text) <= DIGITS_LIMIT else Thing("builtins.int", [])


def _uuid_text(state: Any) -> str | None:
    pairs = state.items if isinstance(state, Pairs) else []
    number = next((value for key, value in pairs if key == "int"), None)
    if type(number) is not int or not 0 <= number < 1 << 128:
        return None
    digits = f"{number:032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _thing_with_text(kind: str, args: tuple[Any, ...], text: str | None) -> Thing:
    thing = Thing(kind, list(args))
    thing.text = text
    return thing


def _datetime(args: tuple[Any, ...]) -> Any:
    packed = _packed(args, 10)
    if packed is None:
        return None
    year, fold_and_month, day, hour, minute, second = int.from_bytes(packed[:2], "big"), *packed[2:7]
    microsecond = int.from_bytes(packed[7:], "big")
    month = fold_and_month & 127
    return _moment("datetime.datetime", args, lambda: dt.datetime(year, month, day, hour, minute, second, microsecond))


def _date(args: tuple[Any, ...]) -> Any:
    packed = _packed(args, 4)
    if packed is None:
        return None
    return _moment("datetime.date", args, lambda: dt.date(packed[0] * 256 + packed[1], packed[2], packed[3]))


def _moment(kind: str, args: tuple[Any, ...], read: Callable[[], dt.date]) -> Any:
    try:
        return _thing_with_text(kind, args[1:], read().isoformat())
    except ValueError:
        return None


def _packed(args: tuple[Any, ...], size: int) -> bytes | None:
    """The packed bytes a date is stored as; Python 2 stored them as text."""
    first = args[0] if args else None
    if isinstance(first, str):
        first = first.encode("latin-1", "replace")
    return first if isinstance(first, bytes) and len(first) == size else None


def _decimal(args: tuple[Any, ...]) -> Any:
    text = args[0] if args else None
    return _thing_with_text("decimal.Decimal", (), text) if isinstance(text, str) and len(text) <= 100 else None


def _path(args: tuple[Any, ...]) -> Any:
    if not args or not all(isinstance(part, str) for part in args):
        return None
    root, *rest = args
    return _thing_with_text("pathlib.Path", (), root + "/".join(rest) if root == "/" else "/".join(args))


def _encoded(args: tuple[Any, ...]) -> Any:
    """``_codecs.encode(text, "latin1")``: how bytes are written before protocol 3."""
    if len(args) == 2 and isinstance(args[0], str) and args[1] in ("latin1", "latin-1"):
        return args[0].encode("latin-1", "replace")
    return None


def _byte_string(args: tuple[Any, ...]) -> Any:
    if not args:
        return b""
    return args[0] if len(args) == 1 and isinstance(args[0], bytes) else _encoded(args)


def _set(args: tuple[Any, ...]) -> Any:
    return Members(args[0], frozen=False) if len(args) == 1 and isinstance(args[0], list) else None


def _frozenset(args: tuple[Any, ...]) -> Any:
    return Members(args[0], frozen=True) if len(args) == 1 and isinstance(args[0], list) else None


def _ordered_dict(args: tuple[Any, ...]) -> Any:
    if not args:
        return Pairs([])
    rows: list[Any] = args[0] if len(args) == 1 and isinstance(args[0], list) else [None]
    if not all(isinstance(row, list | tuple) and len(row) == 2 for row in rows):
        return None
    return Pairs([(row[0], row[1]) for row in rows])


def _default_dict(args: tuple[Any, ...]) -> Any:
    return Pairs([]) if len(args) <= 1 else None


def _instance(args: tuple[Any, ...]) -> Any:
    """``copyreg.__newobj__(cls, *args)`` and ``copyreg._reconstructor(cls, base, state)``."""
    return made_new(args[0], args[1:]) if args else None


def _django_model(args: tuple[Any, ...]) -> Any:
    """Django pickles a model instance as a call with ("app", "Model")."""
    label = args[0] if args and isinstance(args[0], tuple) else ()
    if len(label) != 2 or not all(isinstance(part, str) for part in label):
        return None
    return Thing(".".join(label), [])


WELL_KNOWN: Mapping[str, Callable[[tuple[Any, ...]], Any]] = {
    "datetime.datetime": _datetime,
    "datetime.date": _date,
    "decimal.Decimal": _decimal,
    "pathlib.PosixPath": _path,
    "pathlib.PurePosixPath": _path,
    "pathlib._local.PosixPath": _path,
    "pathlib._local.PurePosixPath": _path,
    "_codecs.encode": _encoded,
    "builtins.bytes": _byte_string,
    "builtins.bytearray": _byte_string,
    "builtins.set": _set,
    "builtins.frozenset": _frozenset,
    "collections.OrderedDict": _ordered_dict,
    "collections.defaultdict": _default_dict,
    "copyreg.__newobj__": _instance,
    "copyreg._reconstructor": _instance,
    "django.db.models.base.model_unpickle": _django_model,
}
