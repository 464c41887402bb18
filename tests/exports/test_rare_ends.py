"""Ends that hardly ever happen: between two lines, with a right or a person gone meanwhile, under odd settings."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta

import pytest
from django.core import mail
from django.db import InterfaceError, OperationalError
from django.db.models import QuerySet
from django.utils import timezone

from exports import tasks
from exports.expiry import remove_left_overs
from exports.files import path_of
from exports.mail_states import MailState, mail_state
from exports.models import Export
from exports.requesting import request_export
from exports.states import ExportState, looking_into_it, reason_of, state_of
from jobs.ledger import attempts
from jobs.models import Operation
from jobs.safety import PermanentError
from tests.exports.laid import lay_mail, lay_ready
from tests.exports.shop import read

LONG_AGO = datetime(2025, 1, 1, tzinfo=UTC)
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def export(exporter, make_orders, queues) -> Export:
    """One that was asked for."""
    make_orders(3)
    return request_export(exporter, "2025", "").export


@pytest.fixture
def ended_without_a_mark(export, run_jobs, monkeypatch) -> Export:
    """Its last attempt has made it ready, and could not say so of itself."""
    complete = attempts.complete

    def interrupted(operation, attempt):
        if operation.pk == export.operation.pk:
            raise OperationalError("the connection was closed")
        return complete(operation, attempt)

    monkeypatch.setattr(attempts, "complete", interrupted)
    Operation.objects.filter(pk=export.operation.pk).update(attempts_used=4)
    run_jobs()
    ended = read(export.pk)
    assert ended.operation is not None and ended.operation.status == "failed"
    return ended


def test_what_was_made_ready_is_ready_though_its_last_attempt_has_failed(ended_without_a_mark):
    assert len(mail.outbox) == 1
    assert state_of(ended_without_a_mark, timezone.now()) is ExportState.READY
    assert state_of(ended_without_a_mark, ended_without_a_mark.expires_at) is ExportState.EXPIRED


def test_its_file_is_kept_until_its_time_is_over(ended_without_a_mark):
    later = ended_without_a_mark.expires_at + timedelta(minutes=1)
    assert remove_left_overs(later, 10).looked_at == 0
    assert path_of(ended_without_a_mark.pk).exists()


@pytest.mark.parametrize(
    ("status", "state"), [("running", "running"), ("retry_wait", "running"), ("queued", "accepted")]
)
def test_no_mail_says_ready_while_the_page_does_not(exporter, status, state, queues, run_jobs, monkeypatch):
    monkeypatch.setattr(tasks, "PATIENCE_SECONDS", 0.3)
    export = lay_ready(exporter)
    Operation.objects.filter(pk=export.operation.pk).update(status=status)
    told = tasks.mail_export.submit(export.pk)
    Export.objects.filter(pk=export.pk).update(mail_operation=told)
    run_jobs()
    waiting = read(export.pk)
    assert state_of(waiting, timezone.now()) == state
    assert (waiting.mail_operation.status, mail.outbox) == ("retry_wait", [])


def test_the_mail_waits_a_moment_for_the_end_of_the_attempt_that_has_submitted_it(
    exporter, queues, run_jobs, monkeypatch
):
    export = lay_ready(exporter)
    Operation.objects.filter(pk=export.operation.pk).update(status="running")

    def ends(_seconds: float) -> None:
        Operation.objects.filter(pk=export.operation.pk).update(status="completed")

    monkeypatch.setattr(tasks.time, "sleep", ends)
    tasks.mail_export.submit(export.pk)
    run_jobs()
    assert len(mail.outbox) == 1


@pytest.mark.parametrize("change", [{"is_active": False}, {"user_permissions": []}])
def test_no_mail_goes_to_who_may_not_have_the_file_any_more(export, exporter, run_jobs, change):
    if "is_active" in change:
        exporter.is_active = False
        exporter.save()
    else:
        exporter.user_permissions.clear()
    run_jobs()
    assert mail.outbox == []
    assert "may not have exports any more" in read(export.pk).mail_operation.reason_text
    assert mail_state(read(export.pk)) is MailState.FAILED


def test_a_mail_goes_out_whatever_time_other_calls_may_take(export, run_jobs, settings):
    settings.OPSBOARD_CALL_TIMEOUT_SECONDS = 3600
    run_jobs()
    assert len(mail.outbox) == 1


def test_an_export_whose_owner_is_removed_meanwhile_gets_no_mail(export, exporter, run_jobs, monkeypatch):
    write = tasks.write_file

    def written(*args):
        done = write(*args)
        exporter.delete()
        return done

    monkeypatch.setattr(tasks, "write_file", written)
    operation = export.operation
    run_jobs()
    operation.refresh_from_db()
    assert (operation.status, Operation.objects.count()) == ("failed", 1)
    assert "was removed meanwhile" in operation.reason_text


@pytest.mark.parametrize(
    ("used", "error", "is_written"),
    [(0, OSError(28, "disk full"), False), (4, OSError(28, "disk full"), True), (0, PermanentError("never"), True)],
    ids=["another follows", "the last", "for good"],
)
def test_the_attempt_after_which_none_follows_writes_the_reason_down(
    export, run_jobs, monkeypatch, used, error, is_written
):
    def failed(*args):
        raise error

    monkeypatch.setattr(tasks, "write_file", failed)
    Operation.objects.filter(pk=export.operation.pk).update(attempts_used=used)
    run_jobs()
    assert read(export.pk).reason == (looking_into_it() if is_written else "")


def test_a_reason_that_can_not_be_written_down_hides_no_error(exporter, run_jobs, monkeypatch):
    update = QuerySet.update

    def broken(rows, **columns):
        if set(columns) == {"reason"}:
            raise InterfaceError("the connection is closed")
        return update(rows, **columns)

    export = request_export(exporter, "2025-13", "").export
    monkeypatch.setattr(QuerySet, "update", broken)
    run_jobs()
    assert read(export.pk).operation.status == "failed"


@pytest.mark.parametrize("harm", [os.unlink, lambda path: os.truncate(path, 10)], ids=["gone", "cut off"])
def test_a_file_that_is_lost_before_it_is_ready_is_never_said_to_be(export, run_jobs, monkeypatch, harm):
    write = tasks.write_file

    def lost(*args):
        done = write(*args)
        harm(path_of(export.pk))
        return done

    monkeypatch.setattr(tasks, "write_file", lost)
    run_jobs()
    assert state_of(read(export.pk), timezone.now()) is ExportState.FAILED
    assert reason_of(read(export.pk)) == "Its file was lost before it was ready. Ask for the export again."
    assert (read(export.pk).mail_operation, mail.outbox) == (None, [])


@pytest.mark.parametrize(("columns", "is_said"), [({}, True), ({"expires_at": LONG_AGO}, False)])
def test_a_file_that_is_gone_is_not_said_to_be_ready_beside_its_mail(exporter, queues, sign_in, columns, is_said):
    export = lay_ready(exporter, **columns)
    lay_mail(export, "failed", "released")
    page = sign_in(exporter).get(f"/exports/{export.pk}/").content.decode()
    assert "could not be sent" in page
    assert ("The file is ready all the same." in page) == is_said


@pytest.mark.parametrize(
    ("status", "effect", "is_looked_into"), [("unknown", "unknown", True), ("failed", "abandoned", False)]
)
def test_nobody_is_said_to_look_into_a_mail_that_was_given_up(
    exporter, queues, sign_in, status, effect, is_looked_into
):
    export = lay_ready(exporter)
    lay_mail(export, status, effect)
    page = sign_in(exporter).get(f"/exports/{export.pk}/").content.decode()
    assert "Nobody knows whether it was sent" in page
    assert ("a person looks into it" in page) == is_looked_into
