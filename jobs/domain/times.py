"""How long ago, how long until, how long it took: as numbers with units, two of them at most. Words are the page's.

A time seen from `now` is never negative: what should be past and lies ahead is either "just now" (clocks differ by a
few seconds everywhere) or a clock that is ahead, and then that is what is said.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from enum import StrEnum

SLIGHT = timedelta(seconds=5)
"""Clocks of two machines may differ by this much without a word about it."""
LEADS_WITH_DATE = timedelta(hours=24)
"""From this distance on, the date is the better answer than "ago"."""


class Unit(StrEnum):
    """The units of a duration, as they are written."""

    DAY = "d"
    HOUR = "h"
    MINUTE = "min"
    SECOND = "s"
    MILLISECOND = "ms"


class Direction(StrEnum):
    """Where a time lies, seen from now."""

    PAST = "past"
    NOW = "now"
    FUTURE = "future"
    AHEAD = "ahead"
    """It should be past, and the clock that wrote it is ahead of ours."""


Part = tuple[str, Unit]
"""A number as it is written, and its unit: ("4", MINUTE), ("3.4", SECOND)."""


@dataclass(frozen=True)
class Distance:
    """How far a time is from now, and in which direction. `parts` is empty only for NOW."""

    direction: Direction
    parts: tuple[Part, ...] = ()
    is_far: bool = False
    """More than a day away: the date leads."""


def moment(at: datetime, zone: tzinfo, *, has_seconds: bool = True) -> str:
    """A time within a sentence: date and time of day in this zone, with its name."""
    shown = at.astimezone(zone)
    return (
        f"{shown:%Y-%m-%d %H:%M:%S} {zone_name(shown)}" if has_seconds else f"{shown:%Y-%m-%d %H:%M} {zone_name(shown)}"
    )


def zone_name(at: datetime) -> str:
    """The zone's abbreviation at that moment (CET is not CEST); zones without one are known by their offset."""
    name = at.tzname() or ""
    return f"UTC{name}" if name.startswith(("+", "-")) else name


def split_duration(duration: timedelta) -> tuple[Part, ...]:
    """A duration in at most two units, rounded down; below ten seconds with a tenth. Negative counts as zero."""
    seconds = max(duration.total_seconds(), 0.0)
    if 0 < seconds < 1:
        return ((str(int(seconds * 1000)), Unit.MILLISECOND),) if seconds >= 0.001 else (("<1", Unit.MILLISECOND),)
    if seconds < 10 and seconds != int(seconds):
        return ((f"{int(seconds * 10) / 10:g}", Unit.SECOND),)
    return _two_units(int(seconds))


def past_distance(at: datetime, now: datetime) -> Distance:
    """How long ago something happened that was recorded at `at`, perhaps by another machine's clock."""
    if at > now + SLIGHT:
        return Distance(Direction.AHEAD, _two_units(int((at - now).total_seconds())), at - now >= LEADS_WITH_DATE)
    if now - at < timedelta(seconds=1):
        return Distance(Direction.NOW)
    return _backwards(now - at)


def due_distance(at: datetime, now: datetime) -> Distance:
    """How long until something that is planned for `at`; PAST when its time has come and gone."""
    if abs(at - now) < timedelta(seconds=1):
        return Distance(Direction.NOW)
    if at < now:
        return _backwards(now - at)
    return Distance(Direction.FUTURE, _coarse(at - now), at - now >= LEADS_WITH_DATE)


def _backwards(age: timedelta) -> Distance:
    return Distance(Direction.PAST, _coarse(age), age >= LEADS_WITH_DATE)


def _coarse(distance: timedelta) -> tuple[Part, ...]:
    """Below an hour one unit is enough, since the time itself stands beside it."""
    parts = _two_units(int(distance.total_seconds()))
    return parts[:1] if distance < timedelta(hours=1) else parts


def _two_units(seconds: int) -> tuple[Part, ...]:
    """The largest unit and the next smaller one, the latter only when it is not zero."""
    units = ((Unit.DAY, 86400), (Unit.HOUR, 3600), (Unit.MINUTE, 60), (Unit.SECOND, 1))
    for index, (unit, size) in enumerate(units):
        count, rest = divmod(seconds, size)
        if count and index + 1 < len(units):
            smaller, smaller_size = units[index + 1]
            minor = rest // smaller_size
            return ((str(count), unit), (str(minor), smaller)) if minor else ((str(count), unit),)
    return ((str(seconds), Unit.SECOND),)
