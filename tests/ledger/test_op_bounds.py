"""An attempt that was let begin to ask the other side may not call it again when R16 to R18 say that it is enough."""

from __future__ import annotations

from datetime import timedelta

import pytest

from jobs.domain.backoff import Backoff
from jobs.domain.operations import ErrorKind
from jobs.ledger import effects
from jobs.ledger.effects import StillOpen
from tests.support.op_ledger import claimed, fail, plan, taken_over

pytestmark = pytest.mark.django_db

MANY = Backoff(max_attempts=9, base=0, max_lost=2).to_json()


@pytest.fixture
def call_again(clock):
    """Claim it, be told that it did not happen, and begin its call, after which the test says how it goes."""

    def begin():
        operation, attempt = claimed(policy=MANY)
        if found := effects.find(operation, "charge", ""):
            effects.note_probe(found, attempt, is_found=False, is_absent=True)
        effects.begin(operation, attempt, plan("checkable"))
        clock.forward(timedelta(minutes=1))
        return operation, attempt

    return begin


def test_a_call_that_kills_its_process_is_made_as_often_as_that_is_allowed(clock, call_again):
    for _attempt in range(2):
        operation, _attempt = call_again()
        assert taken_over(operation).code == "quarantine"
        clock.forward(timedelta(minutes=1))
    with pytest.raises(StillOpen) as caught:
        call_again()
    assert caught.value.decision.code == "poison_suspected"


def test_data_that_turned_out_to_be_bad_is_not_sent_again(clock, call_again):
    fail(*call_again(), kind=ErrorKind.PERMANENT)
    clock.forward(timedelta(minutes=1))
    operation, attempt = claimed()
    effects.note_probe(effects.find(operation, "charge", ""), attempt, is_found=False, is_absent=True)
    with pytest.raises(StillOpen) as caught:
        effects.begin(operation, attempt, plan("checkable"))
    said = {"objection": caught.value.decision, "objecting_effect": caught.value.effect_pk}
    assert fail(operation, attempt, **said).code == "bad_data"
