"""Runs that end by themselves, however badly: what RQ keeps of each is read as what it was."""

from __future__ import annotations

import signal
import zlib
from datetime import UTC, datetime
from typing import Any

from jobs.broker.rows import read_registry
from jobs.domain.findings import Finding
from jobs.selectors.rows import job_rows
from tests.kills.rows import (
    DONE,
    FINISHED,
    KNOWN,
    NEVER_STARTED,
    QUEUED,
    RETRY_PENDING,
    SCHEDULED,
    UNKNOWN,
    UNREADABLE,
    Row,
    check,
    row_of,
)

FAILED = Row(Finding.FAILED_KNOWN, "It failed: the function raised an error.", True, KNOWN)
SUCCEEDED = Row(Finding.FINISHED, "It finished.", True, FINISHED)
MISSING = Row(Finding.NEVER_STARTED, "It never began: the function was not found", True, NEVER_STARTED)
UNREAD = Row(Finding.NEVER_STARTED, "It never began: the worker could not read the stored arguments.", True, UNREADABLE)
RETURNED = Row(Finding.DONE_BUT_MARKED_FAILED, "the function returned, and RQ failed only afterwards", True, DONE)


def unknown(words: str) -> Row:
    return Row(Finding.RESULT_UNKNOWN, words, True, UNKNOWN)


def job(function: str, *args: Any, **options: Any) -> dict[str, Any]:
    """A function of tests/fx.py with its arguments, and RQ's options."""
    return {"function": function, "args": args, "options": options}


EVENTS = {
    # What happens: the job, and its row.
    "exception": (job("fx.boom_after_effect", 1), FAILED),
    "exception-within-rq": (job("fx.look_up", 1, "fx_gone.charge"), FAILED),
    "exception-to-be-retried-later": (
        job("fx.boom", 1, retry={"max": 2, "interval": 600}),
        Row(Finding.RETRY_PENDING, "It ran before, and RQ will run it again by itself.", True, RETRY_PENDING),
    ),
    "exception-and-no-such-failure-callback": (job("fx.boom", 1, on_failure="fx_gone.on_failure"), FAILED),
    "exception-and-failure-callback-raises": (job("fx.boom", 1, on_failure="fx.on_failure_boom"), FAILED),
    "no-such-module": (job("fx_gone.charge", 1), MISSING),
    "no-such-function": (job("fx.no_such_function", 1), MISSING),
    "no-such-function-and-failure-callback-raises": (job("fx_gone.a", 1, on_failure="fx.on_failure_boom"), MISSING),
    "arguments-do-not-fit": (
        job("fx.declined", 1, 2, 3),
        Row(Finding.NEVER_STARTED, "the stored arguments do not fit the function", True, NEVER_STARTED),
    ),
    "arguments-of-an-unknown-class": (
        job("fx.boom", expression="(fx.Parcel(7),)"),
        UNREAD._replace(answer=NEVER_STARTED),
    ),
    "payload-damaged": (job("fx.boom", 1), UNREAD),
    "return-value-not-serialisable": (job("fx.unserialisable", 1), SUCCEEDED),
    "time-limit": (job("fx.slow", 1, 30, job_timeout=1), unknown("cut off at an arbitrary point")),
    "time-limit-swallowed": (job("fx.swallow_time_limit", 1, 30, job_timeout=1), SUCCEEDED),
    "success-callback-raises": (job("fx.effect", 1, on_success="fx.on_success_boom"), RETURNED),
    "no-such-success-callback": (job("fx.effect", 1, on_success="fx_gone.on_success"), RETURNED),
    "both-callbacks-raise": (
        job("fx.effect", 1, on_success="fx.on_success_boom", on_failure="fx.on_failure_boom"),
        RETURNED,
    ),
    "success-callback-raises-with-retry": (
        job("fx.effect", "thrice", on_success="fx.on_success_boom", retry={"max": 2}),
        RETURNED,
    ),
    "horse-SIGKILL": (job("fx.end_by_signal", 1, signal.SIGKILL), unknown("was killed (signal 9; often")),
    "horse-SIGTERM": (job("fx.end_by_signal", 1, signal.SIGTERM), unknown("told to end (signal 15; often")),
    "horse-SIGSEGV": (job("fx.end_by_signal", 1, signal.SIGSEGV), unknown("crashed (signal 11, a fault")),
    "horse-SIGABRT": (job("fx.end_by_signal", 1, signal.SIGABRT), unknown("gave itself up (signal 6;")),
    "horse-exit-3": (job("fx.exit_at_once", 1, 3), unknown("ended by itself with exit code 3")),
    "horse-exit-1": (job("fx.exit_at_once", 1, 1), unknown("exit code 1 (often Redis was lost")),
    "redis-lost-after-the-effect": (job("fx.lose_redis_after_effect", 1), unknown("exit code 1 (often Redis was lost")),
    "returned-a-retry-once-too-often": (
        job("fx.try_again", 1, 1),
        Row(Finding.FAILED_KNOWN, "its retries are used up", True, KNOWN),
    ),
    "finished": (job("fx.effect", 1), SUCCEEDED),
}


def test_every_run_that_ends_is_read_as_what_it_was(real_rq, redis_client, db):
    for event, (call, _) in EVENTS.items():
        real_rq.enqueue(call["function"], *call["args"], job_id=event, **call["options"])
    _damage(redis_client, "payload-damaged", lambda call: b"no pickle")
    _damage(redis_client, "arguments-of-an-unknown-class", lambda call: call.replace(b"Parcel", b"Packet"))
    real_rq.burst("orders")
    expected = {event: row for event, (_, row) in EVENTS.items()}
    assert {event: row_of(event, row.words) for event, row in expected.items()} == expected
    assert redis_client.get("effect:thrice") == b"3"
    assert _listed_states() == {event: row.finding for event, row in expected.items()}


def _listed_states():
    """What the lists say, which read less of each job than its page does."""
    listed = {
        registry: read_registry("default", registry, ["orders"], with_errors=registry == "failed").rows
        for registry in ("failed", "finished", "scheduled")
    }
    pages = [job_rows("default", registry, rows, datetime.now(UTC)) for registry, rows in listed.items()]
    return {row.job_id: row.state for page in pages for row in page}


def _damage(redis, job_id, change):
    call = zlib.decompress(redis.hget(f"rq:job:{job_id}", "data"))
    redis.hset(f"rq:job:{job_id}", "data", zlib.compress(change(call)))


def test_a_run_that_is_to_be_repeated_at_once_waits_in_its_queue(real_rq):
    real_rq.enqueue("fx.boom", 1, job_id="failed", retry={"max": 2})
    real_rq.burst("orders", arguments=("--max-jobs", "1"))
    check("failed", Row(Finding.QUEUED, "It waits in its queue to run again.", True, QUEUED))


def test_a_run_that_repeats_is_scheduled_and_nothing_failed(real_rq, redis_client):
    real_rq.enqueue("fx.effect", 1, job_id="repeated", repeat={"times": 2, "interval": 600})
    real_rq.burst("orders")
    repeated = Row(Finding.SCHEDULED, "It finished, and runs again at its due time", True, SCHEDULED)
    check("repeated", repeated)
    redis_client.delete("rq:results:repeated")
    check("repeated", repeated)
