"""Claims and ends of attempts: who may run, what an end means, what one that was taken over may still say."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from jobs.domain.operations import ErrorKind
from jobs.ledger import adoption, attempts, effects
from jobs.models import Effect, Operation, OperationEvent
from tests.support.op_ledger import LEASE, begun, claimed, delivered, fail, plan, running, submitted, taken_over

pytestmark = pytest.mark.django_db


def states():
    operation = Operation.objects.get()
    return operation.status, operation.reason_code


def outcomes():
    return [one.outcome for one in Operation.objects.get().attempts.order_by("fence", "started_at")]


def events(kind):
    return [one.code for one in OperationEvent.objects.filter(kind=kind)]


# The claim ------------------------------------------------------------------------------------------------------------


def test_a_submitted_operation_is_claimed_before_its_push_is_on_record(clock):
    operation = submitted()
    found, attempt = claimed(job_id=operation.job_id)
    assert not adoption.mark_queued(operation.pk, operation.job_id)
    assert (found.status, found.fence, attempt.number) == ("running", 1, 1)
    assert found.lease_until == found.due_at == clock.now + LEASE
    assert [one.cause for one in found.deliveries.all()] == ["submit"]


def test_a_second_delivery_meets_the_live_attempt_and_is_dropped(clock):
    operation, _attempt = claimed()
    claim = attempts.claim(delivered())
    assert (claim.attempt, claim.decision.code) == (None, "in_progress")
    operation.refresh_from_db()
    assert (operation.status, operation.fence, outcomes()) == ("running", 1, ["", "refused"])


def test_a_delivery_of_a_completed_operation_is_a_duplicate_with_its_cause():
    operation, attempt = claimed(job_id="job-x")
    attempts.complete(operation, attempt)
    for job_id in ("job-x", "job-y"):
        attempts.claim(delivered(job_id=job_id))
    attempts.claim(delivered(job_id="job-z", was_abandoned=True))
    assert events("dedup") == ["queue_redelivery", "queue_redelivery", "rq_abandoned"]
    assert states() == ("completed", "completed")


def test_a_job_that_names_an_operation_of_which_there_is_no_record_does_not_run():
    claim = attempts.claim(delivered(is_submitted=True))
    assert (claim.operation, claim.attempt, claim.decision.rule) == (None, None, "R1")
    assert not Operation.objects.exists()


@pytest.mark.parametrize(
    "changes", [{"args": {"order_id": 6}}, {"args": {"order_id": True}}, {"job_type": "shop.void"}]
)
def test_another_call_under_the_same_id_is_refused_and_changes_nothing(changes):
    claimed(args={"order_id": 1})
    before = Operation.objects.values().get()
    claim = attempts.claim(delivered(**({"args": {"order_id": 1}} | changes)))
    assert (claim.attempt, claim.decision.rule) == (None, "R3")
    assert Operation.objects.values().get() == before | {"version": before["version"] + 1}


def test_another_call_does_not_bury_an_attempt_whose_lease_is_over(clock):
    operation, attempt = claimed()
    clock.forward(LEASE)
    attempts.claim(delivered(args={"order_id": 6}))
    assert taken_over(operation, proof=attempts.LEASE_OVER).code == "nothing_begun"
    attempt.refresh_from_db()
    assert attempt.outcome == "lost"


def test_a_parameter_that_a_release_adds_is_no_other_call_as_long_as_it_has_its_default():
    submitted()
    args = {"order_id": 5, "copies": 1}
    new = delivered(args=args, defaults={"copies": 1})
    assert attempts.claim(replace(new, defaults={"copies": 2})).decision.rule == "R3"
    assert attempts.claim(new).attempt is not None


def test_a_renamed_function_goes_on_with_what_its_old_name_has_begun():
    submitted(job_type="old.pay")
    assert attempts.claim(delivered()).decision.rule == "R3"
    operation, _attempt = claimed(formerly=("old.pay",))
    assert operation.job_type == "shop.pay"


def test_an_operation_moves_with_the_job_that_brings_it_to_another_queue():
    submitted()
    operation, _attempt = claimed(queue="other", job_id="job-x")
    operation.refresh_from_db()
    assert (operation.queue, operation.job_id) == ("other", "job-x")
    assert operation.deliveries.get(job_id="job-x").queue == "other"


@pytest.mark.parametrize("status", ["completed", "failed", "cancelled", "unknown"])
def test_no_delivery_moves_an_operation_that_is_at_rest(status):
    submitted()
    Operation.objects.update(status=status, due_at=None)
    assert attempts.claim(delivered()).attempt is None
    assert Operation.objects.get().status == status


def test_a_retry_that_is_brought_too_early_waits_and_keeps_its_time(clock):
    operation, attempt = claimed()
    fail(operation, attempt, retry_after=timedelta(minutes=10))
    before = Operation.objects.values().get()
    assert attempts.claim(delivered()).decision.code == "backoff"
    assert Operation.objects.values().get() == before | {"version": before["version"] + 1}
    clock.forward(timedelta(minutes=10))
    assert attempts.claim(delivered()).attempt is not None


def test_who_comes_after_the_lease_takes_the_operation_over(clock):
    _operation, first = claimed()
    clock.forward(LEASE)
    operation, second = claimed()
    first.refresh_from_db()
    assert (first.outcome, first.death_proof, second.number) == ("lost", "lease_over", 2)
    assert (operation.fence, operation.lost_attempts, events("taken_over")) == (3, 1, ["lease_over"])


# The policy -----------------------------------------------------------------------------------------------------------


def test_a_later_release_does_not_change_how_often_an_operation_may_be_tried():
    operation, attempt = claimed()
    fail(operation, attempt)
    operation, attempt = claimed(policy={"max_attempts": 50, "base": 0})
    assert (operation.max_attempts, operation.policy["max_attempts"]) == (3, 3)


# Ends -----------------------------------------------------------------------------------------------------------------


def test_an_attempt_that_was_taken_over_completes_nothing(clock):
    operation, attempt = claimed()
    taken_over(operation)
    second, _attempt = claimed()
    assert not attempts.complete(operation, attempt)
    attempt.refresh_from_db()
    assert (attempt.outcome, states(), second.fence) == ("superseded", ("running", "nothing_begun"), 3)


def test_an_attempt_that_was_taken_over_fails_nothing():
    operation, attempt = claimed()
    taken_over(operation)
    before = Operation.objects.values().get()
    assert fail(operation, attempt, kind=ErrorKind.PERMANENT) is None
    assert Operation.objects.values().get() == before
    attempt.refresh_from_db()
    assert (attempt.outcome, attempt.error_class) == ("superseded", "OSError")


def test_an_end_that_was_committed_though_nobody_heard_so_stays_as_it_is():
    operation, attempt, effect = begun()
    effects.complete(effect, attempt)
    assert attempts.complete(operation, attempt)
    assert fail(operation, attempt) is None
    assert (states(), outcomes()) == (("completed", "completed"), ["completed"])
    assert not events("late_evidence")


def test_nobody_takes_over_what_was_not_as_it_was_seen(clock):
    operation, attempt = claimed()
    over = {"proof": attempts.LEASE_OVER}
    assert attempts.take_over(operation.pk, attempt.pk, fence=operation.fence, **over) is None
    clock.forward(LEASE)
    assert attempts.take_over(operation.pk, attempt.pk, fence=operation.fence + 1, **over) is None
    assert attempts.take_over(operation.pk, attempt.pk, fence=operation.fence, **over) is not None
    assert attempts.take_over(operation.pk, attempt.pk, fence=operation.fence, **over) is None


def test_a_lease_that_ran_out_does_not_keep_who_nobody_followed_from_completing(clock):
    operation, attempt = claimed()
    clock.forward(LEASE)
    assert attempts.complete(operation, attempt)
    assert states() == ("completed", "completed")


def test_bad_data_fails_at_once_and_the_last_attempt_too():
    operation, attempt = claimed()
    assert fail(operation, attempt, kind=ErrorKind.PERMANENT).code == "bad_data"
    for _ in range(2):
        fail(*claimed("pay:6"))
    assert fail(*claimed("pay:6")).code == "attempts_exhausted"
    assert [one.status for one in Operation.objects.all()] == ["failed", "failed"]


def test_who_was_asked_to_stop_has_not_used_up_an_attempt():
    for _ in range(5):
        assert fail(*claimed(), is_stopped=True).action == "retry"
    operation = Operation.objects.get()
    assert (operation.attempts_used, operation.max_attempts, operation.last_error) == (5, 8, "")


def test_a_job_that_kills_its_processes_is_suspected():
    for _ in range(2):
        operation, _attempt = claimed(policy={"max_attempts": 50, "max_lost": 3})
        assert taken_over(operation).action == "retry"
    operation, _attempt = claimed()
    assert taken_over(operation).code == "poison_suspected"
    assert states() == ("failed", "poison_suspected")


@pytest.mark.parametrize(("kind", "code"), [("keyed", "poison_open"), ("repeatable", "poison_suspected")])
def test_what_may_have_happened_is_not_buried_with_a_job_that_kills(kind, code):
    for _ in range(3):
        operation, attempt = claimed()
        effects.begin(operation, attempt, plan(kind))
        decision = taken_over(operation)
    assert decision.code == code
    assert Operation.objects.get().reviews.count() == (kind == "keyed")


@pytest.mark.parametrize(("kind", "code"), [("keyed", "exhausted_open"), ("repeatable", "attempts_exhausted")])
def test_nor_with_attempts_that_are_used_up(kind, code):
    for _ in range(3):
        operation, attempt = claimed()
        effects.begin(operation, attempt, plan(kind))
        decision = fail(operation, attempt)
    assert decision.code == code
    assert Effect.objects.get().status == ("unknown" if kind == "keyed" else "begun")


def test_why_an_operation_went_on_is_in_its_timeline_and_why_an_attempt_began_with_the_attempt():
    operation, attempt, _effect = begun("keyed")
    fail(operation, attempt)
    claimed()
    assert events("decided") == ["same_key"]
    assert [one.decision_code for one in operation.attempts.order_by("fence")] == ["nothing_begun", "same_key"]


def test_a_wait_that_the_other_side_asks_for_has_a_limit():
    operation, attempt = claimed()
    fail(operation, attempt, retry_after=timedelta(days=100_000))
    assert attempts.time_left(operation) < timedelta(days=400)


# Cancelling -----------------------------------------------------------------------------------------------------------


def wish_to_cancel(clock):
    Operation.objects.update(cancel_requested_at=clock.now)


def test_an_operation_is_cancelled_at_its_claim(clock):
    submitted()
    wish_to_cancel(clock)
    assert attempts.claim(delivered()).decision.rule == "R15"
    assert states() == ("cancelled", "cancelled")


def test_and_at_its_first_effect(clock):
    operation, attempt = claimed()
    wish_to_cancel(clock)
    with pytest.raises(effects.Cancelled):
        effects.begin(operation, attempt, plan())
    assert attempts.cancel(operation, attempt, "")
    assert (states(), outcomes()) == (("cancelled", "cancelled"), ["cancelled"])


def test_what_has_left_the_system_is_seen_through(clock):
    operation, attempt, effect = begun("keyed")
    effects.complete(effect, attempt)
    wish_to_cancel(clock)
    assert effects.begin(operation, attempt, plan("keyed", name="mail")).status == "begun"


@pytest.mark.parametrize("is_done", [True, False])
def test_what_may_have_happened_is_never_called_cancelled(is_done):
    operation, attempt, effect = begun()
    if is_done:
        effects.complete(effect, attempt)
    assert not attempts.cancel(operation, attempt, "")
    assert (states()[0], outcomes()) == ("running", [""])


def test_who_was_taken_over_cancels_nothing():
    operation, attempt = claimed()
    taken_over(operation)
    assert attempts.cancel(operation, attempt, "")
    assert (states()[0], outcomes()) == ("retry_wait", ["superseded"])


def test_two_deliveries_in_a_row_are_two_attempts():
    first = running(attempts.claim(delivered()))
    fail(*first)
    second = running(attempts.claim(delivered()))
    assert [first[1].number, second[1].number] == [1, 2]
