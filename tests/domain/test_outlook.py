"""What RQ will do next, in sentences."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from jobs.domain.findings import Finding
from jobs.domain.outlook import outlook


def said(finding, **changes):
    facts = {"retries_left": None, "has_worker": True, "has_scheduler": True, "due_at": None, "expires_at": None}
    return " ".join(outlook(finding, **{**facts, **changes}))


def test_a_failed_job_stays_as_it_is():
    assert said(Finding.FAILED_KNOWN) == "RQ will not run it again by itself."


def test_a_scheduled_job_names_its_time_and_a_missing_scheduler():
    assert "2027-01-15 08:00:00 UTC" in said(Finding.SCHEDULED, due_at=datetime(2027, 1, 15, 8, tzinfo=UTC))
    assert "No scheduler" in said(Finding.SCHEDULED, has_scheduler=False)
    assert "No scheduler" not in said(Finding.SCHEDULED)


def test_waiting_without_a_worker_is_said():
    assert "No worker listens" in said(Finding.QUEUED, has_worker=False)
    assert "No worker listens" not in said(Finding.QUEUED)


def test_who_declares_a_lost_run_failed_is_said():
    assert said(Finding.LEASE_EXPIRED).startswith("The next worker that tidies up its queue declares it failed: one")
    assert "If its lease runs out first, the next worker" in said(Finding.WORKER_GONE)
    assert "No worker listens" in said(Finding.WORKER_GONE, has_worker=False)


@pytest.mark.parametrize("finding", [Finding.LEASE_EXPIRED, Finding.WORKER_GONE, Finding.RUNNING])
@pytest.mark.parametrize(("left", "words"), [(1, "(once)"), (3, "(up to 3 times)")])
def test_an_automatic_retry_of_a_lost_run_is_warned_about(finding, left, words):
    assert words in said(finding, retries_left=left)
    assert words not in said(Finding.FAILED_KNOWN, retries_left=left)


def test_the_end_of_its_data_is_named(now):
    assert "until 2026-03-15 15:09 UTC" in said(Finding.FINISHED, expires_at=now + timedelta(days=1))
