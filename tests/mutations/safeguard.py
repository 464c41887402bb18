"""What is taken out of the product to see whether a test notices."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Safeguard:
    """It stands in a script (`guard.lua`) or a function (`jobs.ledger.open_entry`), where `old` becomes `new`.

    `tests`: each of them fails without it.
    """

    place: str
    old: str
    new: str = ""
    tests: tuple[str, ...]
