"""Job code that would make the layer's promises void: it is stopped before anything leaves, or a person is asked."""

from __future__ import annotations

from contextlib import suppress

import pytest
from django.db import transaction

from jobs.models import Effect, Review
from jobs.safety import Unsafe, once
from tests.safety import work

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def run_body(declared, run_all):
    """Run a job whose function does this, as often as it is run; returns its operation."""

    def run(body):
        work.BEHAVIOUR["touch"] = body
        operation = declared["touch"].submit(5)
        run_all()
        operation.refresh_from_db()
        return operation

    return run


def test_an_effect_inside_a_transaction_that_could_take_its_record_back_is_never_called(run_body):
    def enclosed(_order):
        with transaction.atomic():
            return once("act", lambda: work.CALLS.append("called"), safety=Unsafe())

    operation = run_body(enclosed)
    assert (operation.status, operation.reason_code) == ("failed", "attempts_exhausted")
    assert "called" not in work.CALLS and not Effect.objects.exists()
    assert "inside a transaction" in operation.attempts.first().error_line


def test_a_job_that_hides_what_went_wrong_in_its_effect_is_not_completed(run_body):
    def swallowing(_order):
        def fail():
            raise OSError("no answer")

        with suppress(OSError):
            once("act", fail, safety=Unsafe())

    operation = run_body(swallowing)
    assert (operation.status, [one.outcome for one in operation.attempts.all()]) == ("unknown", ["unknown"])
    assert Review.objects.get(closed_at=None).effect.name == "act"
