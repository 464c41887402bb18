"""Reading single values as they stand in Redis: anything may be missing, damaged or of another age."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime

_TIME = re.compile(rb"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?Z")
_STREAM_ID = re.compile(rb"^(\d{1,16})-\d{1,20}$")


def text(raw: bytes | None) -> str:
    """UTF-8 text; bytes that are none are shown as \\xNN rather than lost."""
    return raw.decode("utf-8", "backslashreplace") if isinstance(raw, bytes) else ""


def optional_text(raw: bytes | None) -> str | None:
    """As `text`, with None for a missing or empty field (RQ writes '' for "not set")."""
    return text(raw) or None


def time(raw: bytes | None) -> datetime | None:
    """One of RQ's time texts (always UTC), or None when it is missing, empty or not a time."""
    try:
        # Ten times as fast as strptime, and many jobs are read at once; but it takes other forms too.
        return _sane(datetime.fromisoformat(raw.decode())) if raw and _TIME.fullmatch(raw) else None
    except ValueError:
        return None


def epoch(raw: bytes | float | None) -> datetime | None:
    """Seconds since 1970 (a score, an execution's field), or None when they name no date."""
    try:
        return _sane(datetime.fromtimestamp(float(raw), UTC)) if raw is not None else None
    except (ValueError, OverflowError, OSError):
        return None


def server_time(answer: tuple[int, int]) -> datetime:
    """What Redis's TIME says: seconds since 1970, and microseconds."""
    seconds, microseconds = answer
    return datetime.fromtimestamp(seconds + microseconds / 1e6, UTC)


def _sane(at: datetime) -> datetime | None:
    """The time, unless it is so far off that another zone or a difference could not be calculated."""
    return at if 1900 < at.year < 3000 else None


def number(raw: bytes | None) -> int | None:
    """A whole number of at most 18 digits, or None."""
    try:
        return int(raw) if raw is not None and len(raw) <= 18 else None
    except ValueError:
        return None


def id_list(raw: bytes | None) -> tuple[str, ...]:
    """A JSON list of ids, capped at 100; anything else is no list."""
    try:
        found = json.loads(raw) if raw and len(raw) < 1_000_000 else []
    except (ValueError, RecursionError):
        return ()
    return tuple(str(one) for one in found[:100] if isinstance(one, str)) if isinstance(found, list) else ()


def stream_time(raw: bytes) -> datetime | None:
    """The server's time inside a stream entry's id (`milliseconds-counter`)."""
    match = _STREAM_ID.match(raw)
    return epoch(int(match[1]) / 1000) if match else None
