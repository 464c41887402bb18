"""A store without memory: what needs some is refused as a whole, and what makes room is carried out as a whole."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from tests.support.acts import MARK, cancel, delete, enqueue, remove, requeue, stop, target
from tests.support.keyspace import snapshot
from tests.support.real_rq import wait_until

pytestmark = pytest.mark.parametrize("rq_version", ["3.0"])


@contextmanager
def full(client):
    client.config_set("maxmemory", "1")
    try:
        yield
    finally:
        client.config_set("maxmemory", "0")


def failed(real_rq):
    return real_rq.fail("fx.boom", 7)


def queued(real_rq):
    return real_rq.enqueue("fx.ok", 7)


def scheduled(real_rq):
    return real_rq.enqueue("fx.ok", 7, seconds=3600)


@pytest.mark.parametrize(
    ("act", "make"), [(requeue, failed), (enqueue, scheduled), (cancel, queued), (cancel, scheduled)]
)
def test_a_full_store_refuses_and_loses_nothing(real_rq, redis_client, act, make):
    seen = target(make(real_rq))
    before = snapshot(redis_client)
    with full(redis_client):
        assert act(seen) == "refused"
    assert snapshot(redis_client) == before


@pytest.mark.parametrize("make", [failed, queued, scheduled])
def test_a_full_store_still_lets_a_job_be_deleted(real_rq, redis_client, make):
    job_id = make(real_rq)
    seen = target(job_id)
    with full(redis_client):
        assert delete(seen) == "done"
    left = snapshot(redis_client)
    assert left.pop(MARK).expires
    assert job_id not in repr(left)


def test_a_full_store_still_lets_an_entry_be_removed(real_rq, redis_client):
    job_id = failed(real_rq)
    redis_client.delete(f"rq:job:{job_id}")
    seen = target(job_id)
    with full(redis_client):
        assert remove(seen) == "done"
    assert redis_client.exists(MARK) and job_id not in repr(snapshot(redis_client))


def test_a_full_store_still_lets_a_run_be_stopped(real_rq, redis_client):
    job_id = real_rq.enqueue("fx.slow", 7, 60)
    worker = real_rq.start("orders")
    wait_until(lambda: redis_client.hget(f"rq:job:{job_id}", "status") == b"started", "the job runs")
    seen = target(job_id)
    with full(redis_client):
        assert stop(seen, worker_name=worker.name) == "done"
    assert redis_client.exists(MARK)
