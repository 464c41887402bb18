"""What a developer declares about an effect: one of four, none by default (protocol, 3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from jobs.domain.idempotency import Idempotency
from jobs.safety.errors import MisuseError

if TYPE_CHECKING:
    from jobs.safety.effects import EffectHandle


@dataclass(frozen=True)
class Repeatable:
    """Doing it again has the same effect as doing it once: a file under a fixed name, a PUT of the whole."""

    idempotency: ClassVar[Idempotency] = Idempotency.REPEATABLE


@dataclass(frozen=True)
class Keyed:
    """The other side recognises a repeat by its idempotency key, for `remembered_for` after the first call."""

    remembered_for: timedelta
    idempotency: ClassVar[Idempotency] = Idempotency.KEYED

    def __post_init__(self) -> None:
        _require_positive("remembered_for", self.remembered_for)


@dataclass(frozen=True)
class Checkable:
    """The other side can be asked whether it happened, and says the truth `settles_in` after the call."""

    probe: Callable[[EffectHandle], Answer]
    settles_in: timedelta
    idempotency: ClassVar[Idempotency] = Idempotency.CHECKABLE

    def __post_init__(self) -> None:
        if not callable(self.probe):
            raise MisuseError("Checkable wants a probe: a function that asks the other side whether it happened.")
        if self.settles_in < timedelta():
            raise MisuseError("settles_in is how long after the call the answer may still change: not below zero.")


@dataclass(frozen=True)
class Unsafe:
    """Doing it again may act a second time, and nobody can tell beforehand: after a doubt a person decides."""

    idempotency: ClassVar[Idempotency] = Idempotency.UNSAFE


Safety: TypeAlias = Repeatable | Keyed | Checkable | Unsafe


@dataclass(frozen=True)
class Found:
    """The other side knows it: it happened. `external_id`: what it is called there."""

    external_id: str = ""


@dataclass(frozen=True)
class Absent:
    """The other side does not know it, and never will: it did not happen."""


@dataclass(frozen=True)
class Inconclusive:
    """The other side gave no answer that settles it."""

    why: str = ""


Answer: TypeAlias = Found | Absent | Inconclusive


def seconds(count: float) -> timedelta:
    """A duration."""
    return timedelta(seconds=count)


def minutes(count: float) -> timedelta:
    """A duration."""
    return timedelta(minutes=count)


def hours(count: float) -> timedelta:
    """A duration."""
    return timedelta(hours=count)


def days(count: float) -> timedelta:
    """A duration."""
    return timedelta(days=count)


def _require_positive(name: str, value: Any) -> None:
    if not isinstance(value, timedelta) or value <= timedelta():
        raise MisuseError(f"{name} wants a duration above zero, such as hours(24).")
