"""What a person's act writes of an operation: all or nothing, and nothing of what was seen differently."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from jobs.domain.operations import AskedBy
from jobs.ledger import attempts, operator_acts
from jobs.models import AuditEntry, FailedJob, Operation
from tests.support.observer import watch

pytestmark = pytest.mark.django_db


def about(person, operation):
    return {
        "actor": person,
        "verb": "retry_job",
        "subject": operation.job_id,
        "connection": "default",
        "queue": "orders",
        "now": datetime.now(UTC),
    }


def requeue(person, operation, code="nothing_begun"):
    details = about(person, operation)
    return operator_acts.intend_requeue(
        operation, code=code, asked_by=AskedBy.OPERATOR, job_id=operation.job_id, reason="data fixed", **details
    )


def cancel(person, operation, code="cancel"):
    details = about(person, operation) | {"verb": "cancel_job"}
    return operator_acts.cancel(operation, code=code, reason="", **details)


def as_stored(operation):
    return Operation.objects.values().get(pk=operation.pk)


def test_the_intent_and_the_move_are_on_record_together(workshop, operator):
    run = requeue(operator, workshop.failed())
    assert (run.entry.status, run.entry.decision_code, run.entry.reason) == ("intended", "nothing_begun", "data fixed")
    moved = run.operation
    assert (moved.status, moved.last_error, moved.max_attempts) == ("queued", "", 3)
    assert moved.due_at > moved.dispatched_at
    event = moved.events.filter(kind="decided").last()
    assert "otto had it run again" in event.text and "data fixed" in event.text


def test_an_operator_may_run_again_what_has_used_up_its_attempts(workshop, operator):
    failed = workshop.touch(error=ValueError("no stock"))
    assert (failed.status, failed.reason_code) == ("failed", "attempts_exhausted")
    assert requeue(operator, failed).operation.max_attempts == failed.attempts_used + 1


@pytest.mark.parametrize("seen", ["another version", "another answer"])
def test_what_is_not_as_it_was_seen_is_left_alone(workshop, operator, seen):
    failed = workshop.failed()
    if seen == "another version":
        failed.version -= 1
    before = as_stored(failed)
    assert requeue(operator, failed, code="same_key" if seen == "another answer" else "nothing_begun") is None
    after = as_stored(failed)
    assert after["status"] == before["status"] and not AuditEntry.objects.exists()


def test_of_two_presses_on_the_same_sight_one_moves_it(workshop, operator, superuser):
    first = workshop.failed()
    second = Operation.objects.get(pk=first.pk)
    assert requeue(operator, first) and requeue(superuser, second) is None
    assert AuditEntry.objects.get().actor_name == "otto"


def test_a_run_that_came_to_nothing_is_taken_back(workshop, operator):
    failed = workshop.failed()
    before = as_stored(failed)
    assert operator_acts.take_back(requeue(operator, failed))
    after = as_stored(failed)
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"version", "updated_at"}


def test_a_failure_is_looked_after_as_long_as_its_operation_is_on_its_way(workshop, operator):
    operation = workshop.failed()
    watch()
    run = requeue(operator, operation)
    assert not FailedJob.objects.get().is_open
    operator_acts.take_back(run)
    assert FailedJob.objects.get().is_open


def test_a_run_that_a_worker_has_begun_is_not_taken_back(workshop, operator):
    run = requeue(operator, workshop.failed())
    workshop.queue.enqueue_call("tests.safety.work.touch", (5,), job_id="another")
    workshop.work()
    assert not operator_acts.take_back(run)
    assert as_stored(run.operation)["status"] == "completed"


def test_a_waiting_operation_is_cancelled_at_once(workshop, operator):
    operation = workshop.waiting()
    entry = cancel(operator, operation)
    assert (entry.status, entry.verb) == ("done", "cancel_job")
    stored = as_stored(operation)
    assert (stored["status"], stored["due_at"]) == ("cancelled", None)
    assert "otto had it cancelled" in stored["reason_text"]


def test_a_running_one_is_only_asked_to_be(workshop, operator):
    seen = workshop.while_running(lambda operation: cancel(operator, operation, "cancel_requested"))
    assert seen.status == "done"
    operation = Operation.objects.get()
    assert operation.cancel_requested_at is not None
    assert operation.events.filter(kind="cancel_requested").exists()


@pytest.mark.parametrize("kind", ["keyed", "unsafe"])
def test_what_has_begun_something_can_not_be_called_cancelled(workshop, operator, kind):
    operation = workshop.act(kind, error=OSError("no answer"))
    before = as_stored(operation)
    assert cancel(operator, operation) is None
    assert as_stored(operation)["status"] == before["status"]
    assert as_stored(operation)["cancel_requested_at"] is None


def test_an_attempt_whose_time_is_over_stands_in_nobodys_way(workshop, operator):
    operation = workshop.failed()
    assert operator_acts.free_if_over(operation).status == "failed"
    lost = workshop.lost(6)
    assert requeue(operator, lost) is None
    assert operator_acts.free_if_over(lost).status == "retry_wait"
    assert lost.attempts.get(outcome="lost").death_proof == attempts.LEASE_OVER
    assert requeue(operator, lost).operation.status == "queued"


def test_what_needs_a_review_is_asked_and_the_refusal_is_on_record(workshop, operator):
    operation = workshop.failed_with_open_effect()
    entry, review = operator_acts.ask_first(operation, asked_by=AskedBy.OPERATOR, **about(operator, operation))
    assert (entry.status, entry.decision_code, review.effect.name) == ("refused", "unsafe_begun", "act")
    assert as_stored(operation)["status"] == "unknown"
