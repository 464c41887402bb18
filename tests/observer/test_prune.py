"""What the index forgets, and what it keeps."""

from __future__ import annotations

from datetime import timedelta

import pytest

from jobs.models import FailedJob, ObservedAttempt, Operation, Review
from jobs.observer import prune as pruning
from jobs.observer.prune import prune
from tests.observer.rows import ids

pytestmark = pytest.mark.django_db


@pytest.fixture
def failed(now):
    """Makes a row that left its failed registry so many days ago, with an attempt."""

    def made(job_id, *, days, place="gone"):
        left_at = None if days is None else now - timedelta(days=days)
        common = {"finding": "failed_known", "failed_at": now, "noticed_at": now, "left_at": left_at, "place": place}
        row = FailedJob.objects.create(digest=job_id, connection="default", queue="orders", job_id=job_id, **common)
        ObservedAttempt.objects.create(failed_job=row, result_id="1-0", kind="failed")

    return made


def test_what_left_longer_ago_than_the_retention_goes_with_its_attempts(now, failed, settings):
    settings.OPSBOARD_RETENTION_DAYS = 30
    for place in ("gone", "moved", "deleted"):
        failed(f"old-{place}", days=30.1, place=place)
        failed(f"young-{place}", days=29.9, place=place)
    assert prune(now) == 3
    assert ids() == ["young-deleted", "young-gone", "young-moved"]
    assert ObservedAttempt.objects.count() == 3


def test_what_stands_in_a_failed_registry_stays_however_old(now, failed):
    failed("standing", days=None, place="failed")
    failed("odd", days=1000, place="failed")
    assert prune(now) == 0


def test_what_was_reviewed_stays_for_good(now, failed):
    for job_id in ("reviewed", "other"):
        failed(job_id, days=1000)
    operation = Operation.objects.create(
        operation_id="rq:default:reviewed",
        connection="default",
        queue="orders",
        job_id="reviewed",
        status="failed",
        created_at=now,
        updated_at=now,
    )
    Review.objects.create(
        operation=operation, run="1", code="c", finding="f", sentence="s", opened_at=now, due_at=now, closed_at=now
    )
    assert prune(now) == 1
    assert ids() == ["reviewed"]


def test_much_is_forgotten_in_pieces(now, failed, monkeypatch):
    monkeypatch.setattr(pruning, "BATCH", 2)
    for number in range(5):
        failed(f"old-{number}", days=100)
    forget, pieces = pruning.forget_departed, []
    monkeypatch.setattr(pruning, "forget_departed", lambda *a, **k: pieces.append(forget(*a, **k)) or pieces[-1])
    assert prune(now) == 5 and pieces == [2, 2, 1, 0]
