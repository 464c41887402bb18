"""Submitting: the operation is there with the business data or not at all, and queued once, whatever Redis does."""

from __future__ import annotations

import pytest
from django.db import DatabaseError, InterfaceError, transaction

from jobs.broker import deliveries
from jobs.broker.errors import BrokerUnavailable
from jobs.models import Operation, OperationEvent
from jobs.safety import ArgumentsDiffer, MisuseError
from jobs.safety import operation as operation_of
from tests.safety import work
from tests.safety.in_hand import database_to_lose, harm_at, in_hand

pytestmark = pytest.mark.django_db(transaction=True)


def other_touch(order_id: int) -> str:
    """Another function whose ids come out as those of `touch`."""
    return f"other-{order_id}"


def states():
    return list(Operation.objects.values_list("status", flat=True))


def test_nothing_is_queued_before_the_commit(declared, queue):
    with transaction.atomic():
        operation = declared["touch"].submit(5)
        assert (operation.status, queue.count) == ("accepted", 0)
    assert (states(), queue.job_ids) == (["queued"], [operation.job_id])


def refused_after_submitting(job):
    with pytest.raises(ValueError, match="refused"), transaction.atomic():
        job.submit(5)
        raise ValueError("refused")


def test_what_was_taken_back_is_neither_on_record_nor_queued(declared, queue):
    refused_after_submitting(declared["touch"])
    assert (states(), queue.count) == ([], 0)


def test_nor_is_what_was_taken_back_as_a_part_of_what_was_committed(declared, queue):
    with transaction.atomic():
        refused_after_submitting(declared["touch"])
        declared["act"].submit("keyed", 5)
    assert (states(), queue.count) == (["queued"], 1)


def test_with_redis_down_it_is_accepted_and_its_request_hears_of_nothing(declared, monkeypatch):
    def unreachable(*_args, **_options):
        raise BrokerUnavailable("default", "ConnectionError")

    monkeypatch.setattr(deliveries, "push", unreachable)
    operation = declared["touch"].submit(5)
    assert (states(), operation.due_at is not None) == (["accepted"], True)


@pytest.mark.parametrize("kind", [DatabaseError, InterfaceError])
def test_with_the_database_gone_after_the_push_the_request_hears_of_nothing_either(declared, queue, monkeypatch, kind):
    def gone(*_args):
        raise kind("gone")

    monkeypatch.setattr("jobs.ledger.adoption.mark_queued", gone)
    declared["touch"].submit(5)
    assert (states(), queue.count) == (["accepted"], 1)


@pytest.mark.parametrize(("place", "queued"), [("before_push", 0), ("after_push", 1)])
def test_a_process_that_ends_around_the_push_leaves_an_operation_that_somebody_looks_after(
    declared, queue, place, queued
):
    with database_to_lose() as lose, harm_at(place, lose), pytest.raises(DatabaseError):
        declared["touch"].submit(5)
    assert (states(), queue.count, Operation.objects.get().due_at is not None) == (["accepted"], queued, True)


def test_a_second_submit_gets_the_same_and_queues_nothing(declared, queue):
    first = declared["touch"].submit(5)
    assert (declared["touch"].submit(5), queue.count) == (first, 1)
    assert OperationEvent.objects.get().code == "double_submit"


def test_the_same_id_for_another_call_or_another_function_is_refused(declared, queue):
    declared["touch"].submit(5)
    Operation.objects.update(args={"order_id": 6}, args_fingerprint="another")
    with pytest.raises(ArgumentsDiffer):
        declared["touch"].submit(5)
    Operation.objects.update(job_type="shop.other")
    with pytest.raises(ArgumentsDiffer, match=r"shop\.other"):
        declared["touch"].submit(5)
    assert (queue.count, OperationEvent.objects.count()) == (1, 0)


def test_a_job_runs_as_the_operation_it_was_submitted_for_though_a_release_makes_other_ids(declared):
    operation = declared["touch"].submit(5)
    job = operation_of("new:{order_id}")(work.touch.function)
    with in_hand(operation_id=operation.operation_id, job_id=operation.job_id):
        job(5)
    assert states() == ["completed"]


def test_a_function_without_a_queue_is_not_submitted():
    with pytest.raises(MisuseError, match="has no queue"):
        operation_of("other:{order_id}")(other_touch).submit(5)


def test_submitting_leaves_the_connections_of_the_request_alone(declared):
    with transaction.atomic():
        before = transaction.get_connection().connection
        declared["touch"].submit(5)
        assert transaction.get_connection().connection is before
