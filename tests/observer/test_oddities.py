"""Damage and strangeness: every entry gets a row, nothing is shown that must not be, and nothing in Redis changes."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from jobs.models import NAME_LENGTH, FailedJob, ObservedAttempt, Queue
from jobs.observer import failures, readings
from tests.observer.rows import ids, row
from tests.support.keyspace import snapshot
from tests.support.minefield import lay
from tests.support.observer import look_for_newest, sweep_through, walk_through

pytestmark = pytest.mark.django_db


def sweep(now=None):
    return sweep_through("default", now or timezone.now())


def test_an_id_whose_data_is_gone_has_a_row_that_says_so(failing, redis_client):
    failing.fail("real")
    redis_client.zadd("rq:failed:orders", {"ghost-1": 9999999999, "half-1": 9999999999})
    redis_client.hset("rq:job:half-1", "last_heartbeat", "2026-01-01T00:00:00.000000Z")
    sweep()
    ghost, half = row("ghost-1"), row("half-1")
    assert (ghost.finding, ghost.note) == ("gone", "Its data is gone; only its id is still listed.")
    assert (half.finding, half.note) == ("unrecognised", "Most of its data is gone.")
    assert (ghost.seen, ghost.can_open, ghost.job_type, ghost.error_line) == ("gone", True, "", "")
    assert ids() == ["ghost-1", "half-1", "real"]


def test_of_another_queues_job_nothing_is_kept_but_its_id(failing, redis_client):
    failing.fail("secret-1", queue="payroll")
    redis_client.sadd("rq:queues", "rq:queue:orders")
    redis_client.zadd("rq:failed:orders", {"secret-1": 9999999999})
    sweep()
    stranger = row("secret-1")
    assert (stranger.finding, stranger.can_open) == ("unrecognised", False)
    assert stranger.note == "It is listed here, but belongs to another queue."
    assert (stranger.job_type, stranger.error_line, stranger.error_class, stranger.ids) == ("", "", "", [])
    assert (stranger.seen, stranger.worker_name, stranger.started_at) == ("", "", None)
    assert not ObservedAttempt.objects.filter(failed_job=stranger).exists()
    assert row("secret-1", "payroll").error_line == "ValueError: boom 7"


TOO_LONG = "x" * (NAME_LENGTH + 90)


@pytest.mark.parametrize(
    ("member", "shown"),
    [
        (b"\xff\xfe", "\\xff\\xfe"),
        (b"\xed\xa0\x80", "\\xed\\xa0\\x80"),
        (b"a\0b", "a\N{REPLACEMENT CHARACTER}b"),
    ],
    ids=["no text", "half a character", "a NUL"],
)
def test_an_id_that_no_address_can_name_has_a_row_that_can_not_be_opened(failing, redis_client, member, shown):
    redis_client.sadd("rq:queues", "rq:queue:orders")
    redis_client.zadd("rq:failed:orders", {member: 9999999999, b"\\xff\\xfe": 9999999998})
    sweep()
    odd = row(member)
    assert (odd.job_id, odd.can_open, odd.note) == (shown, False, "Its id is not plain text, so it can’t be opened.")
    assert sweep() == 0 and FailedJob.objects.count() == 2


def test_an_id_that_is_too_long_has_a_row_that_can_not_be_opened(failing):
    failing.fail(TOO_LONG, TOO_LONG + "x")
    sweep()
    odd = row(TOO_LONG)
    assert (odd.job_id, odd.can_open, odd.error_line) == (TOO_LONG[:NAME_LENGTH], False, "ValueError: boom 7")
    assert odd.note.startswith("Its id is too long to be opened")
    assert sweep() == 0 and FailedJob.objects.count() == 2


def test_an_id_that_the_index_can_not_hold_leaves_when_a_sweep_no_longer_meets_it(failing, redis_client):
    now = timezone.now()
    redis_client.sadd("rq:queues", "rq:queue:orders")
    redis_client.zadd("rq:failed:orders", {b"\xff": 9999999999, TOO_LONG: 9999999999, "a": 9999999999})
    sweep(now)
    redis_client.zrem("rq:failed:orders", b"\xff", "a")
    walk_through("default", now)
    assert row(b"\xff").place == "failed"
    sweep(now + timedelta(seconds=30))
    assert (row(b"\xff").place, row(TOO_LONG).place) == ("gone", "failed")


DAMAGE = {
    "no data": lambda client, key: client.hdel(key, "data"),
    "data that is no pickle": lambda client, key: client.hset(key, "data", b"\x80\x05garbage"),
    "no status": lambda client, key: client.hdel(key, "status"),
    "a status with a NUL": lambda client, key: client.hset(key, "status", "fai\0led"),
    "a worker's name with a NUL": lambda client, key: client.hset(key, "worker_name", "w\0" * 300),
    "times that are none": lambda client, key: client.hset(
        key, mapping={"created_at": "yesterday", "ended_at": "9999-12-31T23:59:59Z", "started_at": b"\xff"}
    ),
    "a time of long ago": lambda client, key: client.hset(key, "ended_at", "1901-01-01T00:00:00.000000Z"),
    "numbers that are none": lambda client, key: client.hset(key, mapping={"timeout": "soon", "failure_ttl": "x" * 99}),
    "a huge time-to-live": lambda client, key: client.hset(key, "failure_ttl", "9" * 18),
    "a stream of another type": lambda client, key: (
        client.delete(key.replace(":job:", ":results:")),
        client.set(key.replace(":job:", ":results:"), "x"),
    ),
    "a stream of nonsense": lambda client, key: client.xadd(
        key.replace(":job:", ":results:"), {"type": "?", "exc_string": "%%%", "worker_name": b"\xff\0"}
    ),
    "a hash of another type": lambda client, key: (client.delete(key), client.set(key, "x")),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_job_has_a_row_and_spoils_no_other(failing, redis_client, damage):
    failing.fail("j-1", "j-2", "j-3")
    DAMAGE[damage](redis_client, "rq:job:j-2")
    sweep()
    assert ids() == ["j-1", "j-2", "j-3"]
    assert row("j-1").error_line == row("j-3").error_line == "ValueError: boom 7"
    walk_through("default", timezone.now())
    assert ids(place="failed") == ["j-1", "j-2", "j-3"]


def test_a_job_that_can_not_be_read_at_all_has_a_row_that_says_so_and_holds_up_no_other(failing, monkeypatch):
    failing.fail("j-1", "j-2", "j-3")
    read = readings.evidence_of

    def trips(detail):
        if detail.job.job_id == "j-2":
            raise KeyError("card 4711")
        return read(detail)

    monkeypatch.setattr(readings, "evidence_of", trips)
    sweep()
    assert row("j-1").error_line == row("j-3").error_line == "ValueError: boom 7"
    assert row("j-2").note.startswith("It can’t be read: an unexpected error (KeyError in test_oddities.py")
    assert "4711" not in row("j-2").note and row("j-2").can_open


@pytest.mark.parametrize("score", [float("inf"), float("-inf"), 1e300, -1e300, 1e15, 0])
def test_a_score_that_is_no_time_is_known_again(failing, redis_client, score):
    failing.fail("j-1")
    redis_client.zadd("rq:failed:orders", {"j-1": score})
    assert sweep() == 1
    assert sweep() == 0


def test_what_lies_in_a_minefield_is_indexed_and_nothing_goes_off(real_rq, redis_client, tmp_path):
    lay(real_rq, redis_client, tmp_path)
    before = snapshot(redis_client)
    memory = failures.Memory()
    list(failures.sweep("default", timezone.now, memory, failures.Progress()))
    look_for_newest("default", timezone.now(), memory)
    walk_through("default", timezone.now())
    assert snapshot(redis_client) == before
    assert list(tmp_path.iterdir()) == []
    assert FailedJob.objects.count() == redis_client.zcard("rq:failed:orders")


def test_a_queue_whose_name_sql_can_not_hold_is_left_out(failing):
    failing.fail("a", queue="x" * (NAME_LENGTH + 1))
    failing.fail("b", queue="or\0ders")
    failing.fail("c")
    sweep()
    assert ids() == ["c"]


def test_a_queue_that_rq_has_forgotten_is_watched_as_long_as_it_is_on_record(failing, redis_client):
    failing.fail("a", queue="old")
    redis_client.srem("rq:queues", "rq:queue:old")
    assert sweep() == 0
    Queue.objects.create(connection="default", name="old")
    assert sweep() == 1
