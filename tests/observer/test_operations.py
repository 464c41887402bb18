"""Operations that nobody would ever run again are queued again, and those that somebody has are left alone."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from jobs.models import Operation
from jobs.observer import operations

pytestmark = pytest.mark.django_db(transaction=True)


def look(later=0.0):
    now = timezone.now() + timedelta(seconds=later)
    return operations.take_over_dead(now), operations.deliver("default", now)


def make_due(operation, **changes):
    Operation.objects.filter(pk=operation.pk).update(due_at=timezone.now() - timedelta(seconds=1), **changes)
    operation.refresh_from_db()


def test_what_was_accepted_and_never_queued_is_queued_and_runs_once(declared, queue, run_all):
    operation = declared["touch"].submit(5)
    queue.empty()
    make_due(operation, status="accepted")
    assert look() == (0, 1) and look() == (0, 0)
    run_all()
    operation.refresh_from_db()
    assert operation.status == "completed"
    assert [one.cause for one in operation.deliveries.all()] == ["submit", "never_queued"]
