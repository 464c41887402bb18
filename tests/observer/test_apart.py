"""One job or review that nobody foresaw holds up no other, and is not forgotten over it."""

from __future__ import annotations

import logging

import pytest
from django.db import DataError, OperationalError
from django.utils import timezone

from jobs.broker.connections import get
from jobs.models import Review
from jobs.observer import failures, reviews, unknown
from jobs.observer.trouble import apart
from tests.observer.rows import ids, row
from tests.support.observer import sweep_through
from tests.support.runs import ago, began_at, begin, file_as_abandoned, succeed

pytestmark = [pytest.mark.django_db, pytest.mark.parametrize("rq_version", ["3.0"])]
FLAWS = [RuntimeError("card 4711"), DataError("card 4711")]


def flawed_for(monkeypatch, place, name, meant, flaw):
    """Let `place.name` fail whenever it is about the job `flawed`; returns what mends it."""
    real = getattr(place, name)

    def failing(*asked, **named):
        if meant(*asked):
            raise flaw
        return real(*asked, **named)

    monkeypatch.setattr(place, name, failing)
    return lambda: monkeypatch.setattr(place, name, real)


def reviewed():
    return set(Review.objects.values_list("operation__job_id", flat=True))


@pytest.fixture
def abandoned(real_rq, redis_client):
    for job_id in ("flawed", "good-1", "good-2"):
        begin(real_rq, redis_client, job_id, lease=-1)
        file_as_abandoned(redis_client, job_id)


@pytest.mark.parametrize("flaw", FLAWS, ids=["unforeseen", "refused"])
def test_a_filed_run_that_cannot_be_asked_about_is_indexed_and_asked_about_by_a_later_sweep(
    abandoned, monkeypatch, caplog, flaw
):
    mend = flawed_for(monkeypatch, unknown, "open_for", lambda detail, *_: detail.job.job_id == "flawed", flaw)
    sweep_through("default", timezone.now())
    assert reviewed() == {"good-1", "good-2"} and ids() == ["flawed", "good-1", "good-2"]
    (said,) = [one.getMessage() for one in caplog.records if one.levelno == logging.ERROR]
    assert said.startswith(
        f"an unexpected error keeps a failed job of default from being asked about: {type(flaw).__name__}"
    )
    assert "test_apart.py" in said and "4711" not in said
    mend()
    assert sweep_through("default", timezone.now()) == 1
    assert reviewed() == {"flawed", "good-1", "good-2"}


def test_a_failure_that_the_database_refuses_has_a_row_that_says_so_and_the_others_have_theirs(abandoned, monkeypatch):
    real = failures.note_failures

    def refusing(readings, now):
        found = list(readings)
        if any(one.row.job_id == "flawed" and not one.row.note for one in found):
            raise DataError("card 4711")
        real(found, now)

    monkeypatch.setattr(failures, "note_failures", refusing)
    sweep_through("default", timezone.now())
    assert ids() == ["flawed", "good-1", "good-2"]
    assert row("flawed").note.startswith("It can’t be read: an unexpected error (DataError") and not row("good-1").note


@pytest.mark.parametrize("flaw", FLAWS, ids=["unforeseen", "refused"])
def test_a_lost_run_that_cannot_be_asked_about_is_looked_into_again(real_rq, redis_client, monkeypatch, flaw):
    for job_id in ("flawed", "good"):
        begin(real_rq, redis_client, job_id, lease=-1)
    memory = unknown.Memory(get("default"))
    mend = flawed_for(monkeypatch, unknown, "open_for", lambda detail, *_: detail.job.job_id == "flawed", flaw)
    assert unknown.look("default", timezone.now(), memory) == 1
    assert reviewed() == {"good"}
    mend()
    assert unknown.look("default", timezone.now(), memory) == 1


def test_a_lost_run_that_cannot_be_judged_keeps_no_other_from_being_asked_about(real_rq, redis_client, monkeypatch):
    for job_id in ("flawed", "good"):
        begin(real_rq, redis_client, job_id, lease=-1)
    flawed_for(monkeypatch, unknown, "case_of", lambda detail, *_: detail.job.job_id == "flawed", FLAWS[0])
    unknown.look("default", timezone.now())
    assert reviewed() == {"good"}


@pytest.mark.parametrize("flaw", FLAWS, ids=["unforeseen", "refused"])
def test_a_review_that_cannot_be_followed_neither_keeps_others_open_nor_comes_first_for_ever(
    real_rq, redis_client, monkeypatch, flaw
):
    monkeypatch.setattr(reviews, "AT_ONCE", 2)
    for job_id in ("flawed", "good-1", "good-2", "good-3"):
        begin(real_rq, redis_client, job_id, lease=-1)
    unknown.look("default", timezone.now())
    for job_id in ("good-1", "good-2", "good-3"):
        succeed(redis_client, job_id, began=began_at(redis_client, job_id))
    Review.objects.filter(operation__job_id="flawed").update(look_due_at=ago(600))
    flawed_for(monkeypatch, reviews, "success_of", lambda detail, _run: detail.job.job_id == "flawed", flaw)
    for _twice in range(2):
        reviews.follow(timezone.now())
    assert Review.objects.get(closed_at=None).operation.job_id == "flawed"


def test_trouble_of_the_database_is_no_single_jobs(rq_version):
    tried = []

    def do(some):
        tried.append(list(some))
        raise OperationalError("database is locked")

    with pytest.raises(OperationalError):
        apart(do, ["a", "b"], lambda item, error: item)
    assert tried == [["a", "b"]]


def test_each_review_has_a_transaction_of_its_own_so_that_no_two_writers_wait_in_a_circle(
    real_rq, redis_client, monkeypatch
):
    for job_id in ("first", "flawed"):
        begin(real_rq, redis_client, job_id, lease=-1)
    unknown.look("default", timezone.now())
    for job_id in ("first", "flawed"):
        succeed(redis_client, job_id, began=began_at(redis_client, job_id))
    Review.objects.filter(operation__job_id="first").update(look_due_at=ago(600))
    flaw = OperationalError("database is locked")
    flawed_for(monkeypatch, reviews, "success_of", lambda detail, _run: detail.job.job_id == "flawed", flaw)
    with pytest.raises(OperationalError):
        reviews.follow(timezone.now())
    assert Review.objects.get(closed_at=None).operation.job_id == "flawed"
