"""A call succeeded, and the news comes late: in whatever state the effect is by then, the fact is kept."""

from __future__ import annotations

import pytest

from jobs.domain.verdicts import Verdict
from jobs.ledger import attempts, effects, reviews
from jobs.models import Effect, Operation, OperationEvent, Review
from tests.support.op_ledger import begun, claimed, plan, resolve, taken_over

pytestmark = pytest.mark.django_db


def kinds():
    noted = OperationEvent.objects.filter(kind__in=("late_evidence", "contradiction"))
    return [one.kind for one in noted.order_by("id")]


def say(verdict, now, **evidence):
    """What a person says in the open review."""
    resolve(Review.objects.select_related("operation", "effect").get(closed_at=None), verdict, now, **evidence)


def orphaned(kind="unsafe"):
    """Its process was proved dead, and lives."""
    operation, attempt, effect = begun(kind)
    taken_over(operation)
    return operation, attempt, effect


def test_late_news_closes_the_open_review_and_the_job_goes_on():
    operation, attempt, effect = orphaned()
    effects.complete(effect, attempt, external_id="ch_1", result={"id": "ch_1"})
    assert (effect.status, effect.source, effect.result) == ("completed", "late_evidence", {"id": "ch_1"})
    review = Review.objects.get()
    assert (review.verdict, review.closed_at is not None, kinds()) == ("happened", True, ["late_evidence"])
    operation.refresh_from_db()
    assert (operation.status, operation.due_at is not None) == ("retry_wait", True)


def test_the_old_attempt_that_reports_its_end_afterwards_moves_nothing():
    operation, attempt, effect = orphaned()
    effects.complete(effect, attempt)
    before = Operation.objects.values().get()
    assert not attempts.complete(operation, attempt)
    assert Operation.objects.values().get() == before


@pytest.mark.parametrize("verdict", [Verdict.DID_NOT_HAPPEN, Verdict.ABANDON, Verdict.HAPPENED, Verdict.REVERSED])
def test_what_a_person_said_is_not_overwritten(clock, verdict):
    operation, attempt, effect = orphaned()
    say(verdict, clock.now)
    effects.complete(effect, attempt, external_id="ch_1")
    is_denied = verdict is Verdict.DID_NOT_HAPPEN
    assert Review.objects.get().verdict == verdict
    assert effect.status == ("reversed" if verdict is Verdict.REVERSED else "completed")
    assert kinds() == ["contradiction" if is_denied else "late_evidence"]
    assert operation.reviews.get().resolutions.count() == (verdict is not Verdict.HAPPENED)


def test_news_after_a_denial_keeps_it_from_being_done_again(clock):
    _operation, attempt, effect = orphaned()
    say(Verdict.DID_NOT_HAPPEN, clock.now)
    effects.complete(effect, attempt, external_id="ch_1")
    operation, second = claimed()
    assert effects.begin(operation, second, plan()).external_id == "ch_1"


def test_news_after_it_was_denied_and_begun_again_is_an_incident_whoever_reports_first(clock):
    _operation, first, effect = orphaned()
    say(Verdict.DID_NOT_HAPPEN, clock.now)
    operation, second = claimed()
    again = effects.begin(operation, second, plan())
    effects.complete(effect, first, external_id="ch_1")
    effects.complete(again, second, external_id="ch_2")
    assert kinds() == ["contradiction", "contradiction"]
    assert (again.external_id, Effect.objects.get().status) == ("ch_1", "completed")


def test_the_same_in_the_other_order(clock):
    _operation, first, effect = orphaned()
    say(Verdict.DID_NOT_HAPPEN, clock.now)
    operation, second = claimed()
    effects.complete(effects.begin(operation, second, plan()), second, external_id="ch_2")
    effects.complete(effect, first, external_id="ch_1")
    assert (kinds(), Effect.objects.get().external_id) == (["contradiction"], "ch_2")


def test_a_keyed_repeat_that_was_recognised_contradicts_nothing():
    _operation, first, effect = orphaned("keyed")
    operation, second = claimed()
    again = effects.begin(operation, second, plan("keyed"))
    effects.complete(effect, first, external_id="ch_1")
    effects.complete(again, second, external_id="ch_1")
    assert (kinds(), Effect.objects.get().source) == (["late_evidence", "late_evidence"], "late_evidence")


@pytest.mark.parametrize(("kind", "noted"), [("keyed", "contradiction"), ("repeatable", "late_evidence")])
def test_two_ids_on_the_other_side_are_an_incident_unless_a_repeat_does_no_harm(kind, noted):
    _operation, first, effect = orphaned(kind)
    operation, second = claimed()
    effects.complete(effects.begin(operation, second, plan(kind)), second, external_id="ch_2")
    effects.complete(effect, first, external_id="ch_1")
    assert kinds() == [noted]


def test_news_of_what_a_later_attempt_has_begun_again_settles_that_too():
    _operation, first, effect = orphaned("keyed")
    operation, second = claimed()
    effects.begin(operation, second, plan("keyed"))
    effects.complete(effect, first, external_id="ch_1")
    assert taken_over(operation).action == "retry"
    assert Effect.objects.get().status == "completed"


def test_a_probe_said_no_and_it_was_so_is_an_incident(clock):
    operation, first, effect = begun("checkable", settles_in=clock.now - clock.now)
    taken_over(operation)
    operation, second = claimed()
    current = Effect.objects.select_related("operation", "begun_by").get()
    effects.note_probe(current, second, is_found=False, is_absent=True)
    effects.begin(operation, second, plan("checkable"))
    effects.complete(effect, first, external_id="ch_1")
    assert kinds() == ["contradiction"]


def test_what_a_person_knew_of_gets_the_id_and_the_result_that_only_the_call_knows(clock):
    _operation, attempt, effect = orphaned()
    say(Verdict.HAPPENED, clock.now)
    effects.complete(effect, attempt, external_id="ch_1", result=[1])
    assert (effect.source, effect.external_id, effect.result) == ("human", "ch_1", [1])


# What a person says ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verdict", "effect_status", "status"),
    [
        (Verdict.HAPPENED, "completed", "retry_wait"),
        (Verdict.DID_NOT_HAPPEN, "released", "retry_wait"),
        (Verdict.PROBE_AGAIN, "begun", "retry_wait"),
        (Verdict.ABANDON, "abandoned", "failed"),
        (Verdict.REVERSED, "reversed", "cancelled"),
    ],
)
def test_a_verdict_settles_the_effect_and_moves_the_operation(clock, verdict, effect_status, status):
    operation, _attempt, effect = orphaned()
    say(verdict, clock.now, external_id="ch_9")
    operation.refresh_from_db()
    effect.refresh_from_db()
    assert (effect.status, operation.status) == (effect_status, status)
    assert (operation.due_at is None) == (status != "retry_wait")
    assert effect.external_id == ("ch_9" if verdict is Verdict.HAPPENED else "")


def test_a_verdict_allows_one_more_attempt_at_least(clock):
    for _ in range(3):
        operation, attempt = claimed()
        effects.begin(operation, attempt, plan("keyed"))
        taken_over(operation)
    say(Verdict.DID_NOT_HAPPEN, clock.now)
    operation, _attempt = claimed()
    assert (operation.attempts_used, operation.lost_attempts) == (4, 0)


def test_a_person_and_late_news_at_the_same_moment_are_both_on_record(clock, operator):
    _operation, attempt, effect = orphaned()
    review = Review.objects.get()
    reviews.claim_review(review, actor=operator, now=clock.now)
    review.refresh_from_db()
    said = reviews.Statement(actor=operator, verdict=Verdict.DID_NOT_HAPPEN, version_seen=review.version)
    assert reviews.settle_review(review, said, now=clock.now)
    effects.complete(effect, attempt, external_id="ch_1")
    assert [one.verdict for one in review.resolutions.order_by("created_at", "source")] == [
        "did_not_happen",
        "happened",
    ]
    assert (effect.status, kinds()) == ("completed", ["contradiction"])
