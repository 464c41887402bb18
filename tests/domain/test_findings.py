"""The finding for every kind of evidence."""

from __future__ import annotations

from datetime import timedelta
from itertools import product

import pytest

from jobs.domain.evidence import Evidence
from jobs.domain.findings import Finding, judge

ABANDONED = "Moved to FailedJobRegistry, due to AbandonedJobError, at 2026-01-01"
KILLED = "Work-horse terminated unexpectedly; waitpid returned 9 (signal 9); "


def evidence(**changes):
    return Evidence(**{"exists": True, "status": "failed", "listed_in": frozenset({"failed"}), **changes})


CASES = [
    ({"exists": False}, Finding.GONE),
    ({"status": None}, Finding.UNRECOGNISED),
    ({"status": "invented"}, Finding.UNRECOGNISED),
    ({"status": "created"}, Finding.CREATED),
    ({"status": "deferred"}, Finding.DEFERRED),
    ({"status": "canceled"}, Finding.CANCELED),
    ({"status": "finished"}, Finding.FINISHED),
    ({"status": "rate_limited"}, Finding.QUEUED),
    ({"status": "ready_to_enqueue"}, Finding.QUEUED),
    ({"status": "queued", "queued_times": 1}, Finding.QUEUED),
    ({"status": "queued", "queued_times": None}, Finding.QUEUED),
    ({"status": "queued", "queued_times": 0}, Finding.LOST),
    ({"status": "queued", "queued_times": 0, "in_intermediate": True}, Finding.QUEUED),
    ({"status": "scheduled"}, Finding.SCHEDULED),
    ({"status": "started"}, Finding.LEASE_EXPIRED),
    ({"status": "stopped"}, Finding.STOPPED),
    ({"newest_kind": "max_retries_exceeded"}, Finding.FAILED_KNOWN),
    ({"newest_text": KILLED}, Finding.RESULT_UNKNOWN),
    ({"newest_text": ABANDONED}, Finding.RESULT_UNKNOWN),
    ({}, Finding.RESULT_UNKNOWN),
]


@pytest.mark.parametrize(("changes", "finding"), CASES, ids=range(len(CASES)))
def test_evidence_has_its_finding(changes, finding, now):
    assert judge(evidence(**changes), now).finding is finding


def test_a_success_on_record_outweighs_every_later_filing(now):
    success = now - timedelta(minutes=5)
    filed_later = evidence(newest_text=ABANDONED, succeeded_at=success, started_at=success - timedelta(seconds=9))
    assert judge(filed_later, now).finding is Finding.DONE_BUT_MARKED_FAILED


def test_the_success_of_an_earlier_run_proves_nothing_about_this_one(now):
    older = evidence(newest_kind="failed", newest_text=KILLED, succeeded_at=now - timedelta(hours=2), started_at=now)
    assert judge(older, now).finding is Finding.RESULT_UNKNOWN


def test_a_live_lease_is_running_and_a_lapsed_one_is_not(now):
    lives = evidence(status="started", lease_until=now + timedelta(seconds=1))
    lapsed = evidence(status="started", lease_until=now - timedelta(seconds=1))
    assert judge(lives, now).finding is Finding.RUNNING
    assert judge(lapsed, now).finding is Finding.LEASE_EXPIRED


def test_a_run_that_nobody_saw_ending_is_dead_only_after_its_time(now):
    abandoned = evidence(newest_text=ABANDONED, started_at=now, timeout_seconds=180)
    assert judge(abandoned, now).dead_after == now + timedelta(seconds=270)
    assert not judge(abandoned, now + timedelta(seconds=270)).is_dead
    assert judge(abandoned, now + timedelta(seconds=271)).is_dead


@pytest.mark.parametrize(
    "changes", [{"timeout_seconds": -1}, {"timeout_seconds": None}, {"timeout_seconds": 10**17}, {"started_at": None}]
)
def test_a_run_without_end_or_start_is_never_proved_dead_by_time(changes, now):
    abandoned = evidence(**{"newest_text": ABANDONED, "started_at": now, "timeout_seconds": 180, **changes})
    assert not judge(abandoned, now + timedelta(days=300)).is_dead


def test_a_failed_job_with_a_live_lease_is_not_dead(now):
    beside = evidence(newest_text=KILLED, lease_until=now + timedelta(seconds=30))
    assert judge(beside, now).is_dead is False


def test_every_combination_has_a_finding_and_a_sentence(now):
    statuses = ["failed", "stopped", "started", "queued", "scheduled", "finished", "deferred", "canceled", None, "x"]
    texts = [None, KILLED, ABANDONED, "ValueError: no traceback"]
    times = [None, now - timedelta(hours=1), now + timedelta(hours=1)]
    for status, text, lease, started, success in product(statuses, texts, times, times, times):
        one = evidence(status=status, newest_text=text, lease_until=lease, started_at=started, succeeded_at=success)
        assert judge(one, now).sentence.endswith(".")
