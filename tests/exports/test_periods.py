"""Periods as people write them."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exports.periods import NoSuchPeriod, looks_like_a_period, read_period

NOW = datetime(2026, 3, 14, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("2025", "2025-01-01", "2026-01-01"),
        ("2025-Q1", "2025-01-01", "2025-04-01"),
        ("2025-Q4", "2025-10-01", "2026-01-01"),
        ("2025-02", "2025-02-01", "2025-03-01"),
        ("2025-12", "2025-12-01", "2026-01-01"),
        ("2026", "2026-01-01", "2027-01-01"),
        ("2026-03", "2026-03-01", "2026-04-01"),
    ],
)
def test_a_period_goes_from_its_first_moment_to_the_first_of_the_next(text, start, end):
    period = read_period(text, UTC, NOW)
    assert (f"{period.start:%Y-%m-%d}", f"{period.end:%Y-%m-%d}") == (start, end)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("2025-13", "There is no month 13: a year has months 01 to 12."),
        ("2025-00", "There is no month 00: a year has months 01 to 12."),
        ("2025-Q5", "There is no quarter 5: a year has quarters 1 to 4."),
        ("2025-Q0", "There is no quarter 0: a year has quarters 1 to 4."),
        ("0000", "There is no year 0000."),
        ("0001", "There is no year 0001."),
        ("9999", "There is no year 9999."),
        ("2027", "2027 has not begun yet: there is nothing to export."),
        ("2026-04", "2026-04 has not begun yet: there is nothing to export."),
        ("last year", "“last year” is no period; write it like 2025, 2025-Q3, 2025-11."),
    ],
)
def test_what_is_no_period_is_told_in_one_sentence(text, reason):
    with pytest.raises(NoSuchPeriod) as refusal:
        read_period(text, UTC, NOW)
    assert str(refusal.value) == reason


def test_a_period_begins_at_midnight_where_the_people_are():
    period = read_period("2025-07", ZoneInfo("Europe/Berlin"), NOW)
    assert period.start.isoformat() == "2025-07-01T00:00:00+02:00"


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Pacific/Pago_Pago"])
def test_databases_can_be_asked_for_the_first_period_and_the_last_of_all_zones(zone):
    first = read_period("0002-01", ZoneInfo(zone), NOW)
    last = read_period("9998-12", ZoneInfo(zone), datetime(9999, 6, 1, tzinfo=UTC))
    assert first.start.astimezone(UTC) < last.end.astimezone(UTC)


@given(st.text(max_size=20))
def test_whatever_is_typed_is_a_period_or_told_not_to_be_one(text):
    try:
        period = read_period(text, UTC, NOW)
    except NoSuchPeriod as refusal:
        assert str(refusal)
    else:
        assert looks_like_a_period(text)
        assert period.start < period.end
