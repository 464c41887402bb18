"""The token of what was seen: the same on a page, in a list and in the scripts, and another after each change."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from jobs.broker.details import read_job
from jobs.broker.rows import read_queued, read_registry
from tests.support.acts import delete, target
from tests.support.real_rq import wait_until


def make(real_rq, client, state):
    """One job of that state, by RQ's own hand."""
    if state in ("failed", "finished"):
        return real_rq.fail({"failed": "fx.boom", "finished": "fx.ok"}[state], 7)
    if state == "started":
        job_id = real_rq.enqueue("fx.slow", 7, 60)
        real_rq.start("orders")
        wait_until(lambda: client.hget(f"rq:job:{job_id}", "status") == b"started", "the job runs")
        return job_id
    options = {"scheduled": {"seconds": 3600}, "deferred": {"depends_on": _parent(real_rq, state)}}.get(state, {})
    job_id = real_rq.enqueue("fx.ok", 7, **options)
    if state == "canceled":
        real_rq.evaluate(f"rq.job.Job.fetch({job_id!r}, connection=connection).cancel()")
    return job_id


def _parent(real_rq, state):
    return real_rq.enqueue("fx.ok", 1, queue="payroll") if state == "deferred" else None


def detail(job_id):
    return read_job("default", "orders", job_id, now=datetime.now(UTC))


@pytest.mark.parametrize("state", ["failed", "finished", "scheduled", "deferred", "canceled", "started"])
def test_a_row_of_a_list_says_what_the_page_says(real_rq, redis_client, state):
    job_id = make(real_rq, redis_client, state)
    (row,) = read_registry("default", state, ["orders"], with_errors=state == "failed").rows
    assert row.seen == detail(job_id).seen
    assert row.seen.startswith(f"{state}@") == (state != "failed")


def test_a_queued_row_says_what_the_page_says(real_rq, redis_client):
    job_id = make(real_rq, redis_client, "queued")
    ((row,), _) = read_queued("default", "orders")
    assert row.seen == detail(job_id).seen == f"queued@{redis_client.hget(f'rq:job:{job_id}', 'enqueued_at').decode()}/"


@pytest.mark.parametrize("rq_version", ["3.0"])
def test_a_failed_job_is_seen_by_its_newest_result_and_without_one_by_its_end(real_rq, redis_client):
    job_id = make(real_rq, redis_client, "failed")
    assert detail(job_id).seen == redis_client.xrevrange(f"rq:results:{job_id}", count=1)[0][0].decode()
    redis_client.delete(f"rq:results:{job_id}")
    assert detail(job_id).seen == "-" + redis_client.hget(f"rq:job:{job_id}", "ended_at").decode()


@pytest.mark.parametrize("rq_version", ["3.0"])
def test_a_job_without_data_or_status_is_seen_as_gone(real_rq, redis_client):
    job_id = make(real_rq, redis_client, "failed")
    redis_client.hdel(f"rq:job:{job_id}", "status")
    assert detail(job_id).seen == "gone"
    redis_client.delete(f"rq:job:{job_id}")
    assert detail(job_id).seen == "gone"


@pytest.mark.parametrize("rq_version", ["3.0"])
@pytest.mark.parametrize("name", ["status", "enqueued_at", "started_at"])
def test_texts_of_any_length_make_a_short_token_that_the_scripts_know(real_rq, redis_client, name):
    job_id = make(real_rq, redis_client, "queued")
    redis_client.hset(f"rq:job:{job_id}", name, "x" * 1_000_000)
    assert len(detail(job_id).seen) == 128
    assert delete(target(job_id)) == "done"


@pytest.mark.parametrize("rq_version", ["3.0"])
def test_a_list_that_missed_the_newest_result_has_not_seen_the_job(real_rq, redis_client):
    """It reads results forward from the end of the run; where clocks differ, it finds none and no act is possible."""
    job_id = make(real_rq, redis_client, "failed")
    redis_client.hset(f"rq:job:{job_id}", "ended_at", "2099-01-01T00:00:00.000000Z")
    (row,) = read_registry("default", "failed", ["orders"], with_errors=True).rows
    assert delete(target(job_id, seen=row.seen)) == "changed"
