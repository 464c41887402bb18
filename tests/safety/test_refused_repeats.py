"""A repeat that was refused proves nothing of the call that it repeats (protocol model: keeps_doubt)."""

from __future__ import annotations

import pytest

from jobs.models import Effect
from jobs.safety import NotPerformed, PermanentError
from tests.safety import work

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def run_with_errors(declared, run_all):
    def run(*errors):
        """Run an operation whose calls end in these errors, one after another; the operation as it is then."""
        said = iter(errors)

        def fail(_handle):
            raise next(said)

        work.BEHAVIOUR["keyed-5"] = fail
        operation = declared["act"].submit("keyed", 5)
        run_all()
        operation.refresh_from_db()
        return operation

    return run


@pytest.mark.parametrize("refusal", [NotPerformed("no connection"), PermanentError("no such customer")])
def test_an_answer_that_was_lost_is_still_asked_about_after_a_repeat_was_refused(run_with_errors, refusal):
    operation = run_with_errors(TimeoutError("no answer"), refusal, refusal)
    assert (operation.status, operation.reason_code) == ("unknown", "exhausted_open")
    assert Effect.objects.get().status == "unknown"
    assert operation.reviews.filter(closed_at=None).count() == 1


def test_a_call_that_was_refused_the_first_time_is_known_not_to_have_happened(run_with_errors):
    operation = run_with_errors(*[NotPerformed("no connection")] * 3)
    assert (operation.status, operation.reason_code) == ("failed", "attempts_exhausted")
    assert Effect.objects.get().status == "released"
