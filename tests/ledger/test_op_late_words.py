"""What the timeline says of late news: of a repeat only where there was one."""

from __future__ import annotations

import pytest

from jobs.ledger import effects
from jobs.models import OperationEvent
from tests.support.op_ledger import begun, claimed, fail, plan, taken_over

pytestmark = pytest.mark.django_db


def said() -> str:
    return OperationEvent.objects.filter(kind="late_evidence").order_by("-id")[0].text


def test_the_only_call_of_an_attempt_that_was_taken_over_is_no_repeat():
    operation, attempt, effect = begun("unsafe")
    taken_over(operation)
    effects.complete(effect, attempt)
    assert said() == "The call of an attempt that had been taken over did succeed."


def test_nor_is_one_that_was_found_on_the_other_side_before_its_attempt_says_so(clock):
    operation, attempt, effect = begun("checkable")
    taken_over(operation)
    clock.forward(60)
    effects.note_probe(effect, claimed()[1], is_found=True, is_absent=False)
    effects.complete(effect, attempt)
    assert said() == "The call of an attempt that had been taken over did succeed."


def test_a_call_that_was_made_again_meanwhile_is_one(clock):
    operation, first, effect = begun("keyed")
    fail(operation, first)
    clock.forward(1)
    operation, second = claimed()
    again = effects.begin(operation, second, plan("keyed"))
    effects.complete(effect, first)
    effects.complete(again, second)
    assert said() == "Its repeat succeeded, after it was known to have happened."
