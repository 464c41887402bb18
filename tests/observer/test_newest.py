"""What failed since the last pass: found at once, by its time-to-live, without going through all the rest."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from jobs.observer import failures
from jobs.observer.failures import Memory
from tests.observer.rows import attempts, ids, row
from tests.support.observer import look_for_newest, sweep_through
from tests.support.traffic import count_traffic

pytestmark = pytest.mark.django_db
SECOND = timedelta(seconds=1)


@pytest.fixture
def start():
    return timezone.now()


def test_what_failed_since_the_last_pass_is_indexed(failing, start):
    memory = Memory()
    assert look_for_newest("default", start, memory) == 0
    failing.fail("a", "b", at=start.timestamp() + 0.5)
    assert look_for_newest("default", start + SECOND, memory) == 2
    assert ids() == ["a", "b"]


@pytest.mark.parametrize("off", [-59, 59])
def test_a_worker_whose_clock_is_a_minute_off_is_not_missed(failing, start, off):
    memory = Memory()
    look_for_newest("default", start, memory)
    failing.fail("a", at=start.timestamp() + off)
    look_for_newest("default", start + SECOND, memory)
    assert ids() == ["a"]


def test_what_failed_while_the_store_did_not_answer_is_found_afterwards(failing, start):
    memory = Memory()
    look_for_newest("default", start, memory)
    failing.fail(*[f"j-{number:03}" for number in range(60)], at=start.timestamp() + 100)
    assert look_for_newest("default", start + timedelta(hours=1), memory) == 60


def test_a_time_to_live_that_was_met_once_is_usual_from_then_on(failing, start):
    memory = Memory()
    failing.fail("a", ttl=300, at=start.timestamp() - 100)
    assert look_for_newest("default", start, memory) == 0
    assert sum(failures.sweep("default", lambda: start, memory, failures.Progress())) == 1
    failing.fail("b", ttl=300, at=start.timestamp() + 0.5)
    look_for_newest("default", start + SECOND, memory)
    assert ids() == ["a", "b"]


def test_at_most_sixteen_times_to_live_are_remembered_the_latest_of_them():
    memory = Memory()
    for ttl in (*range(100, 120), 105, None, -1):
        memory.learn_ttl("orders", ttl)
    assert memory.ttls["orders"] == [104, *range(106, 120), 105]


def test_a_pass_at_rest_reads_no_job_and_costs_the_same_however_many_are_known(failing, redis_client, start):
    memory = Memory()
    failing.fail(*[f"old-{number:04}" for number in range(300)], at=start.timestamp() - 3600)
    failing.fail("a", at=start.timestamp())
    look_for_newest("default", start, memory)
    look_for_newest("default", start + 10 * SECOND, memory)
    with count_traffic(redis_client) as traffic:
        assert look_for_newest("default", start + 11 * SECOND, memory) == 0
    assert traffic.by_command == {"smembers": 1, "zrangebyscore": 1}


def test_an_observer_that_starts_anew_reads_nothing_twice(failing, start):
    failing.fail("a", "b", at=start.timestamp())
    assert look_for_newest("default", start) == 2
    assert look_for_newest("default", start + SECOND) == 0


def test_many_failures_at_once_are_read_in_pieces(failing, redis_client, start, monkeypatch):
    monkeypatch.setattr("jobs.broker.watching.RANGE_COUNT", 70)
    failing.fail(*[f"j-{number:03}" for number in range(200)], at=start.timestamp())
    with count_traffic(redis_client) as traffic:
        assert look_for_newest("default", start) == 200
    assert traffic.by_command["zrangebyscore"] == 3
    assert len(ids()) == 200


def test_a_job_that_fails_twice_within_a_second_is_read_twice(failing, start):
    """Its score tells seconds: it stays the same."""
    memory = Memory()
    failing.fail("a", at=start.timestamp())
    look_for_newest("default", start, memory)
    first = row("a").seen
    failing.fail("a", at=start.timestamp())
    assert look_for_newest("default", start + SECOND, memory) == 1
    assert row("a").seen != first and len(attempts("a")) == 2


@pytest.mark.parametrize("later", [0.5, 30, 300])
def test_a_second_failure_within_the_second_is_found_by_the_sweep_too(failing, start, later):
    """The observer was lost between the two, and with it all that it remembered."""
    failing.fail("a", at=start.timestamp())
    look_for_newest("default", start)
    failing.fail("a", at=start.timestamp())
    assert sweep_through("default", start + later * SECOND) == 1
    assert len(attempts("a")) == 2


def test_once_the_second_is_over_its_score_tells_enough(failing, redis_client, start):
    failing.fail("a", at=start.timestamp())
    look_for_newest("default", start)
    sweep_through("default", start + 10 * SECOND)
    with count_traffic(redis_client) as traffic:
        sweep_through("default", start + 20 * SECOND)
    assert "xread" not in traffic.by_command


def test_an_entry_without_a_time_is_known_by_its_newest_result(failing, start):
    """RQ gives every failure that is kept for ever the score -1."""
    failing.fail("a", at=start.timestamp() - 3600, ttl=-1)
    assert sweep_through("default", start) == 1
    assert sweep_through("default", start + 10 * SECOND) == 0
    failing.fail("a", at=start.timestamp() + 20, ttl=-1)
    assert sweep_through("default", start + 30 * SECOND) == 1
    assert len(attempts("a")) == 2
