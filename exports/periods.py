"""Periods as people write them: a year (2025), a quarter (2025-Q3) or a month (2025-11)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, tzinfo

from django.utils.translation import gettext as _

_SHAPE = re.compile(r"(?P<year>[0-9]{4})(-(Q(?P<quarter>[0-9])|(?P<month>[0-9]{2})))?", re.ASCII)
EXAMPLES = "2025, 2025-Q3, 2025-11"


class NoSuchPeriod(Exception):
    """The text names no period. Its message is a sentence for who has asked."""


@dataclass(frozen=True)
class Period:
    """From the first moment to the last: `start` belongs to it, `end` does not."""

    start: datetime
    end: datetime


def looks_like_a_period(text: str) -> bool:
    """Whether it is written like one: all that is asked before it is accepted."""
    return _SHAPE.fullmatch(text) is not None


def read_period(text: str, zone: tzinfo, now: datetime) -> Period:
    """The period of that name, by the calendar of `zone`. Raises NoSuchPeriod, also for one that is still to come."""
    match = _SHAPE.fullmatch(text)
    if match is None:
        raise NoSuchPeriod(_("“%(text)s” is no period; write it like %(examples)s.") % _named(text))
    first, count = _months(match)
    year = int(match["year"])
    # Where clocks are ahead of UTC, or behind it, the first year begins, and the last one ends, outside of all dates.
    if not 2 <= year <= 9998:
        raise NoSuchPeriod(_("There is no year %(year)s.") % {"year": match["year"]})
    start = datetime(year, first, 1, tzinfo=zone)
    if start > now:
        raise NoSuchPeriod(_("%(text)s has not begun yet: there is nothing to export.") % _named(text))
    return Period(start, _month_after(year, first + count, zone))


def _months(match: re.Match[str]) -> tuple[int, int]:
    """The first month, and how many there are."""
    if match["quarter"]:
        quarter = int(match["quarter"])
        if not 1 <= quarter <= 4:
            raise NoSuchPeriod(_("There is no quarter %(number)s: a year has quarters 1 to 4.") % {"number": quarter})
        return 3 * quarter - 2, 3
    if match["month"]:
        if not 1 <= int(match["month"]) <= 12:
            raise NoSuchPeriod(
                _("There is no month %(number)s: a year has months 01 to 12.") % {"number": match["month"]}
            )
        return int(match["month"]), 1
    return 1, 12


def _month_after(year: int, month: int, zone: tzinfo) -> datetime:
    return datetime(year + (month - 1) // 12, (month - 1) % 12 + 1, 1, tzinfo=zone)


def _named(text: str) -> dict[str, str]:
    return {"text": text, "examples": EXAMPLES}
