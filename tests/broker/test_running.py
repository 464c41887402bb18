"""What is read to find runs that nobody hears of and jobs that no list holds: how much, and in how few commands."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from jobs.broker import connections, running
from jobs.broker.errors import BrokerUnavailable
from jobs.broker.running import count_runs, missing_from_queue, scan_jobs, started_runs, store_time
from opsboard.runner.valkey import free_port
from tests.support.traffic import count_traffic


def lay(client, job_id, prefix="rq", **fields):
    client.hset(f"{prefix}:job:{job_id}", mapping={"status": "queued", "origin": "orders", **fields})


def scan_all(connection="default"):
    cursor, traces = scan_jobs(connection, 0)
    while cursor:
        cursor, more = scan_jobs(connection, cursor)
        traces += more
    return {one.job_id: one for one in traces}


# Runs -----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def runs(redis_client):
    """Twelve runs in two queues, the later one's leases end sooner; each by a worker of its own that lives."""
    for number in range(12):
        queue = ("orders", "mail")[number % 2]
        lay(redis_client, f"job-{number}", worker_name=f"w-{number}", started_at="2026-03-14T15:00:00.000000Z")
        redis_client.hset(f"rq:worker:w-{number}", "birth", "2026-03-14T14:00:00.000000Z")
        redis_client.zadd(f"rq:wip:{queue}", {f"job-{number}:run": 9_000 - number})
    return redis_client


def test_runs_come_with_the_soonest_lease_first_whatever_their_queue(runs):
    found = started_runs("default", ["orders", "mail"])
    assert [(one.job_id, one.queue, one.lease_until) for one in found.runs[:2]] == [
        ("job-11", "mail", 8_989),
        ("job-10", "orders", 8_990),
    ]
    assert found.runs[0].entry == b"job-11:run" and (len(found.runs), found.left_out) == (12, 0)
    assert abs((found.at - datetime.now(UTC)).total_seconds()) < 60


def test_of_too_many_runs_the_soonest_are_looked_at_and_the_others_counted(runs, monkeypatch):
    monkeypatch.setattr(running, "RUNS_LOOKED_AT", 5)
    found = started_runs("default", ["orders", "mail"])
    assert [one.job_id for one in found.runs] == [f"job-{number}" for number in (11, 10, 9, 8, 7)]
    assert found.left_out == 7


def test_runs_cost_three_round_trips_however_many_they_are(runs):
    store_time("default")  # connects
    with count_traffic(runs) as traffic:
        started_runs("default", ["orders", "mail"])
    assert traffic.round_trips == 3
    assert traffic.by_command == {"time": 1, "zrange": 2, "zcard": 2, "hmget": 24}


def test_a_worker_that_left_or_was_replaced_or_of_which_nothing_is_left_is_not_there(runs):
    runs.hset("rq:worker:w-0", "death", "2026-03-14T15:01:00.000000Z")
    runs.hset("rq:worker:w-1", "birth", "2026-03-14T15:01:00.000000Z")
    runs.delete("rq:worker:w-2")
    runs.hdel("rq:job:job-3", "worker_name")  # nothing is known of it
    found = started_runs("default", ["orders", "mail"]).runs
    assert {one.job_id for one in found if not one.has_worker} == {"job-0", "job-1", "job-2"}


def test_queues_without_a_run_and_no_queue_at_all_have_none(redis_client):
    assert started_runs("default", ["orders"])[1:] == ([], 0)
    assert started_runs("default", [])[1:] == ([], 0)


# Every job there is ---------------------------------------------------------------------------------------------------


def test_every_job_that_is_under_way_is_met_with_its_state_and_times_and_nothing_else_is(redis_client):
    lay(redis_client, "one", enqueued_at="2026-03-14T15:00:00.000000Z")
    lay(redis_client, "two", status="canceled", started_at="2026-03-14T15:00:09.000000Z", origin="mail")
    for key in ("rq:job:one:dependents", "rq:job::one:dependencies"):
        redis_client.sadd(key, "two")
    redis_client.hset("rq:job:half", "last_heartbeat", "2026-03-14T15:00:00.000000Z")
    redis_client.hset("rq:results:one", "status", "queued")
    for status in ("failed", "finished", "stopped", "scheduled", "deferred", "created"):
        lay(redis_client, status, status=status)
    found = scan_all()
    assert set(found) == {"one", "two"}
    assert (found["one"].status, found["one"].queue, found["one"].started_at) == ("queued", "orders", None)
    assert found["one"].enqueued_at == datetime(2026, 3, 14, 15, 0, tzinfo=UTC)
    assert (found["two"].status, found["two"].queue) == ("canceled", "mail")
    assert found["two"].token == "canceled@/2026-03-14T15:00:09.000000Z"


def test_a_search_through_many_jobs_goes_in_slices_that_hold_the_store_for_a_moment_only(redis_client):
    pipeline = redis_client.pipeline(transaction=False)
    for number in range(3_000):
        pipeline.hset(f"rq:job:{number}", mapping={"status": "started", "origin": "orders"})
        pipeline.set(f"rq:results:{number}", "")
    pipeline.execute()
    store_time("default")
    with count_traffic(redis_client) as traffic:
        assert len(scan_all()) == 3_000
    slices = traffic.by_command["scan"]
    assert slices >= 6_000 / running.SCAN_COUNT / 2
    assert (traffic.round_trips, traffic.by_command) == (2 * slices, {"scan": slices, "hmget": 3_000})


def test_a_prefix_is_taken_as_it_is_written(redis_client, valkey, settings):
    settings.OPSBOARD_CONNECTIONS = {"default": {"url": valkey.url, "read_url": None, "prefix": "r[q]*-?\\^"}}
    connections.reset()
    lay(redis_client, "ours", prefix="r[q]*-?\\^")
    for other in ("rq", "q", "r[q]xx-x\\^", "rq-?\\^"):
        lay(redis_client, "theirs", prefix=other)
    assert set(scan_all()) == {"ours"}


# Whether a queue holds them -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [0, 1, 999, 1_000, 1_001, 2_500])
def test_what_a_queue_of_any_length_holds_is_told_from_what_it_does_not(redis_client, length):
    held = [f"job-{number}" for number in range(length)]
    if held:
        redis_client.rpush("rq:queue:orders", *held)
    asked = [*held[:1], *held[length // 2 : length // 2 + 1], *held[-1:], "gone"]
    assert missing_from_queue("default", "orders", asked) == {"gone"}


def test_no_more_of_a_queue_is_read_than_it_takes(redis_client, monkeypatch):
    redis_client.rpush("rq:queue:orders", *(f"job-{number}" for number in range(5_000)))
    store_time("default")
    with count_traffic(redis_client) as traffic:
        assert missing_from_queue("default", "orders", ["job-3999", "job-4999"]) == frozenset()
    assert traffic.by_command == {"lrange": 2}
    monkeypatch.setattr(running, "QUEUE_READ", 3_000)
    assert missing_from_queue("default", "orders", ["job-3999"]) == frozenset()
    assert missing_from_queue("default", "orders", ["job-0"]) is None


def test_runs_are_counted_by_the_lists_of_their_jobs(redis_client):
    redis_client.zadd("rq:executions:job", {"run-1": 1, "run-2": 2})
    redis_client.set("rq:executions:wrong", "of another type")
    assert count_runs("default", ["job", "none", "wrong"]) == [2, 0, 0]


def test_what_a_store_in_trouble_answers_is_not_taken_for_an_empty_list(redis_client, valkey, settings):
    """An account that may not read lists says nothing of what stands in them."""
    allowed = "+@connection +scan +hmget +time"
    redis_client.execute_command("ACL", "SETUSER", "half", "on", ">word", "~rq:*", *allowed.split())
    url = valkey.url.replace("redis://", "redis://half:word@")
    settings.OPSBOARD_CONNECTIONS = {"default": {"url": valkey.url, "read_url": url, "prefix": "rq"}}
    connections.reset()
    try:
        for ask in (
            lambda: missing_from_queue("default", "orders", ["job"]),
            lambda: started_runs("default", ["orders"]),
            lambda: count_runs("default", ["job"]),
        ):
            with pytest.raises(BrokerUnavailable, match="may not do this"):
                ask()
    finally:
        redis_client.execute_command("ACL", "DELUSER", "half")


def test_a_store_that_is_away_is_told_apart_from_one_without_jobs(settings):
    settings.OPSBOARD_CONNECTIONS = {"default": {"url": f"redis://127.0.0.1:{free_port()}/0"}}
    connections.reset()
    for ask in (lambda: scan_jobs("default", 0), lambda: started_runs("default", []), lambda: store_time("default")):
        with pytest.raises(BrokerUnavailable):
            ask()
