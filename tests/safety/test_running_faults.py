"""Between every two steps of the write order something breaks; afterwards all ends as the protocol says (1.5)."""

from __future__ import annotations

import pytest
import rq
from django.db import OperationalError

from jobs.models import Attempt, Effect, Operation
from jobs.safety import Absent, Found
from jobs.safety.errors import RefusedDelivery
from tests.safety import work
from tests.safety.in_hand import database_to_lose, deliver, harm_at, in_hand, take_over

pytestmark = pytest.mark.django_db

BEFORE_CALL: dict[str, int | None] = {"repeatable": 1, "keyed": 1, "checkable": 1, "unsafe": 1}
IN_DOUBT: dict[str, int | None] = {"repeatable": 2, "keyed": 2, "checkable": 1, "unsafe": None}
"""How often the call is made in the end; None: a person is asked (C7, C8)."""
TABLE: dict[str, dict[str, int | None]] = {
    "before_claim": BEFORE_CALL,
    "after_claim": BEFORE_CALL,
    "after_intent": {"repeatable": 1, "keyed": 1, "checkable": 1, "unsafe": None},
    "after_call": IN_DOUBT,
    "after_complete": BEFORE_CALL,
    "before_finish": BEFORE_CALL,
    "after_finish": BEFORE_CALL,
}
OUTSIDE = ("before_claim", "after_claim", "after_finish")
"""Here no attempt runs that could be told of as failed."""
CASES = [(place, kind, calls) for place, row in TABLE.items() for kind, calls in row.items()]


@pytest.fixture(autouse=True)
def truthful_probe():
    work.BEHAVIOUR["probe"] = lambda _handle: Found("id-checkable-5") if work.CALLS else Absent()


def raising() -> None:
    raise ValueError("a bug")


def asked_to_end():
    raise SystemExit(1)


def settled(kind: str, calls: int | None) -> None:
    """The operation has ended as the table says."""
    operation = Operation.objects.get()
    if calls is None:
        assert (operation.status, operation.reviews.filter(closed_at=None).count()) == ("unknown", 1)
        assert len(work.CALLS) <= 1
        return
    assert (operation.status, len(work.CALLS)) == ("completed", calls)
    assert Effect.objects.get().status == "completed"
    assert not Attempt.objects.filter(outcome="").exists()


def until_settled(kind: str) -> None:
    """The observer sees that the process is gone, and the job is delivered until nothing is left to do."""
    take_over()
    deliver_until_settled(kind)


def deliver_until_settled(kind: str) -> None:
    for _delivery in range(2):
        try:
            deliver(work.act, kind, 5)
        except RefusedDelivery:
            # RQ files it as failed: a person is asked.
            return


@pytest.mark.parametrize("harm", [raising, asked_to_end], ids=["an exception", "an exit"])
@pytest.mark.parametrize(("place", "kind", "calls"), CASES)
def test_an_error_between_any_two_steps(place, kind, calls, harm):
    with harm_at(place, harm), in_hand():
        try:
            work.act(kind, 5)
        except (ValueError, SystemExit) as error:
            # It is told to RQ where it ends the operation, or the ledger was not asked.
            assert calls is None or isinstance(error, SystemExit) or place in OUTSIDE
    until_settled(kind)
    settled(kind, calls)


@pytest.mark.parametrize(("place", "kind", "calls"), CASES)
def test_the_database_is_lost_between_any_two_steps_and_the_process_with_it(place, kind, calls):
    with database_to_lose() as lose, harm_at(place, lose), in_hand(), pytest.raises(OperationalError):
        work.act(kind, 5)
    until_settled(kind)
    settled(kind, calls)


@pytest.mark.parametrize(
    ("place", "kind", "calls"), [case for case in CASES if case[0] in ("after_claim", "after_call")]
)
def test_nobody_notices_the_death_but_the_next_delivery_once_the_lease_is_over(place, kind, calls):
    with database_to_lose() as lose, harm_at(place, lose), in_hand(), pytest.raises(OperationalError):
        work.act(kind, 5)
    Operation.objects.update(lease_until=Operation.objects.get().created_at)
    deliver_until_settled(kind)
    settled(kind, calls)


@pytest.mark.parametrize("place", ["before_probe", "after_probe"])
@pytest.mark.parametrize("has_happened", [True, False])
def test_a_check_that_is_cut_short_is_made_again(place, has_happened):
    died = "after_call" if has_happened else "after_intent"
    for point in (died, place):
        with database_to_lose() as lose, harm_at(point, lose), pytest.raises(OperationalError):
            take_over()
            deliver(work.act, "checkable", 5)
    until_settled("checkable")
    settled("checkable", 1)


def test_what_the_ledger_could_not_be_told_is_told_to_rq():
    with database_to_lose() as lose, in_hand(), pytest.raises(ValueError, match="a bug"):
        work.BEHAVIOUR["keyed-5"] = lambda _handle: raise_without_database(lose)
        work.act("keyed", 5)
    assert Attempt.objects.get().outcome == ""


def raise_without_database(lose) -> None:
    with pytest.raises(OperationalError):
        lose()
    raising()


def test_an_error_that_passes_is_told_to_rq_as_a_retry():
    with harm_at("after_intent", raising), in_hand():
        assert isinstance(work.act("keyed", 5), rq.Retry)
