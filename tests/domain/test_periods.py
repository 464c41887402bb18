"""Moments as people type them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from jobs.domain.periods import BadMoment, in_full, moment_of

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("text", "ago"),
    [
        ("30min", timedelta(minutes=30)),
        ("90m", timedelta(minutes=90)),
        ("24h", timedelta(days=1)),
        ("7d", timedelta(days=7)),
        ("2 W", timedelta(days=14)),
        ("9999w", timedelta(weeks=9999)),
    ],
)
def test_how_long_ago_is_counted_from_now(now, text, ago):
    assert moment_of(text, now, BERLIN) == now - ago


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-03-14T15:09Z", "2026-03-14T15:09:00Z"),
        ("2026-03-14T15:09:26.5+01:00", "2026-03-14T14:09:26.500000Z"),
        ("2026-03-14 15:09", "2026-03-14T14:09:00Z"),
        ("2026-07-01", "2026-06-30T22:00:00Z"),
    ],
)
def test_a_time_without_a_zone_is_in_that_of_the_pages_and_a_day_begins_at_its_midnight(now, text, moment):
    assert in_full(moment_of(text, now, BERLIN)) == moment


@pytest.mark.parametrize(
    "text", ["yesterday", "7", "h", "-3h", "7y", "2026-13-01", "0001-01-01", "9999-12-31T23:59-12:00", "٣h", "1e3h"]
)
def test_what_names_no_moment_is_told_apart(now, text):
    with pytest.raises(BadMoment):
        moment_of(text, now, UTC)


def test_what_stands_in_an_address_means_the_same_moment_again(now):
    at = datetime(2026, 3, 14, 15, 9, 26, 535897, tzinfo=UTC)
    assert moment_of(in_full(at), now, BERLIN) == at
