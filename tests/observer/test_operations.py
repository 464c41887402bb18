"""Operations that nobody would ever run again are queued again, and those that somebody has are left alone."""

from __future__ import annotations

import time
from datetime import timedelta
from threading import Barrier, Thread

import pytest
from django.db import connection as database
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from jobs.broker import connections
from jobs.broker.errors import BrokerUnavailable
from jobs.ledger import attempts, rescues
from jobs.models import Operation, Review
from jobs.observer import operations, operations_exits
from tests.safety import work
from tests.support.operations import QUEUE, accepted, begun, due, lay_out, lease
from tests.support.traffic import count_traffic

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _nothing_said():
    operations._said.clear()


def look():
    """How many were taken over, and how many queued again."""
    return operations.take_over_dead(timezone.now()), operations.deliver("default", timezone.now())


def deliveries(operation):
    return [one.cause for one in operation.deliveries.all()]


def fresh(operation):
    operation.refresh_from_db()
    return operation


# Queued again ---------------------------------------------------------------------------------------------------------


def test_what_was_accepted_and_never_queued_is_queued_and_runs_once(redis_client, run_all):
    operation = due(accepted())
    assert (look(), look()) == ((0, 1), (0, 0))
    run_all()
    assert (fresh(operation).status, work.CALLS) == ("completed", ["touch-5"])
    assert deliveries(operation) == ["never_queued"]


def test_a_job_that_the_store_has_lost_is_queued_again_and_its_own_late_run_is_skipped(declared, queue, run_all):
    operation = declared["touch"].submit(5)
    first = operation.job_id
    assert queue.remove(first) and look() == (0, 0)
    due(operation)
    assert look() == (0, 1)
    queue.push_job_id(first)
    run_all()
    assert (fresh(operation).status, work.CALLS) == ("completed", ["touch-5"])
    assert deliveries(operation) == ["submit", "lost"]
    assert sorted(one.outcome for one in operation.attempts.all()) == ["completed", "skipped_duplicate"]


def test_a_job_whose_worker_died_before_the_claim_is_queued_again(redis_client):
    operation = due(accepted(), status="queued")
    lease(redis_client, lay_out(redis_client, operation, "started"), -1)
    assert look() == (0, 1)
    assert [(one.kind, one.code) for one in operation.events.all()] == [("decided", "never_entered")]


def test_a_job_that_kills_whatever_takes_it_is_not_delivered_for_ever(redis_client):
    operation = due(accepted(), status="queued")
    for _delivery in range(2):
        lay_out(redis_client, due(operation), "started")
        assert look() == (0, 1)
    lay_out(redis_client, due(operation), "started")
    assert look() == (0, 0)
    assert (fresh(operation).status, operation.reason_code) == ("failed", "poison_suspected")


def test_a_retry_that_redis_has_lost_is_queued_again(redis_client, run_all):
    operation = due(accepted(), status="retry_wait", last_error="transient")
    assert look() == (0, 1) and deliveries(operation) == ["retry"]
    run_all()
    assert fresh(operation).status == "completed"


def test_a_retry_that_no_scheduler_takes_up_is_queued_again(redis_client):
    operation = due(accepted(), status="retry_wait")
    job_id = lay_out(redis_client, operation, "scheduled")
    redis_client.zadd(f"rq:scheduled:{QUEUE}", {job_id: time.time() - 1})
    assert look() == (0, 1)


def test_what_goes_on_after_its_review_is_queued_at_once(redis_client):
    operation = due(accepted(), status="retry_wait", reason_code="said_not_happened")
    lay_out(redis_client, operation, "failed")
    assert look() == (0, 1) and deliveries(operation) == ["review"]


def test_after_a_takeover_it_is_queued_at_once_though_rq_holds_the_dead_run_for_alive(redis_client, run_all):
    operation = accepted()
    begun(operation, lease=-1)
    lease(redis_client, lay_out(redis_client, operation, "started"), 60)
    due(operation)
    assert look() == (1, 1) and deliveries(operation)[-1] == "takeover"
    run_all()
    assert (fresh(operation).status, [one.outcome for one in operation.attempts.all()]) == (
        "completed",
        ["lost", "completed"],
    )


def test_one_that_is_to_be_cancelled_is_not_queued_again(redis_client):
    operation = due(accepted(), cancel_requested_at=timezone.now())
    assert look() == (0, 0)
    assert (fresh(operation).status, operation.due_at) == ("cancelled", None)


# Left alone -----------------------------------------------------------------------------------------------------------


def waiting(redis, operation):
    redis.rpush(f"rq:queue:{QUEUE}", lay_out(redis, operation, "queued"))


def taken(redis, operation):
    redis.rpush(f"rq:queue:{QUEUE}:intermediate", lay_out(redis, operation, "queued"))


def beginning(redis, operation):
    lease(redis, lay_out(redis, operation, "queued"), 60)


def started(redis, operation):
    lease(redis, lay_out(redis, operation, "started"), 60)


def deferred(redis, operation):
    lay_out(redis, operation, "deferred")


def due_later(redis, operation):
    redis.zadd(f"rq:scheduled:{QUEUE}", {lay_out(redis, operation, "scheduled"): time.time() + 100})


def just_due(redis, operation):
    redis.zadd(f"rq:scheduled:{QUEUE}", {lay_out(redis, operation, "scheduled"): time.time() - 1})
    redis.set(f"rq:scheduler-lock:{QUEUE}", "1")


@pytest.mark.parametrize("status", ["accepted", "queued", "retry_wait"])
@pytest.mark.parametrize(
    "place", [waiting, taken, beginning, started, deferred, due_later, just_due], ids=lambda one: one.__name__
)
def test_what_rq_is_about_to_bring_is_left_to_it_and_looked_at_again_later(redis_client, status, place):
    operation = due(accepted(), status=status)
    place(redis_client, operation)
    assert look() == (0, 0)
    expected = "queued" if status == "accepted" else status
    assert fresh(operation).status == expected and operation.due_at > timezone.now() + timedelta(seconds=30)
    assert deliveries(operation) == (["submit"] if status == "accepted" else [])


def test_a_job_that_waits_for_long_is_looked_at_less_often(redis_client):
    operation = due(accepted(), status="queued", dispatched_at=timezone.now() - timedelta(hours=1))
    waiting(redis_client, operation)
    look()
    assert timedelta(minutes=3) < fresh(operation).due_at - timezone.now() < timedelta(minutes=5)


def test_operations_of_a_connection_that_is_not_configured_are_left_alone_and_told_of(redis_client, caplog):
    operation = due(accepted(connection="elsewhere"))
    running = accepted(6, connection="elsewhere")
    begun(running, lease=-1)
    due(running)
    assert look() == (0, 0) and operations.mend(timezone.now()) == 0
    assert (fresh(operation).status, fresh(running).status) == ("accepted", "running")
    assert "operations of the connection elsewhere are left alone, since it is not configured" in caplog.text


def test_operations_of_a_connection_with_another_key_prefix_are_left_alone_and_told_of(
    redis_client, valkey, settings, caplog
):
    operation = due(accepted())
    settings.OPSBOARD_CONNECTIONS = {"default": {"url": valkey.url, "prefix": "other"}}
    connections.reset()
    assert look() == (0, 0) and fresh(operation).status == "accepted"
    assert "operations of default are left alone: start the observer with the RQ_KEY_PREFIX" in caplog.text


@pytest.mark.parametrize("status", ["completed", "failed", "cancelled", "unknown"])
def test_what_is_over_stays_over_though_it_has_a_deadline(redis_client, status):
    operation = due(accepted(), status=status)
    assert look() == (0, 0)
    assert (fresh(operation).status, operation.reviews.count(), deliveries(operation)) == (status, 0, [])


def test_one_that_is_due_later_is_left_alone(redis_client):
    operation = accepted()
    assert look() == (0, 0) and fresh(operation).status == "accepted"


def test_a_pass_with_nothing_due_makes_three_queries_and_asks_redis_nothing(redis_client):
    for order_id in range(20):
        accepted(order_id)
    begun(accepted(20))
    with count_traffic(redis_client) as traffic, CaptureQueriesContext(database) as queries:
        look()
        assert operations_exits.take_over_ended("other", timezone.now()) == 0
    assert (len(queries), traffic.round_trips) == (3, 0)


def test_what_is_due_is_found_by_its_index_whatever_else_there_is(redis_client):
    with database.cursor() as cursor:
        if database.vendor == "postgresql":
            cursor.execute("SET enable_seqscan = off")
        try:
            assert "operation_by_due" in operations._due("default", timezone.now()).explain()
        finally:
            if database.vendor == "postgresql":
                cursor.execute("RESET enable_seqscan")


# RQ has filed it, and nothing of it ran -------------------------------------------------------------------------------


def fail_before_the_claim(operation, run_all, **changes):
    """Its delivery by a job that no worker here can call as it is stored."""
    due(operation, **changes)
    assert look() == (0, 1)
    run_all()
    due(operation)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"job_type": "tests.safety.work.renamed"}, "code_missing"),
        ({"job_type": "tests.no_such_module.touch"}, "code_missing"),
        ({"args": {"order_id": 5, "other_id": 6}}, "signature_mismatch"),
    ],
    ids=["no-function", "no-module", "other-parameters"],
)
def test_what_this_release_cannot_call_fails_with_the_reason(redis_client, run_all, changes, code):
    operation = accepted()
    fail_before_the_claim(operation, run_all, **changes)
    assert look() == (0, 0)
    assert (fresh(operation).status, operation.reason_code, work.CALLS) == ("failed", code, [])


def test_a_delivery_that_is_turned_away_for_its_arguments_is_not_repeated_for_ever(redis_client, run_all):
    operation = due(accepted(), args={"order_id": "5"})
    look()
    Operation.objects.update(args={"order_id": 5})
    run_all()
    due(operation)
    assert look() == (0, 0)
    assert (fresh(operation).status, operation.reason_code, work.CALLS) == ("failed", "signature_mismatch", [])


def test_an_old_failure_says_nothing_of_a_later_delivery(redis_client, run_all):
    operation = accepted()
    fail_before_the_claim(operation, run_all, job_type="tests.safety.work.renamed")
    due(operation, job_type="tests.safety.work.touch", dispatched_at=timezone.now())
    assert look() == (0, 1)
    run_all()
    assert fresh(operation).status == "completed"


@pytest.mark.parametrize("status", ["failed", "stopped"])
def test_what_rq_gave_up_before_anything_ran_is_queued_again(redis_client, run_all, status):
    operation = due(accepted(), status="queued")
    lay_out(redis_client, operation, status)
    assert look() == (0, 1)
    run_all()
    assert fresh(operation).status == "completed"


def test_what_was_cancelled_in_rq_before_it_began_is_cancelled(redis_client):
    operation = due(accepted(), status="queued")
    lay_out(redis_client, operation, "canceled")
    assert look() == (0, 0)
    assert (fresh(operation).status, operation.reason_code) == ("cancelled", "cancelled")


def test_what_rq_calls_finished_and_nobody_here_has_seen_is_put_to_a_person(redis_client):
    operation = due(accepted(), status="queued")
    lay_out(redis_client, operation, "finished")
    assert (look(), look()) == ((0, 0), (0, 0))
    assert fresh(operation).status == "unknown"
    assert [(one.code, one.effect) for one in Review.objects.all()] == [("undeclared_started", None)]


# Only the final mark is missing ---------------------------------------------------------------------------------------


def test_one_whose_declared_effects_all_happened_is_completed_without_running_its_code(redis_client, settled_effect):
    operation = settled_effect(declared_effects=["act"])
    due(operation)
    assert look() == (1, 0)
    assert (fresh(operation).status, operation.due_at, work.CALLS) == ("completed", None, [])
    assert [one.outcome for one in operation.attempts.all()] == ["lost"]


def test_one_that_did_not_declare_all_its_effects_runs_on(redis_client, settled_effect, run_all):
    operation = settled_effect(declared_effects=[])
    due(operation)
    assert look() == (1, 1)
    run_all()
    assert (fresh(operation).status, work.CALLS) == ("completed", ["touch-5"])


def test_one_that_failed_by_itself_after_its_effects_runs_on(redis_client, settled_effect, run_all):
    operation = settled_effect(declared_effects=["act"])
    failure = attempts.Failure(kind="transient", error_class="OSError", error_line="full")
    attempts.fail(operation, operation.attempts.get(), failure, chance=0)
    due(operation)
    assert look() == (0, 1)


@pytest.fixture
def settled_effect():
    """An operation whose attempt has completed its effect and died then: its lease is over."""

    def made(**changes):
        operation = accepted(**changes)
        attempt = begun(operation, lease=-1)
        operation.effects.create(
            name="act", idempotency="unsafe", status="completed", begun_by=attempt, begun_at=timezone.now()
        )
        return operation

    return made


# Crashes of the observer, and two of them -----------------------------------------------------------------------------


def test_a_push_that_fails_leaves_a_lost_delivery_which_the_next_look_finds(redis_client, run_all, monkeypatch):
    def away(*_args, **_options):
        raise BrokerUnavailable("default", "no connection")

    operation = due(accepted())
    with monkeypatch.context() as broken, pytest.raises(BrokerUnavailable):
        broken.setattr(operations.deliveries, "push_again", away)
        look()
    assert fresh(operation).status == "queued" and look() == (0, 0)
    due(operation)
    assert look() == (0, 1) and deliveries(operation) == ["never_queued", "lost"]
    run_all()
    assert fresh(operation).status == "completed"


def test_of_two_observers_at_once_one_queues_it(redis_client, monkeypatch):
    operation, both_have_looked = due(accepted()), Barrier(2, timeout=10)
    find = operations.find_jobs
    monkeypatch.setattr(operations, "find_jobs", lambda *a, **o: (find(*a, **o), both_have_looked.wait())[0])
    queued = []

    def observe():
        queued.append(operations.deliver("default", timezone.now()))
        database.close()

    threads = [Thread(target=observe) for _observer in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(queued) == [0, 1]
    assert redis_client.llen(f"rq:queue:{QUEUE}") == 1 and deliveries(operation) == ["never_queued"]


def test_one_with_which_something_unforeseen_happens_holds_up_no_other(redis_client, monkeypatch, caplog):
    bad, good = due(accepted(5)), due(accepted(6))
    queue_again = rescues.queue_again

    def sometimes(seen, cause):
        if seen.pk == bad.pk:
            raise KeyError("what nobody thought of")
        return queue_again(seen, cause)

    monkeypatch.setattr(rescues, "queue_again", sometimes)
    assert look() == (0, 1)
    assert fresh(good).status == "queued" and fresh(bad).due_at > timezone.now()
    assert "keeps plain:5 from being looked after: KeyError" in caplog.text


def test_a_store_that_is_away_changes_nothing(valkey, settings, redis_client):
    operation = due(accepted())
    settings.OPSBOARD_CONNECTIONS = {"default": {"url": "redis://127.0.0.1:1/0"}}
    connections.reset()
    with pytest.raises(BrokerUnavailable):
        look()
    assert fresh(operation).status == "accepted"


# What should never be -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["accepted", "queued", "running", "retry_wait"])
def test_one_under_way_without_a_deadline_gets_one(redis_client, status):
    operation = accepted()
    Operation.objects.filter(pk=operation.pk).update(status=status, due_at=None)
    assert operations.mend(timezone.now()) == 1
    assert fresh(operation).due_at <= timezone.now()


def test_one_whose_result_is_unknown_is_put_to_a_person_once(redis_client):
    operation = accepted()
    Operation.objects.filter(pk=operation.pk).update(status="unknown", due_at=None)
    assert (operations.mend(timezone.now()), operations.mend(timezone.now())) == (1, 0)
    assert Review.objects.get().operation == operation and fresh(operation).status == "unknown"


def test_what_is_over_gets_no_deadline(redis_client):
    for order_id, status in enumerate(("completed", "failed", "cancelled")):
        operation = accepted(order_id)
        Operation.objects.filter(pk=operation.pk).update(status=status, due_at=None)
    assert operations.mend(timezone.now()) == 0
    assert not Operation.objects.exclude(due_at=None).exists()
