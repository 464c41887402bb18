"""Distances in time: two units at most, rounded down, never negative."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.domain.times import Direction, due_distance, past_distance, split_duration

NOW = datetime(2026, 11, 29, 14, 2, 11, tzinfo=UTC)


def words(parts):
    return " ".join(f"{number} {unit}" for number, unit in parts)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0, "0 s"),
        (-3, "0 s"),
        (0.0002, "<1 ms"),
        (0.0123, "12 ms"),
        (0.9999, "999 ms"),
        (1, "1 s"),
        (3.49, "3.4 s"),
        (9.99, "9.9 s"),
        (10.7, "10 s"),
        (59.9, "59 s"),
        (60, "1 min"),
        (125, "2 min 5 s"),
        (3600, "1 h"),
        (3661, "1 h 1 min"),
        (86399, "23 h 59 min"),
        (90061, "1 d 1 h"),
        (86400 + 59, "1 d"),
        (400 * 86400, "400 d"),
    ],
)
def test_a_duration_has_two_units_at_most(seconds, expected):
    assert words(split_duration(timedelta(seconds=seconds))) == expected


@pytest.mark.parametrize(
    ("seconds_ago", "direction", "expected"),
    [
        (0, Direction.NOW, ""),
        (0.9, Direction.NOW, ""),
        (1, Direction.PAST, "1 s"),
        (59, Direction.PAST, "59 s"),
        (60, Direction.PAST, "1 min"),
        (119, Direction.PAST, "1 min"),
        (3599, Direction.PAST, "59 min"),
        (7500, Direction.PAST, "2 h 5 min"),
        (-0.5, Direction.NOW, ""),
        (-5, Direction.NOW, ""),
        (-6, Direction.AHEAD, "6 s"),
        (-600, Direction.AHEAD, "10 min"),
    ],
)
def test_what_happened_lies_in_the_past_or_a_clock_is_ahead(seconds_ago, direction, expected):
    distance = past_distance(NOW - timedelta(seconds=seconds_ago), NOW)
    assert (distance.direction, words(distance.parts)) == (direction, expected)


@pytest.mark.parametrize(
    ("seconds", "direction", "expected"),
    [
        (180, Direction.FUTURE, "3 min"),
        (0.4, Direction.NOW, ""),
        (-0.4, Direction.NOW, ""),
        (-240, Direction.PAST, "4 min"),
        (7500, Direction.FUTURE, "2 h 5 min"),
    ],
)
def test_what_is_planned_lies_ahead_or_its_time_has_passed(seconds, direction, expected):
    distance = due_distance(NOW + timedelta(seconds=seconds), NOW)
    assert (distance.direction, words(distance.parts)) == (direction, expected)


@pytest.mark.parametrize(("hours", "is_far"), [(23.9, False), (24, True), (100, True)])
def test_from_a_day_on_the_date_leads(hours, is_far):
    assert past_distance(NOW - timedelta(hours=hours), NOW).is_far is is_far
    assert due_distance(NOW + timedelta(hours=hours), NOW).is_far is is_far


@given(st.timedeltas(min_value=timedelta(days=-4000), max_value=timedelta(days=4000)))
def test_no_distance_is_ever_negative(offset):
    for distance in (past_distance(NOW + offset, NOW), due_distance(NOW + offset, NOW)):
        assert len(distance.parts) <= 2
        assert all(int(number) >= 0 for number, _ in distance.parts)
        assert bool(distance.parts) is (distance.direction is not Direction.NOW)


@given(st.integers(min_value=1, max_value=10**8))
def test_rounding_down_loses_less_than_the_smaller_unit(seconds):
    size = {"d": 86400, "h": 3600, "min": 60, "s": 1}
    parts = split_duration(timedelta(seconds=seconds))
    shown = sum(int(number) * size[unit] for number, unit in parts)
    assert 0 <= seconds - shown < size[parts[0][1]]
