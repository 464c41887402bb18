"""Whatever a mail server answers, or does not: no mail is sent in doubt, and none again that was sent."""

from __future__ import annotations

import pytest
from django.db import connections

from exports.requesting import request_export
from jobs.models import Effect
from tests.exports.mail_scene import (
    CLARA,
    GIVEN_UP,
    IMPATIENT,
    PATIENT,
    SHORT,
    observe,
    read,
    retry_at_once,
    sink_in_use,
    told_of,
)

pytestmark = pytest.mark.django_db(transaction=True)
BEFORE_DATA = ("GREETING", "EHLO", "MAIL", "RCPT")
EVERYWHERE = (*BEFORE_DATA, "DATA", "MESSAGE")
LONG_LINE = "250 " + "x" * 10_000


@pytest.fixture
def sink(settings):
    with sink_in_use(settings) as sink:
        yield sink


@pytest.fixture
def send(sink, settings, exporter, make_orders, run_jobs, monkeypatch):
    """send({place: what the server says or does there}): an export is asked for, and everything runs that will run."""
    make_orders(1)
    retry_at_once(monkeypatch)

    def run(told, patience=PATIENT):
        sink.told, settings.EMAIL_TIMEOUT = told, patience
        export = request_export(exporter, "2025", "").export
        run_jobs()
        observe()
        run_jobs()
        return export

    return run


def patience(said, least=SHORT):
    return least if said == "silent" else PATIENT


def once_then_usual(place, said, sink):
    """The server says it the first time, and then is as it should be."""

    def answer():
        del sink.told[place]
        return said

    return {place: answer}


def test_a_mail_is_taken_once_and_known_by_its_message_id(send, sink):
    export = send({})
    assert told_of(export) == ("completed", "completed", "sent")
    assert sink.taken_for(CLARA) == len(sink.mails) == 1
    effect = Effect.objects.get(operation=read(export).mail_operation)
    assert effect.external_id == sink.mails[0].message["Message-ID"]


@pytest.mark.parametrize("said", ["close", "reset", "silent", "half", "hello", "25", "252 perhaps", LONG_LINE])
def test_a_mail_whose_answer_is_none_is_in_doubt(send, sink, said):
    export = send({"MESSAGE": said}, patience(said))
    assert told_of(export) == ("unknown", "unknown", "unknown")
    assert sink.taken_for(CLARA) == 1


@pytest.mark.parametrize("said", ["close", "silent", "hello", "250 fine"])
def test_a_mail_that_was_about_to_be_sent_is_in_doubt(send, sink, said):
    assert told_of(send({"DATA": said}, patience(said))) == ("unknown", "unknown", "unknown")


@pytest.mark.parametrize("place", EVERYWHERE)
def test_a_server_that_has_no_time_now_is_asked_again(send, sink, place):
    export = send(once_then_usual(place, "451 later", sink) | ({"HELO": "451 later"} if place == "EHLO" else {}))
    assert told_of(export) == ("completed", "retrying completed", "sent")
    assert sink.taken_for(CLARA) == 1


@pytest.mark.parametrize("said", ["close", "silent", "half", "hello"])
@pytest.mark.parametrize("place", BEFORE_DATA)
def test_a_conversation_that_breaks_before_the_mail_is_begun_anew(send, sink, place, said):
    export = send(once_then_usual(place, said, sink), patience(said, IMPATIENT))
    assert told_of(export)[::2] == ("completed", "sent")
    assert sink.taken_for(CLARA) == 1


@pytest.mark.parametrize("place", ["GREETING", "RCPT", "MESSAGE"])
def test_a_server_that_never_has_time_is_asked_a_bounded_number_of_times(send, sink, place):
    export = send({place: "451 4.7.1 come back later"})
    assert told_of(export) == ("failed", GIVEN_UP, "failed")
    assert sink.mails == []


def test_a_server_that_is_not_there_is_asked_a_bounded_number_of_times(send, settings):
    settings.EMAIL_PORT = 1
    assert told_of(send({})) == ("failed", GIVEN_UP, "failed")


@pytest.mark.parametrize("place", ["MAIL", "RCPT", "MESSAGE"])
def test_a_mail_that_is_refused_fails_for_good_with_the_words_of_the_server(send, sink, place):
    export = send({place: f"550 5.1.1 <{CLARA}>: nobody here is called that"})
    assert told_of(export) == ("failed", "failed", "failed")
    assert sink.mails == []
    reason = read(export).mail_operation.reason_text
    assert "with 550: 5.1.1 <[" in reason and "]>: nobody here is called that”" in reason
    assert "clara" not in reason


@pytest.mark.parametrize("said", ["close", "reset", "silent", "half", "hello", "500 what", LONG_LINE])
def test_how_a_server_parts_changes_nothing_of_a_mail_that_it_took(send, sink, said):
    export = send({"QUIT": said}, patience(said))
    assert told_of(export) == ("completed", "completed", "sent")
    assert sink.taken_for(CLARA) == 1


def test_the_mail_is_on_record_before_the_server_is_parted_with(send, sink):
    seen = []

    def look():
        seen.extend(Effect.objects.filter(name="mail").values_list("status", flat=True))
        # Of the server's own thread.
        connections.close_all()
        return "221 bye"

    send({"QUIT": look})
    assert seen == ["completed"]
