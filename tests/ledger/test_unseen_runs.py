"""A job that ran outside the layer left no effects on record: what a person says of it is said of the whole."""

from __future__ import annotations

import pytest

from jobs.domain.verdicts import Verdict
from jobs.ledger import attempts, rescues
from jobs.models import Operation
from tests.support.op_ledger import START, delivered, resolve, submitted

pytestmark = pytest.mark.django_db


@pytest.fixture
def ran_unseen():
    """A review asks what became of an operation whose job RQ has filed as finished, with nothing of it on record."""
    operation = submitted()
    rescues.ask_of_unseen_run(operation)
    return operation.reviews.get()


@pytest.mark.parametrize(
    ("verdict", "status", "may_run"),
    [
        (Verdict.HAPPENED, "completed", False),
        (Verdict.DID_NOT_HAPPEN, "retry_wait", True),
        (Verdict.ABANDON, "failed", False),
        (Verdict.REVERSED, "cancelled", False),
    ],
)
def test_only_what_did_not_happen_is_run_again(clock, ran_unseen, verdict, status, may_run):
    resolve(ran_unseen, verdict, START)
    assert Operation.objects.get().status == status
    assert (attempts.claim(delivered()).attempt is not None) == may_run
