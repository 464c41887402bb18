"""What job code sees of its effects, run by hand in this process."""

from __future__ import annotations

import math
import threading
from contextlib import nullcontext

import pytest
import rq
from django.db import transaction

from jobs.ledger.effects import record_within
from jobs.models import Attempt, Effect, Operation
from jobs.safety import (
    Absent,
    CancelledByOperator,
    Checkable,
    Found,
    Keyed,
    LeaseLost,
    MisuseError,
    NotPerformed,
    PermanentError,
    StopRequested,
    Unsafe,
    atomic_effect,
    effect,
    hours,
    once,
    seconds,
)
from jobs.safety.errors import RefusedDelivery
from tests.safety import work
from tests.safety.in_hand import deliver, take_over

pytestmark = pytest.mark.django_db
DONE: list[str] = []
"""What job code of these tests has done."""


def run(body, **changes):
    """The job `touch` with this body; what RQ would be given back."""
    work.BEHAVIOUR["touch"] = lambda _order: body()
    return deliver(work.touch, 5, **changes)


@pytest.fixture(autouse=True)
def nothing_done():
    DONE.clear()


def fails():
    """A call of which nobody knows whether it did anything."""
    DONE.append("fails")
    raise OSError("no answer")


def state():
    operation = Operation.objects.get()
    return operation.status, operation.reason_code


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("no message")


# What is given back ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("result", [None, "ch_1", 42, {"id": "ch_1"}, ["a", None]], ids=repr)
def test_a_later_attempt_gets_what_the_call_returned(result):
    seen = []

    def body():
        seen.append(once("act", lambda: result, safety=Unsafe()))
        if len(seen) == 1:
            raise OSError("later")

    assert isinstance(run(body), rq.Retry)
    run(body)
    assert (seen, state()[0]) == ([result, result], "completed")


@pytest.mark.parametrize("result", [math.nan, math.inf, object(), {1, 2}, "a\0b", ["\ud800"], "x" * 20_000], ids=type)
def test_what_no_database_keeps_does_not_make_the_call_undone(result):
    body = lambda: once("act", lambda: DONE.append("x") or result, safety=Unsafe())  # noqa: E731 - it is the job
    assert isinstance(run(body), rq.Retry)
    assert Attempt.objects.get().error_class == "MisuseError"
    run(body)
    assert (DONE, Effect.objects.get().result, state()[0]) == (["x"], None, "completed")


def test_what_only_the_other_side_knew_is_given_back_as_it_is_known_there():
    safety = Checkable(lambda _handle: Found("ch_7"), settles_in=seconds(0))
    seen = []
    run(lambda: once("act", fails, safety=safety))
    run(lambda: seen.append(once("act", fails, safety=safety)))
    assert (seen, state()[0]) == (["ch_7"], "completed")


# The explicit form ----------------------------------------------------------------------------------------------------


def explicit(safety):
    one = effect("act", safety)
    if one.completed:
        return one.external_id
    one.begin()
    DONE.append(one.key)
    one.complete(external_id="ch_1")
    return one.external_id


def test_the_explicit_form_does_the_same():
    assert run(lambda: explicit(Keyed(hours(1)))) == "ch_1"
    assert (len(DONE), state()[0]) == (1, "completed")


@pytest.mark.parametrize(("answer", "calls"), [(Found("ch_7"), 1), (Absent(), 2)], ids=["found", "absent"])
def test_the_explicit_form_asks_about_what_was_left_open_before_it_says_whether_it_happened(answer, calls):
    safety = Checkable(lambda _handle: answer, settles_in=seconds(0))
    run(lambda: once("act", fails, safety=safety))
    run(lambda: explicit(safety))
    assert (len(DONE), state()[0]) == (calls, "completed")


# Errors in the call ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [NotPerformed, PermanentError])
def test_what_provably_did_not_happen_is_released_even_if_the_error_has_no_message(kind):
    def call():
        raise type("Silent", (Unprintable, kind), {})

    with pytest.raises(kind) if kind is PermanentError else nullcontext():
        run(lambda: once("act", call, safety=Unsafe()))
    assert Effect.objects.get().status == "released"


def test_an_error_whose_message_can_not_be_read_ends_the_attempt_like_any_other():
    def body():
        raise Unprintable

    assert isinstance(run(body), rq.Retry)
    assert (Attempt.objects.get().error_line, state()[0]) == ("its message can't be read", "retry_wait")


def test_another_request_under_the_same_key_is_asked_about_at_once():
    safety = Keyed(hours(1))
    run(lambda: once("act", fails, safety=safety, request={"amount": 1}))
    with pytest.raises(RefusedDelivery):
        run(lambda: once("act", fails, safety=safety, request={"amount": 2}))
    assert (state(), len(DONE)) == (("unknown", "key_request_changed"), 1)


def test_a_job_that_swallows_the_layers_own_refusal_does_not_get_past_it():
    def body():
        try:
            once("act", fails, safety=Unsafe())
        except Exception:
            once("act", fails, safety=Unsafe())

    with pytest.raises(RefusedDelivery):
        run(body)
    assert (state()[0], len(DONE)) == ("unknown", 1)


# Where it can be used -------------------------------------------------------------------------------------------------


def test_outside_a_job_and_in_another_thread_there_is_no_effect():
    errors = []

    def elsewhere():
        try:
            once("act", lambda: None, safety=Unsafe())
        except MisuseError as error:
            errors.append(error)

    def body():
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()

    elsewhere()
    run(body)
    assert (len(errors), Effect.objects.exists()) == (2, False)


def test_no_effect_without_a_word_on_what_a_repeat_does():
    assert isinstance(run(lambda: once("act", lambda: None, safety=None)), rq.Retry)
    assert Attempt.objects.get().error_class == "MisuseError"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kind", ["unsafe", "checkable"])
def test_an_effect_within_a_transaction_is_not_called_nor_asked_about(kind):
    work.BEHAVIOUR["probe"] = lambda _handle: Absent()
    if kind == "checkable":
        run(lambda: once("act", fails, safety=work.SAFETIES[kind]))

    def body():
        with transaction.atomic():
            once("act", lambda: DONE.append("called"), safety=work.SAFETIES[kind])

    run(body)
    assert "called" not in DONE
    assert Attempt.objects.order_by("fence").last().error_class == "MisuseError"


# Work in our own database ---------------------------------------------------------------------------------------------


def close(fails=False, name="close"):
    with atomic_effect(name) as done:
        if not done.completed:
            DONE.append("closed")
            Operation.objects.update(entity="closed")
            done.result = 7
        if fails:
            raise OSError("later")
    return done.result


def test_work_in_the_database_is_done_together_with_the_fact_that_it_was():
    run(lambda: close(fails=True))
    assert (Effect.objects.exists(), Operation.objects.get().entity) == (False, "5")
    run(lambda: [close(), fails()])
    assert run(close) == 7
    assert (DONE, Operation.objects.get().entity) == (["closed", "closed", "fails"], "closed")


def test_an_attempt_that_was_taken_over_changes_nothing_in_the_database():
    def body():
        take_over()
        close()

    assert run(body) is None
    assert (DONE, Attempt.objects.get().outcome) == ([], "superseded")


def test_a_name_that_is_an_effect_outside_is_no_name_for_work_in_the_database():
    run(lambda: once("close", fails, safety=Keyed(hours(1))))
    run(close)
    assert (Attempt.objects.order_by("fence").last().error_class, "closed" in DONE) == ("MisuseError", False)


# Cancelling and stopping ----------------------------------------------------------------------------------------------


FIRST = [lambda: close(), lambda: once("act", fails, safety=Unsafe())]


def wish():
    Operation.objects.update(cancel_requested_at=Operation.objects.get().created_at)


@pytest.mark.parametrize(
    "first", [lambda: close(), lambda: once("act", lambda: 1, safety=Unsafe())], ids=["ours", "out"]
)
def test_a_wish_to_cancel_is_granted_before_the_first_effect_and_rq_is_told_of_no_failure(first):
    assert run(lambda: [wish(), first()]) is None
    assert (state()[0], DONE, Attempt.objects.get().outcome) == ("cancelled", [], "cancelled")


def test_job_code_can_not_call_cancelled_what_has_happened():
    def body():
        once("act", lambda: DONE.append("x"), safety=Unsafe())
        raise CancelledByOperator

    assert isinstance(run(body), rq.Retry)
    assert state()[0] == "retry_wait"


def test_who_stops_because_it_is_to_be_cancelled_has_not_failed():
    def body():
        wish()
        raise StopRequested

    assert run(body) is None
    assert state()[0] == "cancelled"


def test_a_lease_that_was_lost_is_not_reported_as_this_jobs_failure():
    def body():
        take_over()
        raise LeaseLost

    assert run(body) is None
    assert state() == ("retry_wait", "nothing_begun")


def test_a_name_used_twice_for_work_in_the_database_at_once_is_refused_by_the_database():
    run(close)
    operation = Operation.objects.get()
    with pytest.raises(Exception, match=r"(?i)unique|stays so"), transaction.atomic():
        record_within(operation, Attempt.objects.get(), "close", "", 8)
