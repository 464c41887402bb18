"""What people do about mails: nobody sends one that may have gone, but who has found out that it did not."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from exports.mail_states import mail_news
from exports.requesting import request_export
from exports.tasks import mail_export
from jobs.actions.jobs import ACTS
from jobs.actions.operations import OperationWish, retry_operation
from jobs.domain.verdicts import Verdict
from jobs.models import Attempt, Effect
from tests.exports.mail_scene import CLARA, TRIES, observe, read, retry_at_once, say, sink_in_use, told_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def sink(settings):
    with sink_in_use(settings) as sink:
        yield sink


@pytest.fixture
def go_on(run_jobs):
    """Whatever is due runs."""

    def run():
        observe()
        run_jobs()

    return run


@pytest.fixture
def export(sink, queues, exporter, make_orders, monkeypatch):
    make_orders(1)
    retry_at_once(monkeypatch)
    return request_export(exporter, "2025", "").export


@pytest.fixture
def in_doubt(sink, export, go_on):
    """Its mail was taken, and the answer got lost; from now on the server is as it should be."""
    sink.told["MESSAGE"] = "close"
    go_on()
    sink.told.clear()
    return export


def retry(person, export):
    """A press on the page of the mail's operation."""
    operation = read(export).mail_operation
    wish = OperationWish(
        actor=person, operation_id=operation.operation_id, seen=operation.version, now=datetime.now(UTC)
    )
    return retry_operation(ACTS["retry_job"], wish)


def test_a_mail_in_doubt_is_not_sent_again_at_the_press_of_a_button(in_doubt, sink, superuser, go_on):
    assert not retry(superuser, in_doubt).is_done
    go_on()
    assert told_of(in_doubt) == ("unknown", "unknown", "unknown")
    assert sink.taken_for(CLARA) == 1


def test_of_a_mail_that_was_found_none_is_sent_again(in_doubt, sink, superuser, go_on):
    assert say(superuser, Verdict.HAPPENED).is_done
    go_on()
    assert told_of(in_doubt)[::2] == ("completed", "sent")
    assert sink.taken_for(CLARA) == 1


def test_who_finds_a_mail_tells_its_owner_when_it_was_sent_and_not_when_it_was_found(in_doubt, superuser, go_on):
    assert say(superuser, Verdict.HAPPENED).is_done
    go_on()
    effect = read(in_doubt).mail_operation.effects.get()
    assert mail_news(read(in_doubt)).sent_at == effect.begun_at < effect.completed_at


def test_a_mail_that_was_not_found_is_sent_once_more_under_the_same_name(in_doubt, sink, superuser, go_on):
    assert say(superuser, Verdict.DID_NOT_HAPPEN).is_done
    for _look in range(3):
        go_on()
    assert told_of(in_doubt) == ("completed", "unknown completed", "sent")
    assert sink.taken_for(CLARA) == 2
    assert len({mail.message["Message-ID"] for mail in sink.mails}) == 1


def test_a_mail_that_is_given_up_is_not_told_to_be_sent_or_not(in_doubt, sink, superuser, go_on):
    assert say(superuser, Verdict.ABANDON).is_done
    assert not retry(superuser, in_doubt).is_done
    go_on()
    assert told_of(in_doubt)[::2] == ("failed", "unknown")
    assert sink.taken_for(CLARA) == 1


def test_a_mail_that_was_sent_is_sent_no_more_whoever_asks(export, sink, superuser, go_on, queues):
    go_on()
    assert not retry(superuser, export).is_done
    mail_export.submit(export.pk)
    mail_export.delay(export.pk)
    queues[1].enqueue(mail_export, export.pk)
    go_on()
    assert told_of(export) == ("completed", "completed", "sent")
    assert sink.taken_for(CLARA) == 1
    assert Attempt.objects.filter(outcome="skipped_duplicate").count() == 2


def test_a_mail_that_failed_is_sent_when_somebody_asks_for_it(export, sink, superuser, go_on):
    sink.told["RCPT"] = "550 no"
    go_on()
    assert told_of(export) == ("failed", "failed", "failed")
    sink.told.clear()
    assert retry(superuser, export).is_done
    go_on()
    assert told_of(export) == ("completed", "failed completed", "sent")
    assert sink.taken_for(CLARA) == 1


def test_a_press_on_retry_asks_a_busy_server_once_more(export, sink, superuser, go_on):
    sink.told["RCPT"] = "451 later"
    go_on()
    assert retry(superuser, export).is_done
    go_on()
    assert told_of(export)[0] == "failed"
    assert sink.heard.count("RCPT") == TRIES + 1


def test_the_mark_that_it_was_sent_is_its_effect(export, go_on):
    go_on()
    effect = Effect.objects.get(operation=read(export).mail_operation)
    assert (effect.name, effect.status, effect.idempotency) == ("mail", "completed", "unsafe")
    assert effect.external_id == f"<export-{export.pk}.{effect.idempotency_key}@localhost>"
