"""A moment as a person types it into a filter: a time in ISO 8601, or how long ago, like 24h or 7d."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo

_AGO = re.compile(r"(\d{1,4})\s?(min|m|h|d|w)", re.ASCII | re.IGNORECASE)
_UNITS = {
    "m": timedelta(minutes=1),
    "min": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
_FAR_AHEAD = datetime(9000, 1, 1, tzinfo=UTC)


class BadMoment(ValueError):
    """The text names no moment."""


def moment_of(text: str, now: datetime, zone: tzinfo) -> datetime:
    """The moment meant, in UTC; one without a zone is in `zone`, one without a time of day begins that day.

    Raises BadMoment.
    """
    ago = _AGO.fullmatch(text)
    if ago:
        return now.astimezone(UTC) - int(ago[1]) * _UNITS[ago[2].lower()]
    try:
        found = datetime.fromisoformat(text)
        at = (found if found.tzinfo else found.replace(tzinfo=zone)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise BadMoment from None
    if not _LONG_AGO <= at <= _FAR_AHEAD:
        raise BadMoment
    return at


def in_full(at: datetime) -> str:
    """A moment as it stands in an address: in UTC, to the second where that says it all."""
    precision = "microseconds" if at.microsecond else "seconds"
    return at.astimezone(UTC).isoformat(timespec=precision).replace("+00:00", "Z")
