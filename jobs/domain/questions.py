"""A question put to the rules of operations, and how their answers name times, people and effects."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from textwrap import shorten

from jobs.domain.decisions import LONGEST_REASON
from jobs.domain.operations import AskedBy, EffectState, Snapshot
from jobs.domain.times import moment


@dataclass(frozen=True, kw_only=True)
class Question:
    """May this operation be run again? `now`: by the database's clock; sentences give times in `zone`."""

    snapshot: Snapshot
    now: datetime
    asked_by: AskedBy
    zone: tzinfo = UTC

    @property
    def is_automatic(self) -> bool:
        """Nobody who could know better has asked: R16 to R19 hold for these alone."""
        return self.asked_by in (AskedBy.AUTO, AskedBy.SWEEPER)

    def at(self, when: datetime | None) -> str:
        """` at <time>`, or nothing when nobody knows the time."""
        return f" at {self.moment(when)}" if when else ""

    def moment(self, when: datetime) -> str:
        """A time, as a sentence has it."""
        return moment(when, self.zone)


def quote(text: str) -> str:
    """The first characters of what somebody or something said, in quotation marks, without its full stop."""
    one_line = " ".join(text.split())
    # Of a short text `shorten` makes the same in ten times as long.
    shown = one_line if len(one_line) <= LONGEST_REASON else shorten(one_line, LONGEST_REASON, placeholder="…")
    return f"“{shown.rstrip('.')}”"


def name_effects(effects: Iterable[EffectState]) -> str:
    """Effects by name: “mail”, “mail (7)” and 3 more. Whoever has a long list has it on a page, not in a sentence."""
    labels = [quote(effect.label) for effect in effects]
    shown, more = labels[:2], len(labels) - 2
    return f"{', '.join(shown)} and {more} more" if more > 0 else " and ".join(shown)
