"""The call a job stores (function, arguments), as plain data that was read without running anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Opaque:
    """An object that was not built; only the name of its class is known."""

    kind: str
    """``module.Class`` as the payload names it, at most 200 characters."""


class WellKnown(str):
    """The text of an object whose stored form is simple enough to be read as data, e.g. a UUID."""

    __slots__ = ("kind",)

    kind: str
    """``module.Class`` of the object this text stands for."""

    def __new__(cls, text: str, kind: str) -> WellKnown:
        made = super().__new__(cls, text)
        made.kind = kind
        return made


@dataclass(frozen=True)
class Call:
    """A stored call.

    Values are None, bool, int, float, str (or :class:`WellKnown`), bytes, list, tuple, dict, set, frozenset or
    :class:`Opaque`; text can always be encoded as UTF-8, integers are short enough to be printed.
    """

    function: str | None
    """Dotted path of the function, or the bare name of a method when ``bound`` is set; None when it is no text."""
    args: tuple[Any, ...] = field(repr=False)  # so that no log and no error page repeats them
    kwargs: Mapping[str, Any] = field(repr=False)
    complete: bool
    """False when something was left unread: the payload was cut, too deep or had too many values. What was not read
    cannot be masked in an exception text either."""
    bound: str | None = None
    """``module.Class`` of the instance when the call is to a method."""
    unshown: tuple[Any, ...] = field(default=(), repr=False)
    """What objects (and the instance) were made of. Never shown; kept so that it can be masked in other texts."""

    @property
    def path(self) -> str | None:
        """The job type: dotted path of the function or method."""
        if self.function is None or self.bound is None:
            return self.function
        return f"{self.bound}.{self.function}"


@dataclass(frozen=True)
class Unreadable:
    """The stored call cannot be read."""

    reason: str
    """A reason a person can read, e.g. "not a pickle or JSON call"."""
