"""Effects: begun before the call, completed after it, and what a later attempt may do about one that was left open."""

from __future__ import annotations

from datetime import timedelta

import pytest

from jobs.ledger import attempts, effects
from jobs.ledger.effects import Fenced, StillOpen
from jobs.models import Effect, Operation, OperationEvent
from tests.support.op_ledger import HORIZON, LEASE, begun, claimed, delivered, fail, plan, taken_over

pytestmark = pytest.mark.django_db
KINDS = ["repeatable", "keyed", "checkable", "unsafe"]


def left_open(kind, **changes):
    """An attempt began it and failed in the middle; the next one runs."""
    operation, attempt, _effect = begun(kind, **changes)
    fail(operation, attempt)
    Operation.objects.update(status="retry_wait", next_attempt_at=None)
    return claimed()


def objection(operation, attempt, wanted):
    with pytest.raises(StillOpen) as caught:
        effects.begin(operation, attempt, wanted)
    return caught.value.decision.code


# Beginning ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_followed", [True, False], ids=["another runs", "nobody does"])
def test_nothing_is_begun_by_an_attempt_that_was_taken_over(is_followed):
    operation, attempt = claimed()
    taken_over(operation)
    if is_followed:
        claimed()
    with pytest.raises(Fenced):
        effects.begin(operation, attempt, plan())
    assert not Effect.objects.exists()


@pytest.mark.parametrize(("seconds_left", "is_begun"), [(11, True), (10, False), (0, False)])
def test_nothing_is_begun_with_less_time_left_than_its_call_may_take(clock, seconds_left, is_begun):
    operation, attempt = claimed()
    clock.forward(LEASE - timedelta(seconds=seconds_left))
    if is_begun:
        assert effects.begin(operation, attempt, plan()).begun_at == clock.now
        return
    with pytest.raises(Fenced):
        effects.begin(operation, attempt, plan())


def test_several_effects_and_the_items_of_one_stand_by_themselves():
    operation, attempt = claimed()
    rows = [effects.begin(operation, attempt, plan("keyed", item=item, key=f"k{item}")) for item in ("", "1", "2")]
    effects.complete(rows[1], attempt, external_id="m-1")
    again = effects.begin(operation, attempt, plan("keyed", item="1", key="moved"))
    assert (again.status, again.external_id, again.idempotency_key) == ("completed", "m-1", "k1")
    assert Effect.objects.filter(status="begun").count() == 2


def test_an_attempt_does_not_begin_twice_what_it_does_not_know_the_end_of():
    operation, attempt, _effect = begun("keyed")
    assert objection(operation, attempt, plan("keyed")) == "begun_twice"


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_released_is_begun_again_under_the_same_key_and_all_else_counts_from_then(clock, kind):
    operation, attempt, effect = begun(kind)
    assert effects.release(effect, attempt, code="not_performed", text="refused")
    clock.forward(60)
    again = effects.begin(operation, attempt, plan(kind, key="moved"))
    assert (again.idempotency_key, again.begun_at, again.first_begun_at) == ("key-charge", clock.now, clock.now)
    assert again.key_valid_until == (clock.now + HORIZON if kind == "keyed" else None)


def test_the_key_is_remembered_from_the_first_call_on(clock):
    operation, attempt, effect = begun("keyed")
    until = effect.key_valid_until
    fail(operation, attempt)
    clock.forward(3600)
    again = effects.begin(*claimed(), plan("keyed", remembered_for=timedelta(days=30)))
    assert (again.key_valid_until, again.begun_at > again.first_begun_at) == (until, True)


@pytest.mark.parametrize(("before_end", "is_begun"), [(61, True), (60, False)])
def test_a_key_must_outlive_the_call_that_this_effect_may_take(clock, before_end, is_begun):
    operation, attempt = left_open("keyed")
    Operation.objects.update(lease_until=clock.now + 2 * HORIZON)
    clock.forward(HORIZON - timedelta(seconds=before_end))
    wanted = plan("keyed", call_timeout=timedelta(seconds=60))
    if is_begun:
        assert effects.begin(operation, attempt, wanted).status == "begun"
    else:
        assert objection(operation, attempt, wanted) == "key_expired"


@pytest.mark.parametrize(
    ("kind", "code", "status"),
    [
        ("repeatable", "repeatable", "begun"),
        ("keyed", "same_key", "begun"),
        ("checkable", "quarantine", "begun"),
        ("unsafe", "unsafe_begun", "unknown"),
    ],
)
def test_an_attempt_that_dies_in_its_call_leaves_what_its_class_makes_of_that(kind, code, status):
    operation, _attempt, effect = begun(kind)
    assert taken_over(operation).code == code
    effect.refresh_from_db()
    assert (effect.status, operation.reviews.count()) == (status, kind == "unsafe")


@pytest.mark.parametrize(("first", "later"), [("repeatable", "unsafe"), ("keyed", "unsafe"), ("keyed", "checkable")])
def test_code_that_promises_less_than_the_first_call_did_repeats_nothing(first, later):
    operation, attempt = left_open(first)
    with pytest.raises(StillOpen) as caught:
        effects.begin(operation, attempt, plan(later))
    assert caught.value.decision.code == "unsafe_begun"


def test_another_request_under_the_same_key_goes_to_review_at_once_and_names_its_effect():
    operation, attempt = claimed()
    first = effects.begin(operation, attempt, plan("keyed", name="first"))
    other = effects.begin(operation, attempt, plan("keyed", name="other", request_fingerprint="a"))
    fail(operation, attempt)
    operation, attempt = claimed()
    effects.complete(effects.begin(operation, attempt, plan("keyed", name="first")), attempt)
    with pytest.raises(StillOpen) as caught:
        effects.begin(operation, attempt, plan("keyed", name="other", request_fingerprint="b"))
    fail(operation, attempt, objection=caught.value.decision, objecting_effect=caught.value.effect_pk)
    review = operation.reviews.get()
    assert (review.code, review.effect, first.pk != other.pk) == ("key_request_changed", other, True)


# Releasing ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["repeatable", "keyed"])
def test_that_a_repeat_was_not_made_says_nothing_of_the_first_call(kind):
    operation, attempt = left_open(kind)
    again = effects.begin(operation, attempt, plan(kind))
    assert not effects.release(again, attempt, code="not_performed", text="")
    assert Effect.objects.get().status == "begun"
    Operation.objects.update(cancel_requested_at=attempt.started_at)
    assert not attempts.cancel(operation, attempt, "")


def test_an_effect_in_other_hands_is_not_released():
    operation, attempt, effect = begun("keyed")
    taken_over(operation)
    second, by = claimed()
    effects.begin(second, by, plan("keyed"))
    assert not effects.release(effect, attempt, code="not_performed", text="")
    assert Effect.objects.get().begun_by == by


# Asking the other side ------------------------------------------------------------------------------------------------


def probed(**answer):
    """An attempt left it open; the next, once all is settled, was told this."""
    operation, attempt, effect = begun("checkable")
    fail(operation, attempt)
    Effect.objects.update(settles_in_seconds=0)
    Operation.objects.update(next_attempt_at=None)
    operation, attempt = claimed()
    effect.refresh_from_db()
    effects.note_probe(effect, attempt, **({"is_found": False, "is_absent": False} | answer))
    return operation, attempt, effect


def test_what_the_other_side_knows_is_not_done_again():
    _operation, _attempt, effect = probed(is_found=True, external_id="ch_7")
    assert (effect.status, effect.source, effect.external_id) == ("completed", "probe", "ch_7")


def test_what_it_does_not_know_is_begun_again():
    operation, attempt, effect = probed(is_absent=True)
    assert (effect.status, effect.source) == ("released", "probe")
    assert effects.begin(operation, attempt, plan("checkable")).source == "job"


def test_no_answer_is_counted_and_enough_of_them_are_a_question_to_a_person():
    operation, attempt, effect = probed()
    assert (effect.status, effect.probes_made) == ("begun", 1)
    Effect.objects.update(probes_made=5)
    assert fail(operation, attempt).code == "probe_inconclusive"


def test_an_answer_to_an_attempt_that_was_taken_over_does_not_count():
    operation, attempt, effect = begun("checkable")
    taken_over(operation)
    with pytest.raises(Fenced):
        effects.note_probe(effect, attempt, is_found=False, is_absent=True)
    assert Effect.objects.get().status == "begun"


@pytest.mark.parametrize("end", [fail, lambda operation, attempt: taken_over(operation)], ids=["fails", "dies"])
def test_a_job_that_ends_each_time_before_it_asks_is_not_tried_for_ever(end):
    operation, attempt, _effect = begun("checkable", settles_in=timedelta(0))
    fail(operation, attempt)
    for _ in range(5):
        decision = end(*claimed(policy={"max_attempts": 100}))
    assert (decision.code, Effect.objects.get().probes_made) == ("probe_inconclusive", 5)


def test_an_attempt_that_asked_and_failed_later_is_not_counted_twice_nor_one_that_was_asked_to_stop():
    operation, attempt, _effect = probed()
    Operation.objects.update(max_attempts=50)
    fail(operation, attempt)
    fail(*claimed(), is_stopped=True)
    assert Effect.objects.get().probes_made == 1


def test_the_answer_is_believed_only_so_long_after_the_attempt_has_ended(clock):
    operation, attempt, _effect = begun("checkable")
    clock.forward(120)
    decision = fail(operation, attempt)
    assert (decision.code, decision.not_before) == ("quarantine", clock.now + timedelta(seconds=30))
    clock.forward(29)
    assert attempts.claim(_delivery()).decision.code == "quarantine"
    clock.forward(1)
    assert attempts.claim(_delivery()).decision.code == "probe"


def _delivery():
    Operation.objects.update(next_attempt_at=None)
    return delivered()


def test_every_answer_is_in_the_timeline():
    probed(is_found=True)
    assert list(OperationEvent.objects.filter(kind="probed").values_list("code", flat=True)) == ["probe_found"]
