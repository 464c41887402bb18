"""What the overview warns of."""

from __future__ import annotations

from datetime import timedelta

import pytest

from jobs.domain.notices import Level, oldest_age, queue_warnings, store_warnings

QUIET = {
    "queued": 0,
    "scheduled": 0,
    "expired_leases": 0,
    "workers_alive": 1,
    "has_scheduler": True,
    "oldest_age": None,
    "overdue": None,
}
STORE = {
    "may_drop_jobs": False,
    "eviction_policy": "noeviction",
    "workers_suspended": False,
    "clock_ahead": timedelta(0),
}


def test_a_queue_in_order_has_no_notice():
    assert queue_warnings(**QUIET) == ()
    assert store_warnings(**STORE) == ()


@pytest.mark.parametrize(
    ("changes", "level", "words"),
    [
        ({"queued": 3, "workers_alive": 0}, Level.ALARM, "3 jobs are waiting and no worker"),
        ({"queued": 1, "workers_alive": 0}, Level.ALARM, "1 job is waiting"),
        ({"expired_leases": 2}, Level.ALARM, "2 runs gave no sign of life"),
        ({"scheduled": 1, "has_scheduler": False}, Level.WARNING, "no scheduler runs"),
        ({"scheduled": 1, "has_scheduler": False, "overdue": timedelta(seconds=5)}, Level.ALARM, "no scheduler runs"),
        ({"scheduled": 1, "overdue": timedelta(minutes=3)}, Level.WARNING, "overdue"),
        ({"queued": 5, "oldest_age": timedelta(minutes=14)}, Level.WARNING, "over 14 min"),
        ({"queued": 5, "oldest_age": timedelta(hours=5)}, Level.WARNING, "over 5 h"),
    ],
)
def test_what_is_wrong_with_a_queue_is_said(changes, level, words):
    (notice,) = queue_warnings(**{**QUIET, **changes})
    assert notice.level is level and words in notice.sentence


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"may_drop_jobs": True, "eviction_policy": "allkeys-lru"}, "maxmemory-policy allkeys-lru"),
        ({"workers_suspended": True}, "suspended"),
        ({"clock_ahead": timedelta(seconds=9)}, "9 s ahead of"),
        ({"clock_ahead": timedelta(seconds=-9)}, "9 s behind"),
    ],
)
def test_what_is_wrong_with_a_store_is_said(changes, words):
    (notice,) = store_warnings(**{**STORE, **changes})
    assert words in notice.sentence


def test_the_worst_comes_first():
    notices = queue_warnings(**{**QUIET, "queued": 1, "workers_alive": 0, "scheduled": 1, "has_scheduler": False})
    assert [notice.level for notice in notices] == [Level.ALARM, Level.WARNING]


def test_an_age_is_never_negative(now):
    assert oldest_age(now + timedelta(seconds=5), now) == timedelta(0)
    assert oldest_age(None, now) is None
