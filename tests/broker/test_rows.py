"""Rows of lists, from jobs that real workers of both RQ versions left behind."""

from __future__ import annotations

import pytest

from jobs.broker.records import ResultKind
from jobs.broker.rows import read_queued, read_registry
from jobs.domain.calls import Call, Unreadable
from tests.support.traffic import count_traffic


def failed(*queues, **options):
    return read_registry("default", "failed", queues or ["orders"], with_errors=True, **options)


def test_a_failed_row_says_what_ran_and_how_it_failed(real_rq):
    job_id = real_rq.fail("fx.boom", 7, job_id="b-1")
    (row,) = failed().rows
    assert row.job.job_id == job_id
    assert isinstance(row.job.call, Call) and row.job.call.function == "fx.boom"
    assert row.job.status == "failed" and row.job.ended_at
    assert row.newest_result and row.newest_result.kind is ResultKind.FAILED
    assert "ValueError: boom 7" in row.newest_result.text


def test_json_jobs_are_read_like_pickled_ones(real_rq):
    real_rq.fail("fx.boom", 7, serializer="json")
    (row,) = failed().rows
    assert isinstance(row.job.call, Call) and (row.job.call.function, row.job.call.args) == ("fx.boom", (7,))


def test_a_row_shows_the_newest_of_several_failures(real_rq, redis_client):
    job_id = real_rq.fail("fx.boom", 7)
    for text in ("second", "third"):
        real_rq.evaluate(f"rq.job.Job.fetch({job_id!r}, connection=connection).requeue() and None")
        redis_client.hset(f"rq:job:{job_id}", "worker_name", text)
        real_rq.burst("orders")
    (row,) = failed().rows
    newest = redis_client.xrevrange(f"rq:results:{job_id}", count=1)[0][0]
    assert row.newest_result.id == newest.decode()


def test_a_ghost_is_listed_and_counted(real_rq, redis_client):
    real_rq.fail("fx.boom", 7)
    redis_client.zadd("rq:failed:orders", {"ghost-1": 9999999999, "half-1": 9999999999})
    redis_client.hset("rq:job:half-1", "last_heartbeat", "2026-01-01T00:00:00.000000Z")
    page = failed()
    assert page.total == len(page.rows) == 3
    assert {row.job.job_id: row.job.exists for row in page.rows}["ghost-1"] is False
    assert {row.job.job_id: row.job.status for row in page.rows}["half-1"] is None


DAMAGE = {
    "no data": lambda client, key: client.hdel(key, "data"),
    "data is no zlib": lambda client, key: client.hset(key, "data", b"garbage"),
    "no status": lambda client, key: client.hdel(key, "status"),
    "unknown status": lambda client, key: client.hset(key, "status", "rate_limited"),
    "a time that is none": lambda client, key: client.hset(key, "created_at", "yesterday"),
    "bytes that are no text": lambda client, key: client.hset(key, "worker_name", b"\xff\xfe"),
    "numbers that are none": lambda client, key: client.hset(
        key, mapping={"timeout": "soon", "retries_left": "x" * 99}
    ),
    "a stream of another type": lambda client, key: client.set(key.replace(":job:", ":results:"), "x"),
    "a stream entry of nonsense": lambda client, key: client.xadd(
        key.replace(":job:", ":results:"), {"type": "?", "exc_string": "%%%"}
    ),
    "a hash of another type": lambda client, key: (client.delete(key), client.set(key, "x")),
    "a hash that is gone": lambda client, key: client.delete(key),
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("rq_version", ["3.0"])
def test_a_damaged_job_spoils_no_other_row(real_rq, redis_client, damage):
    for at in range(4):
        real_rq.enqueue("fx.boom", at, job_id=f"job-{at}")
    real_rq.burst("orders")
    key = "rq:job:job-2"
    if damage.startswith("a stream of"):
        redis_client.delete("rq:results:job-2")
    DAMAGE[damage](redis_client, key)
    page = failed()
    others = [row for row in page.rows if row.job.job_id != "job-2"]
    assert (page.total, len(page.rows)) == (4, 4)
    assert all("boom" in row.newest_result.text and isinstance(row.job.call, Call) for row in others)


def test_an_argument_of_a_class_we_do_not_have_is_not_built(real_rq):
    real_rq.fail("fx.boom", expression="(7, fx.Parcel(7))")
    (row,) = failed().rows
    assert isinstance(row.job.call, Call) and row.job.call.args[0] == 7
    assert row.job.call.args[1].kind == "fx.Parcel"


def test_nonsense_in_place_of_the_call_is_unreadable_with_a_reason(real_rq, redis_client):
    job_id = real_rq.fail("fx.boom", 7)
    redis_client.hset(f"rq:job:{job_id}", "data", b"\x80\x05garbage")
    (row,) = failed().rows
    assert isinstance(row.job.call, Unreadable) and row.job.call.reason


def copies(client, count):
    """A failed job as RQ leaves it, `count` times; the same end time for all, as when a provider goes down."""
    data = client.hgetall("rq:job:model")
    entry = client.xrange("rq:results:model")[0][1]
    pipeline = client.pipeline(transaction=False)
    for at in range(count):
        pipeline.hset(f"rq:job:copy-{at:06d}", mapping=data)
        pipeline.xadd(f"rq:results:copy-{at:06d}", entry)
        pipeline.zadd("rq:failed:orders", {f"copy-{at:06d}": 1_800_000_000 + at // 100})
    pipeline.execute()


@pytest.mark.parametrize("rq_version", ["3.0"])
@pytest.mark.parametrize("count", [1_000, 20_000])
def test_every_page_is_three_round_trips_and_under_sixty_commands(real_rq, redis_client, count):
    real_rq.fail("fx.boom", 7, job_id="model")
    copies(redis_client, count)
    page = failed()
    for _ in range(3):
        with count_traffic(redis_client) as traffic:
            page = failed(after=page.older)
        assert (len(page.rows), traffic.round_trips) == (50, 3)
        assert traffic.commands <= 60
        assert all(row.newest_result for row in page.rows)


@pytest.mark.parametrize("rq_version", ["3.0"])
def test_queues_that_only_redis_knows_are_discovered(real_rq):
    real_rq.fail("fx.boom", 7, queue="forgotten")
    page = failed("orders", discover=True)
    assert [row.queue for row in page.rows] == ["forgotten"]
    assert page.queues == ("orders", "forgotten")


def test_a_running_job_is_listed_by_its_execution(real_rq):
    job_id = real_rq.enqueue("fx.slow", 7, 30)
    real_rq.start("orders").wait_for_horse()
    page = read_registry("default", "started", ["orders"])
    assert [row.job.job_id for row in page.rows] == [job_id]


@pytest.mark.parametrize("rq_version", ["3.0"])
def test_waiting_jobs_are_listed_in_the_order_they_will_run(real_rq):
    ids = [real_rq.enqueue("fx.ok", at) for at in range(3)]
    first = real_rq.enqueue("fx.ok", 9, at_front=True)
    rows, total = read_queued("default", "orders")
    assert ([row.job.job_id for row in rows], total) == ([first, *ids], 4)
    assert [row.rank for row in rows] == [0, 1, 2, 3]


@pytest.mark.parametrize("rq_version", ["3.0"])
def test_scheduled_jobs_are_listed_by_what_is_due_first(real_rq):
    late = real_rq.enqueue("fx.ok", 1, seconds=7200)
    soon = real_rq.enqueue("fx.ok", 2, seconds=3600)
    page = read_registry("default", "scheduled", ["orders"])
    assert [row.job.job_id for row in page.rows] == [soon, late]


@pytest.mark.parametrize("score", [float("inf"), float("-inf"), 1e300, -1e300, 1e15])
@pytest.mark.parametrize("state", ["failed", "scheduled", "started", "finished", "deferred", "canceled"])
def test_a_score_that_is_no_time_is_a_row_like_any_other(redis_client, state, score):
    redis_client.zadd(f"rq:{'wip' if state == 'started' else state}:orders", {"odd:1": score, "even:1": 1_800_000_000})
    assert len(read_registry("default", state, ["orders"], with_errors=True).rows) == 2
