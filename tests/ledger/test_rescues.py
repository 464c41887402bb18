"""Rescues restate what was seen: of an operation that went on meanwhile nothing is written."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import pytest
from django.db.models import F
from django.utils import timezone

from jobs.ledger import rescues
from jobs.ledger.moves import rest
from jobs.models import Delivery, Operation, OperationEvent, Review
from tests.support import op_ledger
from tests.support.operations import accepted, begun, due

pytestmark = pytest.mark.django_db(transaction=True)

RESCUES = {
    "queue_again": partial(rescues.queue_again, cause="lost"),
    "queue_unentered": rescues.queue_unentered,
    "refuse_code": partial(rescues.refuse_code, is_known=False),
    "follow_cancel": rescues.follow_cancel,
    "ask_of_unseen_run": rescues.ask_of_unseen_run,
    "open_missing_review": rescues.open_missing_review,
}


def state(operation):
    row = Operation.objects.filter(pk=operation.pk).values().get()
    beside = [model.objects.count() for model in (Delivery, OperationEvent, Review)]
    return row, beside


@pytest.mark.parametrize("rescue", RESCUES.values(), ids=RESCUES)
@pytest.mark.parametrize(
    "meanwhile",
    [{"status": "running"}, {"status": "completed"}, {"version": F("version") + 1}],
    ids=["claimed", "over", "decided"],
)
def test_a_rescue_of_what_went_on_meanwhile_writes_nothing(rescue, meanwhile):
    seen = due(accepted())
    Operation.objects.filter(pk=seen.pk).update(**meanwhile)
    before = state(seen)
    assert not rescue(seen)
    assert state(seen) == before


@pytest.mark.parametrize("rescue", RESCUES.values(), ids=RESCUES)
def test_of_two_who_saw_the_same_one_rescues(rescue):
    seen = due(accepted())
    rescue(seen)
    after = state(seen)
    assert after != state(accepted(6)) and not rescue(seen)
    assert state(seen)[0] == after[0]


def test_it_is_recorded_before_it_is_queued_under_an_id_of_its_own():
    seen = due(accepted())
    queued = rescues.queue_again(seen, "never_queued")
    assert queued.job_id != seen.job_id and queued.status == "queued" and queued.next_attempt_at is None
    delivery = queued.deliveries.get()
    assert (delivery.job_id, delivery.queue, delivery.cause) == (queued.job_id, queued.queue, "never_queued")
    assert queued.due_at == queued.dispatched_at + timedelta(seconds=60)


def test_an_attempt_is_counted_when_it_begins_and_not_when_it_is_delivered():
    assert rescues.queue_again(due(accepted()), "lost").attempts_used == 0


@pytest.mark.parametrize(
    ("kind", "status", "code"),
    [
        ("unsafe", "unknown", "unsafe_begun"),
        ("checkable", "retry_wait", "quarantine"),
        ("keyed", "queued", "unsafe_begun"),
    ],
)
def test_what_the_rules_want_instead_is_done(kind, status, code):
    operation, attempt, _effect = op_ledger.begun(kind)
    Operation.objects.update(status="queued", current_attempt=None, lease_until=None, due_at=timezone.now())
    type(attempt).objects.update(ended_at=timezone.now(), outcome="lost")
    operation.refresh_from_db()
    queued = rescues.queue_again(operation, "lost")
    operation.refresh_from_db()
    assert (operation.status, queued is not None) == (status, status == "queued")
    assert queued or operation.reason_code == code


def test_deliveries_that_somebody_asked_for_begin_the_count_anew():
    for _end in range(2):
        assert rescues.queue_unentered(due(Operation.objects.first() or accepted()))
    operation = Operation.objects.get()
    operation.deliveries.create(connection="default", queue="safe", job_id="asked", cause="operator", at=timezone.now())
    assert rescues.queue_unentered(due(operation))


def test_an_attempt_begins_the_count_anew():
    for _end in range(2):
        rescues.queue_unentered(due(Operation.objects.first() or accepted()))
    operation = Operation.objects.get()
    begun(operation)
    assert rescues.queue_unentered(due(operation, status="queued", current_attempt=None, lease_until=None))


def test_a_cancel_in_rq_after_an_effect_was_begun_cancels_nothing():
    operation, attempt, _effect = op_ledger.begun("keyed")
    type(attempt).objects.update(ended_at=timezone.now(), outcome="lost")
    Operation.objects.update(status="queued", current_attempt=None, lease_until=None, due_at=timezone.now())
    operation.refresh_from_db()
    assert rescues.follow_cancel(operation).status == "queued"


def test_looking_again_later_restates_that_it_was_due():
    seen = due(accepted())
    Operation.objects.update(due_at=timezone.now() + timedelta(hours=1))
    assert rescues.look_again([seen]) == 0


def test_looking_again_later_restates_the_state():
    seen = due(accepted())
    Operation.objects.update(status="retry_wait")
    assert rescues.look_again([seen]) == 0


def test_many_that_wait_are_put_off_by_few_statements(django_assert_max_num_queries):
    waiting = [due(accepted(number)) for number in range(50)]
    with django_assert_max_num_queries(10):
        assert rescues.look_again(waiting) == 50


def test_without_a_grace_it_is_put_off_all_the_same(settings):
    settings.OPSBOARD_QUEUE_GRACE_SECONDS = 0
    assert rescues.look_again([due(accepted())]) == 1


def test_what_is_over_is_not_completed_once_more():
    operation = accepted(declared_effects=["act"])
    rest(operation, "failed", "bad_data", "", timezone.now())
    assert not rescues.complete_declared(operation)
