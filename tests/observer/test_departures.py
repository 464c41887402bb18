"""What became of a failed job that is not listed as failed any more."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from redis.exceptions import ResponseError

from jobs.broker import connections
from jobs.broker.errors import BrokerUnavailable
from jobs.ledger import close_entry
from jobs.ledger.failures import note_departures
from jobs.models import AuditEntry, FailedJob
from jobs.observer import departures
from tests.observer.rows import ids, row
from tests.support.audit import entry
from tests.support.observer import sweep_through, walk_through
from tests.support.traffic import count_traffic

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def start():
    return timezone.now()


@pytest.fixture
def job(failing, start):
    failing.fail("job-7", "other")
    sweep_through("default", start)
    return row("job-7")


def leave(client, *, status=None, job_id="job-7"):
    """Take the job from the failed registry; with a status it is somewhere else, without it is nowhere."""
    client.zrem("rq:failed:orders", job_id)
    if status:
        client.hset(f"rq:job:{job_id}", "status", status)
    else:
        client.delete(f"rq:job:{job_id}")


def walk(start, seconds=1):
    return walk_through("default", start + timedelta(seconds=seconds))


def test_a_job_that_was_retried_elsewhere_is_no_longer_failed(job, redis_client, start):
    leave(redis_client, status="queued")
    assert walk(start) == 1
    moved = row("job-7")
    assert (moved.place, moved.is_open, moved.left_at) == ("moved", False, start + timedelta(seconds=1))
    assert row("other").place == "failed"


def test_a_job_whose_time_ran_out_is_gone_and_still_open(job, redis_client, start):
    leave(redis_client)
    walk(start)
    assert (row("job-7").place, row("job-7").is_open) == ("gone", True)
    assert row("job-7").attempts.count() == 1


def test_an_id_that_another_queue_uses_by_now_is_gone(job, redis_client, start):
    leave(redis_client, status="queued")
    redis_client.hset("rq:job:job-7", "origin", "payroll")
    walk(start)
    assert row("job-7").place == "gone"


@pytest.mark.parametrize("verb", ["delete_job", "remove_entry"])
def test_what_somebody_deleted_here_is_said_to_be(job, redis_client, start, verb):
    leave(redis_client)
    entry(start, verb=verb, ago=-0.5)
    walk(start)
    assert (row("job-7").place, row("job-7").is_open) == ("deleted", False)


@pytest.mark.parametrize("changes", [{"status": "refused"}, {"ago": 3600}, {"queue": "payroll"}, {"subject": "other"}])
def test_another_deletion_than_this_jobs_does_not_count(job, redis_client, start, changes):
    leave(redis_client)
    entry(start, **{"verb": "delete_job", "ago": -0.5, **changes})
    walk(start)
    assert row("job-7").place == "gone"


def test_a_job_that_is_failed_and_listed_nowhere_stays_among_the_failed(job, redis_client, start):
    redis_client.zrem("rq:failed:orders", "job-7")
    assert walk(start) == 0
    assert row("job-7").place == "failed"


def test_a_job_that_comes_back_is_failed_again(job, redis_client, failing, start):
    leave(redis_client, status="queued")
    walk(start)
    failing.fail("job-7")
    sweep_through("default", start + timedelta(seconds=5))
    back = row("job-7")
    assert (back.pk, back.place, back.is_open, back.left_at) == (job.pk, "failed", True, None)


def test_a_departure_that_was_seen_too_late_changes_nothing(job, failing, start):
    """The job failed again between the look at Redis and the write."""
    old = row("job-7")
    failing.fail("job-7", at=start.timestamp() + 5)
    sweep_through("default", start + timedelta(seconds=6))
    assert note_departures([old], FailedJob.Place.GONE, start) == 0
    assert row("job-7").place == "failed"


def test_a_queue_that_lost_nobody_is_not_walked(job, redis_client, start):
    with count_traffic(redis_client) as traffic:
        walk(start)
    assert traffic.by_command == {"zcard": 1}


def test_many_that_left_at_once_are_all_noticed(failing, redis_client, start, monkeypatch):
    monkeypatch.setattr(departures, "BATCH", 20)
    names = [f"j-{number:03}" for number in range(50)]
    failing.fail(*names)
    sweep_through("default", start)
    redis_client.zrem("rq:failed:orders", *names[:45])
    redis_client.delete(*[f"rq:job:{name}" for name in names[:30]])
    pipeline = redis_client.pipeline()
    for name in names[30:45]:
        pipeline.hset(f"rq:job:{name}", "status", "finished")
    pipeline.execute()
    assert walk(start) == 45
    assert (ids(place="gone"), ids(place="moved")) == (names[:30], names[30:45])


@pytest.mark.parametrize("trouble", ["MASTERDOWN Link with MASTER is down", "LOADING Redis is loading"])
def test_a_server_in_trouble_makes_nobody_leave(job, start, monkeypatch, trouble):
    monkeypatch.setattr(departures, "count_failed", lambda *_asked: {"orders": 0})
    monkeypatch.setattr(connections, "fetch", lambda pipeline: [ResponseError(trouble)] * len(pipeline.command_stack))
    with pytest.raises(BrokerUnavailable):
        walk(start)
    assert row("job-7").place == "failed"


# At once, when the act is done here -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verb", "place"),
    [("retry_job", "moved"), ("delete_job", "deleted"), ("remove_entry", "deleted"), ("cancel_job", "failed")],
)
def test_an_act_that_was_carried_out_is_followed_when_it_is_closed(job, start, verb, place):
    opened = entry(start, verb=verb, seen=job.seen, status="intended", closed_at=None, ago=-1)
    close_entry(opened, status=AuditEntry.Status.DONE, outcome="done", now=start + timedelta(seconds=2))
    assert row("job-7").place == place
    assert row("job-7").is_open is (place == "failed")
    assert row("other").place == "failed"


def test_an_act_that_was_not_carried_out_is_not_followed(job, start):
    opened = entry(start, seen=job.seen, status="intended", closed_at=None, ago=-1)
    close_entry(opened, status=AuditEntry.Status.CHANGED, outcome="not done", now=start)
    assert row("job-7").place == "failed"


def test_a_job_that_failed_again_before_its_retry_was_closed_stays_failed(job, failing, start):
    opened = entry(start, seen=job.seen, status="intended", closed_at=None, ago=-1)
    failing.fail("job-7", at=start.timestamp() + 2)
    sweep_through("default", start + timedelta(seconds=3))
    close_entry(opened, status=AuditEntry.Status.DONE, outcome="done", now=start + timedelta(seconds=4))
    assert (row("job-7").place, row("job-7").is_open) == ("failed", True)
