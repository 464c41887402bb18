"""The wait before the next attempt: it doubles, it has an end, and chance spreads it."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from jobs.domain.backoff import Backoff

DELAYS = [
    (1, 1.0, 30),
    (2, 1.0, 60),
    (3, 1.0, 120),
    (7, 1.0, 1920),
    (8, 1.0, 3600),
    (5000, 1.0, 3600),
    (3, 0.5, 60),
    (1, 0.0, 1),
    (1, 0.01, 1),
]


@pytest.mark.parametrize(("attempt", "chance", "seconds"), DELAYS)
def test_the_wait_doubles_up_to_its_cap_and_chance_takes_a_part_of_it(attempt, chance, seconds):
    assert Backoff().delay(attempt, chance=chance) == timedelta(seconds=seconds)


def test_a_base_of_zero_is_at_once_whatever_the_chance():
    assert Backoff(base=0).delay(9, chance=1.0) == timedelta()


def test_the_longest_wait_never_shrinks_with_the_attempts():
    waits = [Backoff(base=0.3, cap=900).delay(attempt, chance=1.0) for attempt in range(1, 200)]
    assert waits == sorted(waits)
    assert (waits[0], waits[-1]) == (timedelta(seconds=1), timedelta(seconds=900))


@pytest.mark.parametrize(("attempt", "chance"), [(0, 0.5), (-1, 0.5), (1, -0.1), (1, 1.1), (1, float("nan"))])
def test_an_attempt_that_is_not_counted_from_one_or_a_chance_outside_its_bounds_is_refused(attempt, chance):
    with pytest.raises(ValueError, match="counted from 1"):
        Backoff().delay(attempt, chance=chance)


REFUSED = [
    ({"max_attempts": 0}, "max_attempts"),
    ({"max_attempts": -1}, "max_attempts"),
    ({"max_attempts": 2.5}, "max_attempts"),
    ({"max_attempts": True}, "max_attempts"),
    ({"max_attempts": None}, "max_attempts"),
    ({"max_lost": 0}, "max_lost"),
    ({"base": -1}, "base"),
    ({"base": float("nan")}, "base"),
    ({"base": "30"}, "base"),
    ({"base": True}, "base"),
    ({"cap": float("inf")}, "cap"),
    ({"cap": 40_000_000}, "cap"),
    ({"base": 60, "cap": 30}, "cap is the longest wait"),
]


@pytest.mark.parametrize(("values", "remedy"), REFUSED, ids=range(len(REFUSED)))
def test_a_policy_that_can_not_be_kept_to_is_refused_by_name(values, remedy):
    with pytest.raises(ValueError, match=f"^{remedy}"):
        Backoff(**values)


def test_a_policy_comes_back_from_the_ledger_as_it_went():
    policy = Backoff(max_attempts=7, base=0.5, cap=60, max_lost=2)
    assert Backoff.from_json(json.loads(json.dumps(policy.to_json()))) == policy


def test_a_policy_of_another_release_has_defaults_for_what_it_lacks():
    assert Backoff.from_json({"max_attempts": 2, "jitter": "none"}) == Backoff(max_attempts=2)
    assert Backoff.from_json({}) == Backoff()
