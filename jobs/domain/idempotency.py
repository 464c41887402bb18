"""What a job type promises about being run again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum


class Idempotency(StrEnum):
    """The declared class of a job type (protocol, chapter 3); nothing declared counts as unsafe."""

    REPEATABLE = "repeatable"
    """Running it again has the same effect as running it once."""
    KEYED = "keyed"
    """The outside service recognises a repeated key, for a stated time."""
    CHECKABLE = "checkable"
    """The outside service can be asked whether the effect happened."""
    UNSAFE = "unsafe"
    """A repeat may act a second time, and nobody can tell beforehand."""
    UNDECLARED = "undeclared"
    """Nobody has said; treated as unsafe."""


_SURE_TO_UNSURE = tuple(Idempotency)


def doubtful_class(first: Idempotency, now: Idempotency) -> Idempotency:
    """By which class a call that was begun as `first` may be repeated by code that declares it as `now`.

    The first call was made as it was declared then, so a promise that is given now does not hold for it. Where less is
    promised now, neither holds: the code may send no key any more, or has turned out not to be repeatable.
    """
    is_less_sure = _SURE_TO_UNSURE.index(now) > _SURE_TO_UNSURE.index(first)
    return Idempotency.UNSAFE if is_less_sure else first


@dataclass(frozen=True)
class Promise:
    """The declared class, and for keyed how long the other side recognises a repeated key (None: nobody said)."""

    idempotency: Idempotency = Idempotency.UNDECLARED
    remembered_for: timedelta | None = None
