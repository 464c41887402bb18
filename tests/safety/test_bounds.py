"""However a job goes wrong, what is done by itself comes to an end (protocol, R16 to R18)."""

from __future__ import annotations

import pytest
from django.utils import timezone
from rq import get_current_job

from jobs.models import Operation
from jobs.safety import Absent, StopRequested, should_stop
from tests.safety import work

pytestmark = pytest.mark.django_db(transaction=True)


class Endless(BaseException):
    """Ends a test that would go on for ever."""


def test_a_call_that_never_answers_and_never_happens_is_made_as_often_as_allowed_and_no_more(declared, run_all):
    def give_no_answer(_handle):
        raise OSError("no answer") if len(work.CALLS) < 10 else Endless

    work.BEHAVIOUR |= {"checkable-5": give_no_answer, "probe": lambda _handle: Absent()}
    operation = declared["act"].submit("checkable", 5)
    run_all()
    operation.refresh_from_db()
    assert (operation.status, operation.reason_code, len(work.CALLS)) == ("failed", "attempts_exhausted", 3)
    assert "no answer" in operation.reason_text
    assert operation.effects.get().status == "released"


def test_a_job_that_ends_early_for_no_reason_does_so_as_often_as_it_may_fail(declared, run_all):
    def end_early(_order):
        raise StopRequested if len(work.CALLS) < 10 else Endless

    work.BEHAVIOUR["touch"] = end_early
    operation = declared["touch"].submit(5)
    run_all()
    operation.refresh_from_db()
    assert (operation.status, len(work.CALLS)) == ("failed", 3)


def test_a_job_whose_worker_is_to_end_may_end_early_more_often_than_it_may_fail(declared, run_all, redis_client):
    def end_early(_order):
        name = get_current_job().worker_name
        redis_client.hset(f"rq:worker:{name}", "shutdown_requested_date", "now")
        if len(work.CALLS) <= 5 and should_stop():
            raise StopRequested

    work.BEHAVIOUR["touch"] = end_early
    operation = declared["touch"].submit(5)
    run_all()
    operation.refresh_from_db()
    assert (operation.status, len(work.CALLS)) == ("completed", 6)


def test_a_wish_to_cancel_that_came_too_late_stops_no_job(declared, run_all):
    """RQ’s own cancelling leaves such a wish, also where it can’t be granted any more."""
    said = []

    def look(order_id):
        work.once_more(order_id)
        Operation.objects.update(cancel_requested_at=timezone.now())
        said.append(should_stop())

    work.BEHAVIOUR["touch"] = look
    declared["touch"].delay(5)
    run_all()
    assert (Operation.objects.get().status, said) == ("completed", [False])
