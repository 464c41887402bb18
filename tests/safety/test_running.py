from __future__ import annotations

import pytest

from jobs.models import Effect, Operation
from jobs.safety import PermanentError
from tests.safety import work

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_submitted_job_runs_once_and_is_completed(declared, run_all):
    operation = declared["act"].submit("keyed", 5)
    run_all()
    operation.refresh_from_db()
    assert (operation.status, work.CALLS) == ("completed", ["keyed-5"])
    assert [(one.status, one.external_id) for one in Effect.objects.all()] == [("completed", "id-keyed-5")]


def test_a_job_that_was_just_enqueued_is_adopted(declared, run_all):
    declared["act"].delay("keyed", 5)
    declared["act"].delay("keyed", 5)
    run_all()
    operation = Operation.objects.get()
    assert (operation.status, operation.origin, work.CALLS) == ("completed", "adopted", ["keyed-5"])
    assert [one.outcome for one in operation.attempts.all()] == ["completed", "skipped_duplicate"]


@pytest.mark.parametrize(
    ("kind", "status"), [("repeatable", "completed"), ("keyed", "completed"), ("unsafe", "unknown")]
)
def test_an_unknown_error_in_the_call(declared, run_all, kind, status):
    def fail_once(handle):
        if len(work.CALLS) == 1:
            raise OSError("no answer")
        return handle.key

    work.BEHAVIOUR[f"{kind}-5"] = fail_once
    operation = declared["act"].submit(kind, 5)
    run_all()
    operation.refresh_from_db()
    assert operation.status == status, [(a.outcome, a.error_line) for a in operation.attempts.all()]


def test_bad_data_fails_at_once(declared, run_all, queue):
    def refuse(_order):
        raise PermanentError("no such period")

    work.BEHAVIOUR["touch"] = refuse
    operation = declared["touch"].submit(5)
    run_all()
    operation.refresh_from_db()
    assert (operation.status, operation.reason_code, work.CALLS) == ("failed", "bad_data", ["touch-5"])
