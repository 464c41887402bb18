"""From symbols to plain data: a tree with a limit on depth and size, whatever was shared or circular before."""

from __future__ import annotations

from typing import Any

from jobs.broker.symbols import KIND_LIMIT, CallParts, Members, Named, Pairs, Thing
from jobs.domain.calls import Call, Opaque, WellKnown

MAX_NODES = 300_000
MAX_DEPTH = 100
FUNCTION_LIMIT = 500


def to_call(parts: CallParts, *, complete: bool) -> Call:
    """The call as plain data; ``complete`` says whether everything stored had been read so far."""
    pruner = Pruner()
    function = pruner.plain(parts.function)
    if isinstance(function, bytes):
        function = function.decode("utf-8", "replace")
    args = tuple(pruner.plain(value) for value in parts.args)
    kwargs = pruner.mapping(parts.kwargs)
    bound = _kind(pruner.plain(parts.instance, keep=True)) if parts.instance else None
    return Call(
        function=printable(function, FUNCTION_LIMIT) if isinstance(function, str) else None,
        args=args,
        kwargs={_as_name(key): value for key, value in kwargs.items()},
        complete=complete and pruner.complete,
        bound=bound,
        unshown=tuple(pruner.unshown),
    )


class Pruner:
    """Turns symbols into plain data and remembers whether something had to be left out."""

    def __init__(self) -> None:
        self.left = MAX_NODES
        self.complete = True
        self.unshown: list[Any] = []
        self.inside: set[int] = set()
        self.known: set[int] = set()

    def plain(self, value: Any, depth: int = 0, *, keep: bool = False) -> Any:
        """``value`` as plain data; with ``keep`` it also goes to what is masked but never shown."""
        made = self._plain(value, depth)
        if keep:
            self.unshown.append(made)
        return made

    def mapping(self, items: list[tuple[Any, Any]], depth: int = 0) -> dict[Any, Any]:
        """A dict of these items, as many as there is room for."""
        made: dict[Any, Any] = {}
        for key_symbol, item in self._some(items):
            key = self._as_key(key_symbol, depth)
            if key in made:  # written twice: the last one counts, the earlier one is masked all the same
                self.unshown.append(made[key])
            made[key] = self._plain(item, depth)
        return made

    def _plain(self, value: Any, depth: int) -> Any:
        self.left -= 1
        if isinstance(value, str):
            return encodable(value)
        if isinstance(value, Named):
            return Opaque(printable(value.path, KIND_LIMIT))
        if not isinstance(value, list | tuple | Pairs | Members | Thing):
            return value
        if self.left < 0 or depth > MAX_DEPTH:
            self.complete = False
            return Opaque("left unread")
        if id(value) in self.inside:
            return Opaque("builtins.list")
        self.inside.add(id(value))
        try:
            return self._container(value, depth + 1)
        finally:
            self.inside.discard(id(value))

    def _container(self, value: Any, depth: int) -> Any:
        if isinstance(value, Thing):
            return self._thing(value, depth)
        if isinstance(value, Pairs):
            return self.mapping(value.items, depth)
        if isinstance(value, Members):
            members = {self._as_key(item, depth) for item in self._some(value.items)}
            return frozenset(members) if value.frozen else members
        items = [self._plain(item, depth) for item in self._some(value)]
        return tuple(items) if isinstance(value, tuple) else items

    def _some(self, items: Any) -> Any:
        """As many items as there is room for."""
        if len(items) <= self.left:
            return items
        self.complete = False
        return items[: max(0, self.left)]

    def _as_key(self, symbol: Any, depth: int) -> Any:
        """A scalar as it is; anything else under a made-up name, since hashing what a stranger wrote can be made slow
        and part of it may not be hashable at all."""
        key = self._plain(symbol, depth)
        if key is None or isinstance(key, bool | int | float | str | bytes):
            return key
        self.unshown.append(key)
        return f"({_kind(key)} {self.left})"

    def _thing(self, thing: Thing, depth: int) -> Any:
        if id(thing) not in self.known:  # what it was made of is needed once, however often it is referred to
            self.known.add(id(thing))
            for part in self._some(thing.parts):
                self.unshown.append(self._plain(part, depth))
        kind = printable(thing.kind, KIND_LIMIT)
        return Opaque(kind) if thing.text is None else WellKnown(encodable(thing.text), kind)


def encodable(text: str) -> str:
    """``text`` without lone surrogates, which can neither be sent to a browser nor stored."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return text


def printable(text: str, limit: int) -> str:
    """A name as one short line."""
    return _short("".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text[:limit]), limit)


def _short(text: str, limit: int) -> str:
    """Cut to ``limit``; the mark keeps a cut name from being taken for a shorter one that exists."""
    return text if len(text) < limit else text[: limit - 1] + "…"


def _as_name(key: Any) -> str:
    return key if isinstance(key, str) else f"({_kind(key)})"


def _kind(value: Any) -> str:
    if isinstance(value, Opaque | WellKnown):
        return value.kind
    return type(value).__name__
