"""An operation that has declared its effects is queued again like any other while one of them is not done."""

from __future__ import annotations

import pytest

from jobs.ledger import effects, rescues
from jobs.models import Operation
from tests.support.op_ledger import claimed, plan, taken_over

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def waiting(clock):
    """Its process was killed in the middle of a keyed call, the only effect that it has declared."""
    operation, attempt = claimed(declared_effects=("charge",))
    effects.begin(operation, attempt, plan("keyed"))
    taken_over(operation)
    return Operation.objects.get(pk=operation.pk)


def test_who_asks_whether_only_its_mark_is_missing_leaves_it_as_it_was(waiting):
    assert not rescues.complete_declared(waiting)
    assert Operation.objects.get(pk=waiting.pk).version == waiting.version


def test_it_can_be_queued_again_after_that_question(waiting):
    assert not rescues.complete_declared(waiting)
    queued = rescues.queue_again(waiting, "takeover")
    assert queued is not None and queued.status == "queued"
