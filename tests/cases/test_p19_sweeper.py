"""P19: the observer, as the sweeper of exports, starts nothing that is still going on, and what is lost once."""

from __future__ import annotations

import logging
from datetime import timedelta
from threading import Barrier, Thread

import pytest
from django.core import mail
from django.db import connection
from django.utils import timezone
from rq import SimpleWorker

from exports.files import path_of
from exports.requesting import request_export
from exports.states import ExportState, looking_into_it, reason_of, state_of
from jobs.models import Operation
from jobs.observer import operations
from tests.exports.processes import a_site, queues_of, submitting_to
from tests.exports.shop import a_person, outcomes, read, stock
from tests.support import database
from tests.support.operations import due
from tests.support.real_rq import wait_until

pytestmark = pytest.mark.django_db(transaction=True)
ORDERS = 3000
SECONDS = 60
NOBODY = "redis://127.0.0.1:1/0"


@pytest.fixture(autouse=True)
def _folder(settings, tmp_path):
    settings.OPSBOARD_EXPORTS_DIR = tmp_path / "exports"


@pytest.fixture
def accepted(redis_client):
    """accepted(count): exports that were accepted while the job store was away, and by now should have begun."""

    def accept(count):
        with submitting_to(NOBODY):
            found = [request_export(a_person(f"clara-{number}"), "2025", "").export.pk for number in range(count)]
        for export_id in found:
            due(read(export_id).operation)
        return found

    return accept


@pytest.fixture
def run_jobs(redis_client, valkey):
    def run():
        with submitting_to(valkey.url):
            SimpleWorker(["mail", "exports"], connection=redis_client).work(burst=True)

    return run


def causes(operation):
    return [one.cause for one in operation.deliveries.order_by("at")]


def look():
    return operations.deliver("default", timezone.now())


def look_at_the_same_moment(monkeypatch):
    """Two observers look, and act only when both have looked."""
    both_have_looked, find = Barrier(2), operations.find_jobs
    monkeypatch.setattr(
        operations, "find_jobs", lambda *about, **more: (find(*about, **more), both_have_looked.wait(SECONDS))[0]
    )

    def observe():
        look()
        connection.close()

    threads = [Thread(target=observe) for _observer in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_p19_a_slow_export_and_one_that_waits_for_a_worker_are_left_alone(tmp_path):
    stock(ORDERS)
    with a_site(tmp_path / "site", database.url(), OPSBOARD_EXPORTS_ROWS_PER_SECOND="800") as site:
        with queues_of(site):
            slow, waiting = (request_export(a_person(name), "2025", "").export.pk for name in ("clara", "paul"))
        observers = [site.observer(), site.observer()]
        site.worker()
        wait_until(lambda: outcomes(read(slow).operation) == [""], "the first begins", SECONDS)
        first_due = read(waiting).operation.due_at
        # Four times as long as an operation may be on its way without being looked at.
        wait_until(lambda: read(slow).operation.status == "completed", "the first is made", SECONDS)
        assert read(waiting).operation.due_at > first_due
        wait_until(lambda: mailed(site, slow) and mailed(site, waiting), "both are made", SECONDS)
        said = "".join(one.said.read_text() for one in observers)
        for export in (read(slow), read(waiting)):
            for operation in (export.operation, export.mail_operation):
                assert (causes(operation), outcomes(operation)) == (["submit"], ["completed"])
                assert operation.operation_id not in said
            assert site.mails_about(export.pk) == 1
        assert site.names() == sorted(f"export-{pk}.csv" for pk in (slow, waiting))
        assert "another observer leads" in said


def mailed(site, export_id):
    operation = read(export_id).mail_operation
    return operation is not None and operation.status == "completed"


def test_p19_of_two_observers_that_see_a_record_without_a_job_one_queues_it(
    accepted, redis_client, run_jobs, caplog, monkeypatch
):
    stock(10)
    exports = accepted(6)
    with caplog.at_level(logging.INFO, "opsboard.observer"):
        look_at_the_same_moment(monkeypatch)
    assert redis_client.llen("rq:queue:exports") == len(exports)
    said = [record.getMessage() for record in caplog.records if record.name == "opsboard.observer"]
    assert sorted(said) == sorted(f"export:{pk} was queued again: its job was nowhere" for pk in exports)

    run_jobs()
    for export in map(read, exports):
        assert (causes(export.operation), outcomes(export.operation)) == (["never_queued"], ["completed"])
        assert outcomes(export.mail_operation) == ["completed"]
        assert path_of(export.pk).stat().st_size == export.size
    assert len(mail.outbox) == len(exports)


def test_p19_one_look_takes_up_so_many_and_those_first_that_have_waited_longest(accepted, redis_client, monkeypatch):
    exports = accepted(4)
    monkeypatch.setattr(operations, "AT_ONCE", 2)
    for later, export_id in enumerate(reversed(exports)):
        Operation.objects.filter(entity=str(export_id)).update(due_at=timezone.now() - timedelta(seconds=100 - later))
    assert look() == 2
    assert [causes(read(pk).operation) for pk in exports] == [[], [], ["never_queued"], ["never_queued"]]


def test_p19_a_job_that_failed_before_it_began_makes_a_failed_record_and_is_not_repeated_for_ever(
    accepted, redis_client, run_jobs, monkeypatch, caplog
):
    (export_id,) = accepted(1)

    def break_before_claim(point):
        if point == "before_claim":
            raise OSError("a broken release")

    monkeypatch.setattr("jobs.safety.running.point", break_before_claim)
    with caplog.at_level(logging.INFO, "opsboard.observer"):
        for _pass in range(10):
            look()
            run_jobs()
            if read(export_id).operation.due_at:
                due(read(export_id).operation)
    export = read(export_id)
    assert export.operation.status == "failed"
    assert causes(export.operation) == ["never_queued", "lost", "lost"]
    assert (state_of(export, timezone.now()), reason_of(export)) == (ExportState.FAILED, looking_into_it())
    said = [record.getMessage() for record in caplog.records if record.name == "opsboard.observer"]
    assert said == [
        f"export:{export_id} was queued again: its job was nowhere",
        *[f"export:{export_id} was queued again: its job was ended"] * 2,
        f"export:{export_id} is failed ({export.operation.reason_code}): its job was ended",
    ]
