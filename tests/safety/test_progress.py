"""How far a job says it is: for people only, so nothing that it says may fail the job, hold anybody up or cost much."""

from __future__ import annotations

import time

import pytest
from django.db import DatabaseError, connection, transaction
from django.test.utils import CaptureQueriesContext

from jobs.models import Operation
from jobs.safety import MisuseError, attempt, report_progress
from tests.safety import work
from tests.safety.in_hand import take_over

pytestmark = pytest.mark.django_db(transaction=True)
LARGEST = 2**63 - 1


@pytest.fixture
def run_body(declared, run_all):
    """Run this as the body of a job; how far its operation is on record to be afterwards."""

    def run(body):
        work.BEHAVIOUR["touch"] = lambda _order: body()
        declared["touch"].submit(5)
        run_all()
        return noted()

    return run


@pytest.fixture
def always_due(monkeypatch):
    monkeypatch.setattr(attempt, "REPORT_SECONDS", 0)


def noted():
    return Operation.objects.values_list("progress_done", "progress_total").get()


def ended():
    operation = Operation.objects.get()
    return operation.status, [one.error_class for one in operation.attempts.all()]


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ((12, 40), (12, 40)),
        ((12,), (12, None)),
        ((0, 0), (0, 0)),
        ((50, 40), (50, 40)),
        ((-3, 40), (0, 40)),
        ((3, -1), (3, 0)),
        ((2**63, 2**80), (LARGEST, LARGEST)),
        ((True, 2), (1, 2)),
    ],
)
def test_whatever_number_a_job_counts_is_kept_as_near_as_can_be_and_fails_nothing(run_body, said, kept):
    assert run_body(lambda: report_progress(*said)) == kept
    assert ended() == ("completed", [""])


@pytest.mark.parametrize("said", [(0.5,), ("12", 40), (12, "40"), (None,), (float("nan"), 1)])
def test_what_is_no_whole_number_is_told_to_who_wrote_it_at_the_first_run(run_body, said):
    def twice():
        report_progress(1, 40)
        # Also where nothing would be written yet.
        report_progress(*said)

    assert run_body(twice) == (1, 40)
    assert set(ended()[1]) == {"MisuseError"}


def test_outside_a_job_there_is_nothing_to_report():
    with pytest.raises(MisuseError):
        report_progress(1)


def updates(queries):
    return sum("progress_done" in one["sql"] for one in queries.captured_queries)


def test_however_often_it_is_said_one_write_a_second_is_all_and_one_more_that_all_is_done(run_body):
    counted = []

    def often():
        with CaptureQueriesContext(connection) as queries:
            began = time.monotonic()
            for number in range(501):
                report_progress(number, 500)
            for number in range(500):
                report_progress(number, number)
            seconds = time.monotonic() - began
        counted.append((updates(queries), 2 + seconds))

    assert run_body(often) == (500, 500)
    assert counted[0][0] <= counted[0][1]


def test_within_a_transaction_nothing_is_written_and_the_first_word_after_it_is(run_body):
    seen = []

    def enclosed():
        with transaction.atomic():
            report_progress(1, 40)
            seen.append(noted())
            # The transaction is as good as it was.
            Operation.objects.update(entity="touched")
        report_progress(2, 40)

    assert (run_body(enclosed), seen) == ((2, 40), [(None, None)])
    assert ended() == ("completed", [""])


def test_where_a_broken_transaction_is_still_open_the_job_fails_by_its_own_error_alone(run_body):
    def broken():
        with transaction.atomic():
            try:
                Operation.objects.create(operation_id="plain:5", created_at=None)
            except DatabaseError:
                report_progress(1, 40)
                raise ValueError("its own") from None

    run_body(broken)
    assert set(ended()[1]) == {"ValueError"}


def test_a_database_that_takes_no_number_fails_nothing(run_body, monkeypatch):
    def gone(*_args):
        raise DatabaseError("gone")

    monkeypatch.setattr(attempt, "note_progress", gone)
    run_body(lambda: report_progress(1, 40))
    assert ended() == ("completed", [""])


def test_an_attempt_that_was_taken_over_changes_nothing(run_body, always_due):
    def outlived():
        report_progress(1, 40)
        take_over()
        Operation.objects.update(status="running", current_attempt="00000000-0000-4000-8000-000000000009")
        report_progress(2, 40)

    assert run_body(outlived) == (1, 40)


def test_each_attempt_begins_anew(run_body):
    seen = []

    def fail_once():
        seen.append(noted())
        report_progress(30, 40)
        if len(seen) == 1:
            raise OSError("once")

    assert run_body(fail_once) == (30, 40)
    assert seen == [(None, None), (None, None)]


def test_it_counts_as_no_change_of_the_operation(run_body, always_due):
    """What a page has seen is still what is there: an act on it is not refused for that."""
    versions = []

    def look():
        for number in (1, 2):
            versions.append(Operation.objects.get().version)
            report_progress(number, 40)
        versions.append(Operation.objects.get().version)

    run_body(look)
    assert len(set(versions)) == 1
