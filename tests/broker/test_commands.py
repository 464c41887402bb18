"""The acts on failed jobs, on what real workers of both versions left: done as RQ would, or not at all."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import timedelta

import pytest

from jobs.broker import connections
from jobs.broker.commands import OutcomeUnknown, marks, server_time
from tests.support.acts import MARK, delete, requeue, target
from tests.support.keyspace import snapshot
from tests.support.real_rq import wait_until

ACTS = [requeue, delete]


def test_a_requeued_job_runs_again(real_rq, redis_client):
    job_id = real_rq.fail("fx.boom_once", 7)
    assert requeue(target(job_id)) == "done"
    assert redis_client.lrange("rq:queue:orders", 0, -1) == [job_id.encode()]
    assert redis_client.zscore("rq:failed:orders", job_id) is None
    real_rq.burst("orders")
    assert redis_client.hget(f"rq:job:{job_id}", "status") == b"finished"


def test_a_deleted_job_leaves_nothing_but_the_mark(real_rq, redis_client):
    before = set(snapshot(redis_client))
    job_id = real_rq.fail("fx.boom", 7)
    assert delete(target(job_id)) == "done"
    left = {key for key in snapshot(redis_client) if job_id.encode() in key}
    assert left == set()
    assert redis_client.zcard("rq:failed:orders") == 0
    assert MARK in set(snapshot(redis_client)) - before


def test_a_job_with_a_time_to_live_of_its_own_gets_it_anew(real_rq, redis_client):
    job_id = real_rq.fail("fx.boom", 7, ttl=600, failure_ttl=5)
    assert requeue(target(job_id)) == "done"
    assert 590 < redis_client.ttl(f"rq:job:{job_id}") <= 600


@pytest.mark.parametrize("rq_version", ["3.0"])
def test_of_a_failed_job_whose_id_is_queued_again_a_retry_adds_no_copy_and_a_delete_leaves_none(real_rq, redis_client):
    job_id = real_rq.fail("fx.boom", 7)
    redis_client.rpush("rq:queue:orders", job_id, "other", job_id)
    before = snapshot(redis_client)
    assert requeue(target(job_id)) == "queued"
    assert snapshot(redis_client) == before
    assert delete(target(job_id)) == "done"
    assert redis_client.lrange("rq:queue:orders", 0, -1) == [b"other"]


@pytest.mark.parametrize("rq_version", ["3.0"])
def test_the_same_act_sent_again_does_nothing_more(real_rq, redis_client):
    job_id = real_rq.fail("fx.boom", 7)
    same = target(job_id)
    assert [requeue(same), requeue(same)] == ["done", "already_done"]
    assert redis_client.llen("rq:queue:orders") == 1
    assert marks("default", ["audit-1", "audit-2"]) == {"audit-1": "requeued"}


def test_of_twenty_at_the_same_moment_one_wins(real_rq, redis_client):
    job_id = real_rq.fail("fx.boom", 7)
    seen, answers = target(job_id), []
    threads = [
        threading.Thread(
            target=lambda at=at: answers.append((requeue if at % 2 else delete)(replace(seen, audit_id=str(at))))
        )
        for at in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers.count("done") == 1
    exists, queued = redis_client.exists(f"rq:job:{job_id}"), redis_client.llen("rq:queue:orders")
    assert (exists, queued) in [(1, 1), (0, 0)]


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("rq_version", ["3.0"])
def test_a_store_that_answers_too_late_has_done_nothing(real_rq, redis_client, act):
    """The script waits in the stopped server's socket, and finds its deadline over when it is read."""
    job_id = real_rq.fail("fx.boom", 7)
    seen = target(job_id, deadline=server_time("default") + timedelta(seconds=1))
    before = snapshot(redis_client)
    redis_client.client_pause(2600)
    with pytest.raises(OutcomeUnknown):
        act(seen)
    connections.reset()
    wait_until(redis_client.ping, "the store is back")
    assert snapshot(redis_client) == before


@pytest.mark.parametrize("rq_version", ["3.0"])
def test_odd_ids_are_acted_on_alone(real_rq, redis_client):
    real_rq.fail("fx.boom", 7, job_id="model")
    for odd in ("order/42", "order%2F42", "order 42", "$x", "a?b#c", "bestellung-ü", "x" * 300):
        redis_client.copy("rq:job:model", f"rq:job:{odd}")
        redis_client.zadd("rq:failed:orders", {odd: 9999999999})
    assert requeue(target("order/42")) == "done"
    assert delete(target("order%2F42", audit_id="audit-2")) == "done"
    assert redis_client.lrange("rq:queue:orders", 0, -1) == [b"order/42"]
    assert redis_client.zcard("rq:failed:orders") == 6


@pytest.mark.parametrize("rq_version", ["3.0"])
def test_what_earlier_runs_left_lives_as_long_as_the_requeued_job(real_rq, redis_client):
    """It is the evidence by which a later failure is judged; RQ lets it run out while the job waits."""
    job_id = real_rq.fail("fx.boom", 7, failure_ttl=600)
    assert redis_client.ttl(f"rq:results:{job_id}") > 0
    assert requeue(target(job_id)) == "done"
    assert redis_client.ttl(f"rq:results:{job_id}") == -1


@pytest.mark.parametrize("rq_version", ["3.0"])
def test_a_failed_job_that_also_stands_in_the_schedule_is_left_to_the_scheduler(real_rq, redis_client):
    """The scheduler asks for no status: queued by us too, the job would run twice."""
    job_id = real_rq.fail("fx.boom", 7)
    redis_client.zadd("rq:scheduled:orders", {job_id: 9999999999})
    before = snapshot(redis_client)
    assert requeue(target(job_id)) == "taken"
    assert snapshot(redis_client) == before
