"""Whether a job is told that this is its last attempt exactly when none follows by itself."""

from __future__ import annotations

import pytest
from django.db import DatabaseError, transaction
from django.utils import timezone
from rq import get_current_job

from jobs.models import Operation
from jobs.safety import MisuseError, StopRequested, attempt, is_last_attempt, should_stop
from tests.safety import work
from tests.safety.in_hand import deliver, take_over

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def said():
    """What each attempt was told, in their order."""
    return []


@pytest.fixture
def failing(declared, said):
    """The job that asks and then fails, three times at most by itself."""

    def fail(_order):
        said.append(is_last_attempt())
        raise OSError("no answer")

    work.BEHAVIOUR["touch"] = fail
    return declared["touch"]


def status():
    return Operation.objects.get().status


def test_of_three_attempts_it_is_the_third(failing, run_all, said):
    failing.submit(5)
    run_all()
    assert (said, status()) == ([False, False, True], "failed")


def test_of_one_attempt_it_is_the_first(failing, run_all, said):
    failing.submit(5)
    Operation.objects.update(max_attempts=1)
    run_all()
    assert (said, status()) == ([True], "failed")


def test_after_somebody_had_it_run_again_it_is_the_last_of_those_that_he_allowed(failing, said):
    """Such a retry allows one more, or what was left."""
    failing.submit(5)
    for used, most in ((3, 4), (1, 3)):
        Operation.objects.update(status="queued", attempts_used=used, max_attempts=most, last_error="")
        try:
            deliver(work.touch, 5, operation_id="plain:5")
        except OSError:
            assert status() == "failed"
    assert said == [True, False]


@pytest.mark.parametrize("lost", [1, 2])
def test_an_attempt_that_fails_after_others_died_is_counted_as_any_other(failing, said, lost):
    """Three deaths end it (`max_lost`), but an error is none: what counts is how many attempts are left."""
    work.BEHAVIOUR["touch"], fail = lambda _order: take_over(), work.BEHAVIOUR["touch"]
    failing.submit(5)
    for _death in range(lost):
        deliver(work.touch, 5, operation_id="plain:5")
    work.BEHAVIOUR["touch"] = fail
    if lost == 2:
        with pytest.raises(OSError, match="no answer"):
            deliver(work.touch, 5, operation_id="plain:5")
    else:
        deliver(work.touch, 5, operation_id="plain:5")
    assert (said, status()) == [([False], "retry_wait"), ([True], "failed")][lost - 1]


def test_one_that_ends_early_since_its_worker_is_to_stop_is_not_counted(declared, run_all, redis_client, said):
    def end_early(_order):
        name = get_current_job().worker_name
        said.append(is_last_attempt())
        if len(said) == 1:
            redis_client.hset(f"rq:worker:{name}", "shutdown_requested_date", "now")
            assert should_stop()
            raise StopRequested
        redis_client.hdel(f"rq:worker:{name}", "shutdown_requested_date")
        raise OSError("no answer")

    work.BEHAVIOUR["touch"] = end_early
    declared["touch"].submit(5)
    Operation.objects.update(max_attempts=2)
    run_all()
    assert (said, status()) == ([False, False, True], "failed")


@pytest.mark.parametrize(
    ("kind", "expected", "end"),
    [("unsafe", True, "unknown"), ("checkable", False, "retry_wait"), ("repeatable", False, "retry_wait")],
)
@pytest.mark.parametrize("attempts", [1, 3], ids=["the last", "not the last"])
def test_with_a_call_in_doubt_it_is_what_the_table_makes_of_it(declared, said, kind, expected, end, attempts):
    """Unsafe: a person is asked, however many attempts are left. Checkable: the other side is, though none is left."""

    def fail(_handle):
        said.append(is_last_attempt())
        raise OSError("no answer")

    work.BEHAVIOUR[f"{kind}-5"] = fail
    declared["act"].submit(kind, 5)
    Operation.objects.update(max_attempts=attempts)
    ends_here = expected or (kind == "repeatable" and attempts == 1)
    try:
        deliver(work.act, kind, 5, operation_id=f"act:{kind}:5")
    except OSError:
        assert ends_here
    assert said == [ends_here]
    assert status() == ("failed" if ends_here and not expected else end)


def test_where_it_is_to_be_cancelled_and_nothing_has_left_nothing_follows(failing, said):
    fail = work.BEHAVIOUR["touch"]

    def wished_for_meanwhile(order):
        Operation.objects.update(cancel_requested_at=timezone.now())
        return fail(order)

    failing.submit(5)
    work.BEHAVIOUR["touch"] = wished_for_meanwhile
    with pytest.raises(OSError, match="no answer"):
        deliver(work.touch, 5, operation_id="plain:5")
    assert (said, status()) == ([True], "cancelled")


def test_one_that_was_taken_over_is_not_the_last(declared, run_all, said):
    def outlived(_order):
        if not said:
            take_over()
            said.append(is_last_attempt())

    work.BEHAVIOUR["touch"] = outlived
    declared["touch"].submit(5)
    Operation.objects.update(max_attempts=1)
    run_all()
    assert said == [False]


@pytest.mark.parametrize("used", [1, 3])
def test_without_a_database_it_is_told_what_was_so_at_the_claim_and_the_jobs_own_error_goes_on(
    failing, said, monkeypatch, used
):
    def gone(*_args):
        raise DatabaseError("gone")

    failing.submit(5)
    Operation.objects.update(attempts_used=used - 1)
    monkeypatch.setattr(attempt, "goes_on_after_failure", gone)
    try:
        deliver(work.touch, 5, operation_id="plain:5")
    except OSError:
        assert used == 3
    assert said == [used == 3]


def test_it_can_be_asked_where_a_transaction_has_failed(declared, said):
    def fail(_order):
        with transaction.atomic():
            try:
                Operation.objects.create(operation_id="plain:5", created_at=None)
            except DatabaseError:
                said.append(is_last_attempt())
                raise ValueError("its own") from None

    work.BEHAVIOUR["touch"] = fail
    declared["touch"].submit(5)
    deliver(work.touch, 5, operation_id="plain:5")
    assert (said, status()) == ([False], "retry_wait")


def test_asking_writes_nothing(failing, said, run_all):
    rows = []

    def look(_order):
        for _time in range(2):
            rows.append((Operation.objects.values().get(), list(Operation.objects.get().events.values())))
            is_last_attempt()

    work.BEHAVIOUR["touch"] = look
    failing.submit(5)
    run_all()
    assert rows[0] == rows[1]


def test_outside_a_job_there_is_no_attempt():
    with pytest.raises(MisuseError):
        is_last_attempt()
