"""Two at the same moment: of each pair one wins, and the other is told; on whatever database."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import IntegrityError, connections, transaction

from jobs.domain.verdicts import Verdict
from jobs.ledger import adoption, attempts, effects
from jobs.ledger.database import lock_operation
from jobs.models import Effect, Operation, OperationEvent, Review
from tests.support.op_ledger import begun, claimed, delivered, fail, plan, resolve, submitted, taken_over

pytestmark = pytest.mark.django_db(transaction=True)
ROUNDS = 4


def together(*acts: Callable[[], Any]) -> list[Any]:
    """What each came to, having begun at once in threads of their own; an error is an answer."""
    start = threading.Barrier(len(acts))

    def run(act: Callable[[], Any]) -> Any:
        try:
            start.wait(10)
            return act()
        except Exception as error:
            return error
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(acts)) as pool:
        return [future.result() for future in [pool.submit(run, act) for act in acts]]


@pytest.mark.parametrize("is_submitted", [True, False], ids=["on record", "adopted"])
def test_of_two_workers_with_the_same_operation_one_runs_it(is_submitted):
    for number in range(ROUNDS):
        one = f"pay:{number}"
        if is_submitted:
            submitted(one)
        claims = together(partial(attempts.claim, delivered(one)), partial(attempts.claim, delivered(one)))
        assert sorted(claim.decision.code for claim in claims) == ["in_progress", "nothing_begun"]
        operation = Operation.objects.get(operation_id=one)
        assert (operation.fence, operation.attempts.filter(outcome="").count()) == (1, 1)


def test_of_two_requests_for_the_same_operation_one_makes_it():
    for number in range(ROUNDS):
        made = together(*[partial(submitted, f"pay:{number}")] * 2)
        assert made[0] == made[1]
    assert Operation.objects.count() == ROUNDS


def test_a_request_whose_transaction_is_open_makes_the_other_wait_and_then_get_the_same():
    is_open, may_end = threading.Event(), threading.Event()

    def first():
        with transaction.atomic():
            operation = submitted()
            is_open.set()
            may_end.wait(0.3)
            return operation

    made = together(first, lambda: is_open.wait(10) and submitted())
    assert made[0] == made[1] == Operation.objects.get()


def test_a_request_that_is_rolled_back_leaves_the_operation_to_the_other():
    def first():
        with transaction.atomic():
            submitted()
            raise IntegrityError("the order was refused")

    answers = together(first, submitted)
    assert isinstance(answers[0], IntegrityError)
    assert answers[1] == Operation.objects.get()


def test_a_takeover_and_the_end_of_the_attempt_do_not_both_count():
    for number in range(ROUNDS):
        operation, attempt = claimed(f"pay:{number}")
        _over, is_mine = together(partial(taken_over, operation), partial(attempts.complete, operation, attempt))
        attempt.refresh_from_db()
        operation.refresh_from_db()
        expected = ("completed", "completed") if is_mine else ("superseded", "retry_wait")
        assert (attempt.outcome, operation.status) == expected


def test_a_takeover_and_an_intent_do_not_both_count():
    for number in range(ROUNDS):
        operation, attempt = claimed(f"pay:{number}")
        decision, row = together(partial(taken_over, operation), partial(effects.begin, operation, attempt, plan()))
        if isinstance(row, effects.Fenced):
            assert decision.code == "nothing_begun"
        else:
            assert decision.code == "unsafe_begun"


def test_of_two_observers_one_takes_over():
    operation, _attempt = claimed()
    decisions = together(*[partial(taken_over, operation)] * 3)
    assert len([one for one in decisions if getattr(one, "code", None)]) == 1
    assert Operation.objects.get().lost_attempts == 1


def test_one_attempt_that_begins_an_effect_in_two_threads_begins_it_once():
    operation, attempt = claimed()
    rows = together(*[partial(effects.begin, operation, attempt, plan("keyed"))] * 2)
    assert sorted(type(one).__name__ for one in rows) in (["Effect", "Fenced"], ["Effect", "StillOpen"])
    assert Effect.objects.count() == 1


def test_late_news_and_a_denial_at_once_are_both_on_record_and_nobody_waits_for_ever(clock):
    for number in range(ROUNDS):
        operation, attempt = claimed(f"pay:{number}")
        effect = effects.begin(operation, attempt, plan())
        taken_over(operation)
        review = Review.objects.select_related("operation", "effect").get(operation=operation)
        answers = together(
            partial(effects.complete, effect, attempt, external_id="ch_1"),
            partial(_deny, review, clock.now),
        )
        assert answers == [None, None]
        effect.refresh_from_db()
        assert effect.status == "completed"
        assert OperationEvent.objects.filter(effect=effect, attempt=attempt).exists()


def _deny(review, now):
    with transaction.atomic():
        # As whoever answers a review does: first the operation.
        lock_operation(review.operation_id)
        resolve(review, Verdict.DID_NOT_HAPPEN, now)


def test_the_push_is_noted_while_a_worker_has_it_already():
    for number in range(ROUNDS):
        operation = submitted(f"pay:{number}")
        _noted, claim = together(
            partial(adoption.mark_queued, operation.pk, operation.job_id),
            partial(attempts.claim, delivered(operation.operation_id, job_id=operation.job_id)),
        )
        operation.refresh_from_db()
        assert (operation.status, operation.current_attempt) == ("running", claim.attempt.pk)
        assert [one.cause for one in operation.deliveries.all()] == ["submit"]


def test_two_failures_of_one_operation_at_once_move_it_once():
    operation, attempt, _effect = begun("keyed")
    taken = together(partial(taken_over, operation), partial(fail, operation, attempt, retry_after=timedelta(hours=1)))
    assert len([one for one in taken if one is not None]) == 1
    assert Operation.objects.get().status == "retry_wait"
