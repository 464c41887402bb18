"""Whether the observer keeps up, from what it last wrote down."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from jobs.domain.notices import Level
from jobs.domain.watch import WatchReport
from jobs.domain.watch_state import Watch, WatchState, connection_watch_warnings, fill_percent, watch_warnings

NOW = datetime(2026, 3, 14, 15, 9, 26, tzinfo=UTC)
WELL = WatchReport(passed_at=NOW, swept_at=NOW)


def watch(looked=None, leads=None, **reports):
    """`looked`, `leads`: how many seconds ago it last looked, and began to lead."""
    return Watch(
        now=NOW,
        last_pass_at=None if looked is None else NOW - timedelta(seconds=looked),
        leads_since=None if leads is None else NOW - timedelta(seconds=leads),
        reports=reports,
    )


@pytest.mark.parametrize(
    ("looked", "leads", "state"),
    [
        (None, None, WatchState.ABSENT),
        (0, 3600, WatchState.KEEPS_UP),
        (30, 3600, WatchState.KEEPS_UP),
        (31, 3600, WatchState.LATE),
        (31, None, WatchState.LATE),
        (60, None, WatchState.LATE),
        (61, None, WatchState.ABSENT),
        (61, 3600, WatchState.ABSENT),
        (None, 2, WatchState.STARTING),
        (86_400, 2, WatchState.STARTING),
        (None, 31, WatchState.LATE),
        (None, 61, WatchState.ABSENT),
        # Its clock may be ahead of ours.
        (-4, 3600, WatchState.KEEPS_UP),
    ],
)
def test_it_is_late_after_half_a_minute_and_absent_after_one(looked, leads, state):
    assert watch(looked, leads).state is state


@pytest.mark.parametrize(
    ("report", "state"),
    [
        (WELL, WatchState.KEEPS_UP),
        (WatchReport(passed_at=NOW), WatchState.FILLING),
        (WatchReport(), WatchState.STARTING),
        (WatchReport(passed_at=NOW, swept_at=NOW, error="It does not answer."), WatchState.KEPT_OUT),
        (WatchReport(error="It does not answer."), WatchState.KEPT_OUT),
    ],
)
def test_of_one_connection_it_is_said_what_that_one_lacks(report, state):
    assert watch(0, default=report).state_of("default") is state
    assert watch(45, default=report).state_of("default") is WatchState.LATE
    assert watch(default=report).state_of("default") is WatchState.ABSENT


def test_a_connection_that_it_never_met_is_one_that_it_has_not_looked_at():
    assert watch(0, default=WELL).state_of("billing") is WatchState.STARTING


@pytest.mark.parametrize(
    ("looked", "level", "sentence"),
    [
        (45, Level.WARNING, "The observer has not looked for 45 s. New failures and unknown results show up late."),
        (
            1000,
            Level.ALARM,
            "The observer has not looked for 16 min. New failures are not listed, and unknown results are noticed by"
            " nobody. Start it with manage.py observe.",
        ),
        (
            None,
            Level.ALARM,
            "No observer has looked yet. New failures are not listed, and unknown results are noticed by nobody. Start"
            " it with manage.py observe.",
        ),
    ],
)
def test_what_is_wrong_with_it_is_said_once_and_with_the_remedy(looked, level, sentence):
    doubtful = watch(looked, default=WatchReport(error="It does not answer."))
    assert [(one.level, one.sentence) for one in watch_warnings(doubtful)] == [(level, sentence)]
    assert connection_watch_warnings(doubtful, "default") == ()


@pytest.mark.parametrize(("looked", "leads"), [(0, 9), (None, 1)])
def test_one_that_keeps_up_or_has_just_begun_is_no_reason_for_a_word(looked, leads):
    assert watch_warnings(watch(looked, leads)) == ()
    assert connection_watch_warnings(watch(looked, leads, default=WELL), "default") == ()


def test_what_it_cannot_read_is_said_of_the_connection():
    (notice,) = connection_watch_warnings(watch(0, billing=WatchReport(error="It may not SCAN.")), "billing")
    assert notice.level is Level.WARNING
    assert notice.sentence == "The observer can't read all of “billing”: It may not SCAN."


@pytest.mark.parametrize(("done", "total", "percent"), [(0, 0, None), (0, 7, 0), (2, 7, 28), (7, 7, 99), (9, 7, 99)])
def test_while_it_reads_in_what_failed_before_it_says_how_far_it_is_and_never_that_it_is_over(done, total, percent):
    report = WatchReport(passed_at=NOW, done=done, total=total)
    assert fill_percent(report) == percent
    (notice,) = connection_watch_warnings(watch(0, default=report), "default")
    share = "" if percent is None else f" ({percent} %)"
    assert notice.sentence == f"Older failures of “default” are still being read in{share}: some are not listed yet."
    assert notice.level is Level.HINT
