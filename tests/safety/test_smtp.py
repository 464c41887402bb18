"""What is known of a mail that could not be sent, from real conversations with a server that breaks off where told."""

from __future__ import annotations

import smtplib
import ssl
import traceback

import pytest
from django.core.mail import EmailMessage, get_connection

from jobs.safety.errors import LeaseLost, NotPerformed, OutcomeUnknown, PermanentError, TransientError
from jobs.safety.smtp import classify_smtp
from opsboard.runner.valkey import free_port
from tests.safety.servers import be_silent, full_server, reset, serving

PAT = "pat@example.org"
BEFORE_DATA = ("GREETING", "EHLO", "AUTH", "MAIL", "RCPT")
BREAKS = ("close", "reset", "silent")
PATIENT, SHORT, IMPATIENT = 20.0, 1.5, 0.3
"""Time limits in seconds: for what is answered, for what is answered at first, and for what is not."""


@pytest.mark.parametrize(("said", "expected"), [("451 later", NotPerformed), ("550 never", PermanentError)])
@pytest.mark.parametrize("place", [*BEFORE_DATA, "DATA", "MESSAGE"])
def test_a_refusal_is_definite_wherever_it_comes(place, said, expected):
    assert outcome(place, said) is expected


@pytest.mark.parametrize("how", BREAKS)
@pytest.mark.parametrize("place", BEFORE_DATA)
def test_a_break_before_the_message_did_nothing(place, how):
    assert outcome(place, how, timeout=IMPATIENT) is NotPerformed


@pytest.mark.parametrize("how", BREAKS)
@pytest.mark.parametrize("place", ["DATA", "MESSAGE"])
def test_a_break_once_the_message_is_due_leaves_the_outcome_unknown(place, how):
    assert outcome(place, how, timeout=SHORT if how == "silent" else PATIENT) is OutcomeUnknown


def test_an_answer_that_is_none_leaves_the_outcome_unknown():
    assert outcome("MESSAGE", "hello") is OutcomeUnknown


def test_a_break_after_the_message_was_taken_leaves_the_outcome_unknown():
    def send_and_quit(smtp):
        smtp.sendmail("us@example.org", [PAT], b"hello")
        smtp.quit()

    assert outcome("QUIT", "close", send=lambda port: open_and_part(port, send_and_quit)) is OutcomeUnknown


def test_one_recipient_to_be_tried_later_is_reason_to_try_later():
    answers = iter(["550 never", "451 later"])
    assert outcome("RCPT", lambda: next(answers), recipients=[PAT, "kim@example.org"]) is NotPerformed


@pytest.mark.parametrize("scene", ["refused", "full", "unknown"])
def test_a_server_that_cannot_be_reached_did_nothing(scene):
    with full_server() as full, pytest.raises(NotPerformed), classify_smtp():
        host, port = {
            "refused": ("127.0.0.1", free_port()),
            "full": ("127.0.0.1", full),
            "unknown": ("no-such-host.invalid", 25),
        }[scene]
        smtplib.SMTP(host, port, "tests", IMPATIENT)


def test_a_tls_handshake_that_fails_did_nothing():
    def talk(connection):
        connection.sendall(b"220 no TLS here\r\n" * 9)

    with serving(talk) as port, pytest.raises(NotPerformed), classify_smtp():
        smtplib.SMTP_SSL("127.0.0.1", port, "tests", timeout=PATIENT)


def test_a_certificate_that_is_not_trusted_did_nothing():
    class Distrusting(ssl.SSLContext):
        def wrap_socket(self, sock, **how):
            sock.close()
            raise ssl.SSLCertVerificationError("self-signed certificate")

    with serving(be_silent) as port, pytest.raises(NotPerformed), classify_smtp():
        smtplib.SMTP_SSL("127.0.0.1", port, "tests", timeout=PATIENT, context=Distrusting(ssl.PROTOCOL_TLS_CLIENT))


def test_a_server_without_tls_is_not_to_be_tried_again():
    assert outcome("NONE", "", send=lambda port: open_and(port, smtplib.SMTP.starttls)) is PermanentError


@pytest.mark.parametrize(("recipient", "text"), [("pät\n@example.org", b"hello"), (PAT, "hellö")])
def test_a_message_that_cannot_be_put_into_words_is_wrong_data(recipient, text):
    def send(port):
        open_and(port, lambda smtp: smtp.sendmail("us@example.org", [recipient], text))

    assert outcome("NONE", "", send=send) is PermanentError


def test_wrong_data_found_once_the_message_is_due_leaves_the_outcome_unknown():
    assert outcome("NONE", "", send=lambda port: open_and_part(port, lambda smtp: smtp.data("hellö"))) is OutcomeUnknown


@pytest.mark.parametrize("error", [OSError, ValueError])
def test_an_error_of_the_job_code_itself_leaves_the_outcome_unknown(error):
    def mail():
        raise error

    with pytest.raises(OutcomeUnknown), classify_smtp():
        mail()


@pytest.mark.parametrize(("place", "expected"), [("RCPT", NotPerformed), ("MESSAGE", OutcomeUnknown)])
def test_a_mail_of_django_is_judged_likewise(place, expected):
    def send(port):
        backend = "django.core.mail.backends.smtp.EmailBackend"
        connection = get_connection(backend, host="127.0.0.1", port=port, timeout=PATIENT)
        EmailMessage("s", "b", "us@example.org", [PAT], connection=connection).send()

    assert outcome(place, "close", send=send) is expected


@pytest.mark.parametrize("error", [TransientError("x"), LeaseLost("x")])
def test_what_needs_no_translation_passes_unchanged(error):
    with pytest.raises(type(error)) as caught, classify_smtp():
        raise error
    assert caught.value is error


def test_a_broken_connection_that_was_never_met_proves_nothing():
    assert type(classify_smtp(smtplib.SMTPServerDisconnected("gone"))) is OutcomeUnknown


@pytest.mark.parametrize("place", ["MAIL", "RCPT", "MESSAGE"])
def test_a_refusal_is_told_in_the_words_of_the_server(place):
    error = error_of(place, "550-5.7.1 not\tfrom here.\r\n550 5.7.1 Ask \x1bus")
    assert str(error).endswith("with 550: 5.7.1 not from here. 5.7.1 Ask us.")


@pytest.mark.parametrize("place", ["MAIL", "RCPT", "MESSAGE"])
def test_no_address_stands_in_what_is_printed_and_stored(place):
    printed = "".join(traceback.format_exception(error_of(place, f"550 {PAT} is unknown"), limit=0))
    assert PAT not in printed and "[e-mail] is unknown" in printed


def test_no_mailbox_on_this_machine_stands_there_either():
    error = error_of("RCPT", "550 <patricia@localhost>: there is no patricia", recipients=["patricia@localhost"])
    assert "patricia" not in str(error)


def test_a_server_that_talks_much_is_not_repeated_at_length():
    assert len(str(error_of("RCPT", "550 " + "blah " * 1500))) < 250


# ----------------------------------------------------------------------------------------------------------------------


def outcome(place, said, **how):
    """The class of error that sending becomes when the server says this there."""
    return type(error_of(place, said, **how))


def error_of(place, said, *, recipients=(PAT,), timeout=PATIENT, send=None):
    """The error that sending becomes when the server says this there, or does that."""
    with serving(conversation({place: said})) as port, pytest.raises(Exception) as caught, classify_smtp():
        if send:
            send(port)
        else:
            open_and(port, lambda smtp: send_signed_in(smtp, recipients), timeout)
    return caught.value


def open_and(port, act, timeout=PATIENT):
    with smtplib.SMTP("127.0.0.1", port, "tests", timeout) as smtp:
        act(smtp)


def open_and_part(port, act):
    """Without the farewell of the `with` block."""
    smtp = smtplib.SMTP("127.0.0.1", port, "tests", PATIENT)
    try:
        act(smtp)
    finally:
        smtp.close()


def send_signed_in(smtp, recipients):
    smtp.login("us", "password")
    smtp.sendmail("us@example.org", recipients, b"Subject: hello\r\n\r\nhello")


def conversation(told):
    """A server that takes every mail, but for what it is told to say or to do at a place of the conversation."""
    usual = {
        "GREETING": "220 here",
        "EHLO": "250-here\r\n250 AUTH PLAIN",
        # What smtplib asks when EHLO is refused.
        "HELO": told.get("EHLO", "250 fine"),
        "AUTH": "235 yes",
        "DATA": "354 go on",
        "QUIT": "221 bye",
    }

    def talk(connection):
        lines = connection.makefile("rb")
        place = "GREETING"
        while place:
            said = told.get(place, usual.get(place, "250 fine"))
            if not say(connection, said() if callable(said) else said):
                return
            place = next_place(lines, place, said)

    return talk


def say(connection, said):
    """Say it, or do it; whether the conversation goes on."""
    if said not in BREAKS:
        connection.sendall(said.encode() + b"\r\n")
        return True
    if said == "reset":
        reset(connection)
    elif said == "silent":
        be_silent(connection)
    return False


def next_place(lines, place, said):
    if place == "DATA" and said == "354 go on":
        while lines.readline() not in (b".\r\n", b""):
            pass
        return "MESSAGE"
    line = lines.readline().decode().upper().split()
    return line[0] if line else None
