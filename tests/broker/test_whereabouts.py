"""Where a job is, of jobs as both RQs leave them."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest

from jobs.broker import whereabouts
from jobs.broker.whereabouts import Place, find_jobs, recorded_ends
from tests.support.keyspace import snapshot
from tests.support.operations import QUEUE
from tests.support.real_rq import wait_until
from tests.support.traffic import count_traffic

PATIENCE = timedelta(seconds=60)


def where(*job_ids, queue="orders"):
    found = find_jobs("default", [(queue, job_id) for job_id in job_ids], patience=PATIENCE)
    return [one.place for one in found]


def test_each_place_that_rq_has_for_a_job(real_rq, redis_client):
    real_rq.enqueue("fx.effect", "ran", job_id="ran")
    real_rq.fail("fx.boom", 7, job_id="failed")
    real_rq.enqueue("fx.effect", "later", job_id="later", seconds=3600)
    real_rq.enqueue("fx.effect", "waits", job_id="waits")
    real_rq.enqueue("fx.effect", "mislaid", job_id="mislaid")
    redis_client.lrem("rq:queue:orders", 0, "mislaid")
    before = snapshot(redis_client)
    assert where("ran", "failed", "later", "waits", "mislaid", "never-was") == [
        *(Place.ENDED, Place.ENDED, Place.SCHEDULED, Place.WAITING, Place.NOWHERE, Place.NOWHERE)
    ]
    assert where("waits", queue="another") == [Place.NOWHERE]
    assert snapshot(redis_client) == before


def test_a_job_that_runs_is_begun_and_one_whose_lease_is_over_is_cut_off(real_rq, redis_client):
    real_rq.enqueue("fx.slow", 7, 60, job_id="runs")
    worker = real_rq.start()
    worker.wait_for_horse()
    wait_until(lambda: redis_client.hget("rq:job:runs", "status") == b"started", "it has begun")
    assert where("runs") == [Place.STARTED]
    for run, _score in redis_client.zrange("rq:executions:runs", 0, -1, withscores=True):
        redis_client.zadd("rq:executions:runs", {run: time.time() + 59})
    assert where("runs") == [Place.CUT_OFF]


def test_the_end_that_a_worker_saw_is_read_with_worker_and_times(real_rq, redis_client):
    real_rq.enqueue("fx.slow", 7, 60, job_id="killed")
    real_rq.enqueue("fx.effect", "waits", job_id="waits")
    worker = real_rq.start(arguments=("--max-jobs", "1"))
    worker.kill_horse()
    worker.wait()
    killed, waits = recorded_ends("default", ["killed", "waits"])
    assert waits is None and killed.text.startswith("Work-horse terminated unexpectedly; waitpid returned 9")
    assert killed.worker_name == worker.name and killed.started_at < killed.ended_at


@pytest.mark.parametrize(
    ("score", "has_scheduler", "place"),
    [
        (10, False, Place.SCHEDULED),
        (-1, False, Place.OVERDUE),
        (-1, True, Place.SCHEDULED),
        (-61, True, Place.OVERDUE),
    ],
    ids=["not-due", "nobody-takes-it-up", "just-due", "long-due"],
)
def test_a_scheduled_job_is_left_to_a_scheduler_for_a_while(redis_client, score, has_scheduler, place):
    redis_client.hset("rq:job:a", mapping={"status": "scheduled", "origin": QUEUE})
    redis_client.zadd(f"rq:scheduled:{QUEUE}", {"a": time.time() + score})
    if has_scheduler:
        redis_client.set(f"rq:scheduler-lock:{QUEUE}", "1")
    assert where("a", queue=QUEUE) == [place]


def test_a_job_that_a_worker_takes_between_two_looks_is_not_lost(redis_client, monkeypatch):
    redis_client.hset("rq:job:a", mapping={"status": "queued", "origin": QUEUE})

    def taken_meanwhile(_connection, _queue, job_ids):
        redis_client.zadd("rq:executions:a", {"run": time.time() + 120})
        return frozenset(job_ids)

    monkeypatch.setattr(whereabouts, "missing_from_queue", taken_meanwhile)
    assert where("a", queue=QUEUE) == [Place.STARTED]


def test_a_job_that_a_worker_of_several_queues_has_in_hand_and_has_not_begun_is_not_lost(redis_client, monkeypatch):
    redis_client.hset("rq:job:a", mapping={"status": "queued", "origin": QUEUE})
    monkeypatch.setattr(whereabouts, "TAKING_SECONDS", 10)

    def begin(seconds):
        assert seconds == 10
        redis_client.zadd("rq:executions:a", {"run": time.time() + 120})

    monkeypatch.setattr(whereabouts.time, "sleep", begin)
    assert where("a", queue=QUEUE) == [Place.STARTED]


def test_of_a_queue_that_is_too_long_to_look_through_nothing_counts_as_lost(redis_client, monkeypatch):
    redis_client.hset("rq:job:a", mapping={"status": "queued", "origin": QUEUE})
    monkeypatch.setattr(whereabouts, "missing_from_queue", lambda *_asked: None)
    assert where("a", queue=QUEUE) == [Place.WAITING]


def test_keys_of_another_kind_are_no_job(redis_client):
    redis_client.set("rq:job:a", "no hash")
    redis_client.set(f"rq:scheduled:{QUEUE}", "no set")
    assert where("a", queue=QUEUE) == [Place.NOWHERE]


@pytest.mark.parametrize("count", [1, 200])
def test_many_jobs_cost_as_many_round_trips_as_one(redis_client, count):
    for number in range(count):
        redis_client.hset(f"rq:job:{number}", mapping={"status": "queued", "origin": QUEUE})
        redis_client.rpush(f"rq:queue:{QUEUE}", number)
    with count_traffic(redis_client) as traffic:
        assert where(*map(str, range(count)), queue=QUEUE) == [Place.WAITING] * count
    assert traffic.round_trips == 2


def test_nothing_is_asked_about_nothing(redis_client):
    with count_traffic(redis_client) as traffic:
        assert where() == [] and recorded_ends("default", []) == []
    assert traffic.round_trips == 0
