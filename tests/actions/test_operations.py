"""What people do with operations, from the press to the record, the ledger and Redis."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier

import pytest
from django.core.exceptions import PermissionDenied
from django.db import connections as databases
from guardian.shortcuts import remove_perm

from jobs.actions.guarded import Wish, carry_out
from jobs.actions.jobs import ACTS
from jobs.actions.operations import OperationWish, cancel_operation, retry_operation
from jobs.actions.settle import settle_open_entries
from jobs.broker import commands, connections
from jobs.broker.commands import OutcomeUnknown
from jobs.broker.errors import BrokerUnavailable
from jobs.models import AuditEntry, JobType, Operation
from jobs.permissions import OperationNotVisible
from tests.safety import work
from tests.support.acts import read

pytestmark = pytest.mark.django_db


def press(person, operation, queue, verb="retry_job", **changes):
    """A press on the page of its newest job."""
    detail = read(operation.job_id)
    usual = {"job_id": operation.job_id, "seen": detail.seen if detail else "", "now": datetime.now(UTC)}
    return carry_out(ACTS[verb], Wish(actor=person, queue=queue, **{**usual, **changes}))


def wish(person, operation, **changes):
    """A press on its own page."""
    usual = {"operation_id": operation.operation_id, "seen": operation.version, "now": datetime.now(UTC)}
    return OperationWish(actor=person, **{**usual, **changes})


def again(person, operation, **changes):
    return retry_operation(ACTS["retry_job"], wish(person, operation, **changes))


def now_is(operation):
    return Operation.objects.get(pk=operation.pk)


def gone(workshop, operation):
    """Redis has lost its job."""
    workshop.client.flushall()
    return operation


# A run ----------------------------------------------------------------------------------------------------------------


def test_a_failed_job_of_it_goes_back_on_its_queue_and_the_operation_with_it(workshop, operator, orders):
    operation = workshop.failed()
    outcome = press(operator, operation, orders)
    assert outcome.is_done and workshop.queued() == [operation.job_id]
    assert now_is(operation).status == "queued"
    assert [one.cause for one in operation.deliveries.all()] == ["delay", "operator"]
    workshop.work()
    assert (now_is(operation).status, now_is(operation).attempts_used) == ("completed", 2)


def test_what_was_declared_of_the_job_type_does_not_count_for_an_operation(workshop, operator, orders):
    operation = workshop.failed()
    JobType.objects.create(path=operation.job_type, idempotency="unsafe")
    assert press(operator, operation, orders).is_done


def test_from_its_own_page_the_failed_job_goes_back_too(workshop, operator):
    operation = workshop.failed()
    assert again(operator, operation).is_done
    assert workshop.queued() == [operation.job_id]


def test_without_a_job_in_redis_it_is_queued_as_a_new_one(workshop, operator):
    operation = gone(workshop, workshop.failed())
    assert again(operator, operation, reason="data fixed").is_done
    moved = now_is(operation)
    assert workshop.queued() == [moved.job_id] != [operation.job_id]
    assert [one.cause for one in moved.deliveries.all()] == ["delay", "operator"]
    assert (AuditEntry.objects.get().status, AuditEntry.objects.get().reason) == ("done", "data fixed")
    workshop.work()
    assert (now_is(operation).status, work.CALLS) == ("completed", ["touch-5"])


def test_the_same_press_again_changes_nothing(workshop, operator):
    operation = gone(workshop, workshop.failed())
    assert again(operator, operation).is_done
    repeated = again(operator, operation)
    assert (repeated.status, len(workshop.queued())) == ("changed", 1)


@pytest.mark.parametrize("place", ["its job's page", "its own page"])
def test_a_press_that_the_store_refuses_leaves_it_failed(workshop, operator, orders, monkeypatch, place):
    operation = workshop.failed()
    monkeypatch.setattr(commands, "requeue_failed", lambda *_args, **_more: "refused")
    outcome = press(operator, operation, orders) if place == "its job's page" else again(operator, operation)
    assert outcome.status == "not_done"
    after = now_is(operation)
    assert (after.status, after.reason_code, after.due_at) == ("failed", operation.reason_code, None)
    assert [one.cause for one in operation.deliveries.all()] == ["delay"]


def test_when_nobody_knows_whether_it_was_queued_it_stays_queued_and_is_found_out(
    workshop, operator, orders, monkeypatch
):
    operation, requeue = workshop.failed(), commands.requeue_failed

    def silently(*args, **more):
        requeue(*args, **more)
        raise OutcomeUnknown

    monkeypatch.setattr(commands, "requeue_failed", silently)
    assert press(operator, operation, orders).is_unknown
    assert now_is(operation).status == "queued" and now_is(operation).due_at is not None
    monkeypatch.setattr(commands, "server_time", lambda _name: datetime.now(UTC) + timedelta(hours=1))
    settle_open_entries(now=datetime.now(UTC))
    assert AuditEntry.objects.get().status == "done"
    assert operation.deliveries.last().cause == "operator"


def test_a_completed_one_is_not_run_again_whatever_rq_says(workshop, operator, orders):
    operation = workshop.act("keyed")
    workshop.client.hset(f"rq:job:{operation.job_id}", "status", "failed")
    workshop.client.zadd("rq:failed:orders", {operation.job_id: 9e9})
    outcome = press(operator, operation, orders)
    assert (outcome.status, outcome.entry.decision_code) == ("refused", "already_completed")
    assert workshop.queued() == []


def test_while_its_review_is_open_nobody_runs_it(workshop, superuser, orders):
    operation = workshop.in_review()
    assert press(superuser, operation, orders).entry.decision_code == "review_open"
    assert again(superuser, operation).entry.decision_code == "review_open"


@pytest.mark.parametrize("place", ["its job's page", "its own page"])
def test_what_may_have_happened_is_asked_about_first(workshop, operator, orders, place):
    operation = workshop.failed_with_open_effect()
    outcome = press(operator, operation, orders) if place == "its job's page" else again(operator, operation)
    assert outcome.review is not None and outcome.review.effect.name == "act"
    assert (now_is(operation).status, workshop.queued()) == ("unknown", [])


def test_a_key_that_lives_wants_to_be_confirmed(workshop, operator, orders):
    operation = workshop.failed_with_open_effect(kind="keyed")
    assert press(operator, operation, orders).is_unconfirmed
    assert again(operator, operation).is_unconfirmed
    assert press(operator, operation, orders, confirmed="same_key").is_done


def test_one_that_is_on_its_way_is_not_queued_twice(workshop, operator):
    operation = gone(workshop, workshop.waiting())
    outcome = again(operator, operation)
    assert (outcome.entry.decision_code, workshop.queued()) == ("already_queued", [])


def test_an_older_job_of_it_is_not_queued_while_a_newer_one_is(workshop, operator, orders):
    operation = workshop.failed()
    Operation.objects.update(job_id="newer", status="queued")
    outcome = press(operator, operation, orders)
    assert (outcome.entry.decision_code, workshop.queued()) == ("already_queued", [])


def test_its_next_attempt_may_be_hastened_where_rq_has_it_in_its_schedule(workshop, operator, orders):
    operation = workshop.scheduled()
    outcome = press(operator, operation, orders, verb="enqueue_job")
    assert outcome.is_done and workshop.queued() == [operation.job_id]
    assert (now_is(operation).status, now_is(operation).next_attempt_at) == ("queued", None)
    workshop.work()
    assert now_is(operation).status == "completed"


@pytest.mark.parametrize("trouble", ["another key prefix", "a serializer of the job's own", "a silent store"])
def test_what_can_not_be_queued_from_here_is_left_to_the_observer(workshop, operator, settings, monkeypatch, trouble):
    operation = gone(workshop, workshop.failed())
    if trouble == "another key prefix":
        settings.OPSBOARD_CONNECTIONS["default"]["prefix"] = "other"
        connections.reset()
    elif trouble == "a silent store":
        monkeypatch.setattr("jobs.broker.deliveries._enqueue", unanswered)
    else:
        Operation.objects.update(dispatch={"serializer": "shop.serializers.Own"})
    outcome = again(operator, now_is(operation))
    assert outcome.is_done and "the observer does that" in outcome.sentence
    assert (now_is(operation).status, workshop.queued()) == ("queued", [])
    assert now_is(operation).due_at is not None


def unanswered(*_args):
    raise BrokerUnavailable("default", "time-out")


@pytest.mark.django_db(transaction=True)
def test_of_two_who_press_at_the_same_moment_one_has_it_run(workshop, operator, superuser):
    operation, barrier = gone(workshop, workshop.failed()), Barrier(2)

    def at_once(person):
        try:
            barrier.wait(10)
            return again(person, operation)
        finally:
            databases.close_all()

    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(at_once, (operator, superuser)))
    assert sorted(one.status for one in outcomes) == ["changed", "done"]
    assert len(workshop.queued()) == 1 and operation.deliveries.count() == 2


# Cancelling -----------------------------------------------------------------------------------------------------------


def test_a_cancelled_one_is_taken_out_of_its_queue_and_never_runs(workshop, operator, orders):
    workshop.declared("touch").delay(5)
    operation = workshop.submitted(6)
    assert cancel_operation(wish(operator, operation, confirmed="cancel")).is_done
    assert (now_is(operation).status, workshop.job_status(operation)) == ("cancelled", "canceled")
    workshop.work()
    assert work.CALLS == ["touch-5"]


def test_cancelling_a_waiting_job_of_it_cancels_the_operation(workshop, operator, orders):
    operation = workshop.submitted()
    outcome = press(operator, operation, orders, verb="cancel_job", confirmed="cancel")
    assert outcome.is_done and now_is(operation).status == "cancelled"
    assert workshop.queued() == []


def test_it_is_cancelled_also_while_the_store_is_silent(workshop, operator, settings):
    operation = workshop.submitted()
    settings.OPSBOARD_CONNECTIONS = {"default": {"url": "redis://127.0.0.1:1/0"}}
    connections.reset()
    assert cancel_operation(wish(operator, operation, confirmed="cancel")).is_done
    assert now_is(operation).status == "cancelled"
    with pytest.raises(BrokerUnavailable):
        again(operator, now_is(operation))
    assert "can't be reached" in AuditEntry.objects.filter(verb="retry_job").get().outcome


def test_what_may_have_happened_can_not_be_called_cancelled(workshop, operator):
    operation = workshop.failed_with_open_effect()
    Operation.objects.update(status="retry_wait")
    outcome = cancel_operation(wish(operator, operation, confirmed="cancel"))
    assert (outcome.status, outcome.entry.decision_code) == ("refused", "has_begun")
    assert "may have happened" in outcome.sentence


def test_a_job_of_an_open_operation_is_not_deleted(workshop, operator, orders):
    operation = workshop.in_review()
    outcome = press(operator, operation, orders, verb="delete_job", confirmed="delete", typed="act")
    assert (outcome.status, outcome.entry.decision_code) == ("refused", "operation_open")
    assert workshop.job_status(operation) == "failed"


def test_a_job_of_one_that_is_over_may_be_deleted(workshop, operator, orders):
    operation = workshop.failed()
    assert press(operator, operation, orders, verb="delete_job", confirmed="delete", typed="touch").is_done


# Rights ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("act", [again, lambda *who: cancel_operation(wish(*who))], ids=["retry", "cancel"])
def test_without_the_right_nothing_is_done_and_the_attempt_is_on_record(workshop, viewer, pia, act):
    operation = workshop.failed()
    with pytest.raises(PermissionDenied):
        act(viewer, operation)
    with pytest.raises(OperationNotVisible):
        act(pia, operation)
    assert {one.outcome for one in AuditEntry.objects.all()} == {"No right to do this."}
    assert now_is(operation).status == "failed" and workshop.queued() == []


def test_the_right_to_retry_one_does_not_have_is_asked_for_the_job_as_well(workshop, operator, orders):
    operation = workshop.failed()
    remove_perm("opsboard_jobs.retry_job", operator, orders)
    with pytest.raises(PermissionDenied):
        press(operator, operation, orders)
