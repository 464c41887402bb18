"""Many jobs at once: what is read of each, and that it costs two round trips however many they are."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from jobs.broker import details
from jobs.broker.details import MANY, WHOLE, read_job, read_jobs
from jobs.broker.watching import Window, recent_failures, scan_failed
from tests.support.failing import Failing
from tests.support.traffic import count_traffic

pytestmark = pytest.mark.parametrize("rq_version", ["3.0"])
NOW = datetime(2026, 3, 14, tzinfo=UTC)


@pytest.fixture
def failing(real_rq, redis_client):
    real_rq.fail("fx.boom", 7, job_id="model")
    return Failing(redis_client)


def without_what_runs_on(detail):
    return detail and replace(detail, expires_at=None, results_expire_at=None)


def test_each_is_read_as_it_would_be_alone(failing, real_rq):
    failing.fail("a", "b", "stranger", queue="payroll")
    real_rq.enqueue("fx.ok", 8, job_id="waits", depends_on="model")
    wanted = [("orders", "model"), ("payroll", "b"), ("orders", "stranger"), ("orders", "nobody"), ("orders", "waits")]
    together = read_jobs("default", wanted, now=NOW, limits=WHOLE)
    alone = [read_job("default", queue, job_id, now=NOW) for queue, job_id in wanted]
    assert list(map(without_what_runs_on, together)) == list(map(without_what_runs_on, alone))
    assert [one is None for one in together] == [False, False, True, True, False]


def test_however_many_are_two_round_trips_and_each_queue_is_asked_about_once(failing, redis_client):
    names = [f"job-{number}" for number in range(40)]
    failing.fail(*names)
    with count_traffic(redis_client) as traffic:
        found = read_jobs("default", [("orders", name) for name in names], now=NOW)
    assert [one.job.job_id for one in found] == names
    assert traffic.round_trips == 2
    assert (traffic.by_command["llen"], traffic.by_command["xrevrange"]) == (1, 40)


def test_long_calls_and_errors_come_a_few_at_a_time_and_whole(failing, redis_client, monkeypatch):
    """The limits apply to what was sent already: fifty jobs of a hundred megabytes would fill the memory."""
    failing.fail("a", "b", "c", "d")
    for _twice in range(2):
        redis_client.xadd("rq:results:d", {b"type": b"2", b"exc_string": b"x" * 3_000})
    wanted, bound = [("orders", name) for name in "abcd"], 2_000
    before = read_jobs("default", wanted, now=NOW)
    for name in "abc":
        redis_client.hset(f"rq:job:{name}", "data", b"y" * 1_500)
    monkeypatch.setattr(details, "WEIGHT_AT_ONCE", bound)
    with count_traffic(redis_client) as traffic:
        found = read_jobs("default", wanted, now=NOW)
    assert traffic.round_trips == 1 + 4
    assert found[3].job.call == before[3].job.call and found[3].results == before[3].results
    assert (len(found[3].results), len(found[0].results)) == (3, 1)


def test_where_many_are_read_nobody_looks_for_relatives_or_far_into_a_long_queue(failing, redis_client):
    redis_client.rpush("rq:queue:orders", *[f"other-{number}" for number in range(MANY.queue_length)], "model")
    redis_client.sadd("rq:job:model:dependents", "child")
    (many,) = read_jobs("default", [("orders", "model")], now=NOW)
    whole = read_job("default", "orders", "model", now=NOW)
    assert (many.queued_times, many.dependents) == (None, ())
    assert (whole.queued_times, len(whole.dependents)) == (1, 1)


def test_nobody_is_asked_for_nothing(redis_client, rq_version):
    with count_traffic(redis_client) as traffic:
        assert read_jobs("default", [], now=NOW) == []
    assert traffic.round_trips == 0


def test_no_answer_of_the_failed_registry_is_long_however_many_are_listed(redis_client, rq_version):
    """ZSCAN and ZRANGEBYSCORE of everything would hold Redis for a second at a million."""
    redis_client.zadd("rq:failed:orders", {f"job-{number}": 1_800_000_000 for number in range(5_000)})
    cursor, first = scan_failed("default", "orders", 0)
    assert cursor and len(first) < 1_000
    pieces = list(recent_failures("default", [Window("orders", 1_799_999_999, 1_800_000_001)]))
    assert [len(piece) for piece in pieces] == [1_000] * 5 + [0]
