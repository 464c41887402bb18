"""Says in our words how sending a mail by smtplib failed: whether the message can have been accepted."""

from __future__ import annotations

import smtplib
from contextlib import AbstractContextManager
from typing import overload

from jobs.safety.classifying import frames, is_settled, translating
from jobs.safety.errors import NotPerformed, OutcomeUnknown, PermanentError

_BEFORE_DATA = {"connect", "ehlo", "helo", "starttls", "login", "auth", "mail", "rcpt"}
"""Functions of smtplib that are over before the message itself is sent."""
_REFUSED_BEFORE_DATA = {
    smtplib.SMTPConnectError: "the connection",
    smtplib.SMTPHeloError: "our greeting",
    smtplib.SMTPAuthenticationError: "our credentials",
    smtplib.SMTPSenderRefused: "the sender",
}


@overload
def classify_smtp() -> AbstractContextManager[None]: ...
@overload
def classify_smtp(error: Exception) -> Exception: ...
def classify_smtp(error: Exception | None = None) -> AbstractContextManager[None] | Exception:
    """Turn an error of smtplib (or of Django's mail, which uses it) into the one that says what is known of the mail.

        with classify_smtp():
            message.send()

    One message a block. As a function it takes the error, and returns the error to raise.

    | what happened | becomes |
    |---|---|
    | no connection, or it broke, or no answer came, before DATA | NotPerformed |
    | greeting, EHLO, AUTH, MAIL FROM, every RCPT TO, DATA or the message refused with 4xx | NotPerformed |
    | the same with 5xx; what the server can't do at all; a message or an address that can't be sent | PermanentError |
    | the connection broke or no answer came from DATA on, and all else | OutcomeUnknown |

    What can't be known. A server that has the whole message may accept it and lose its answer, or the connection may
    break before the answer (RFC 1047): nobody can ask it afterwards, and no key stops a second copy. smtplib has one
    error for a broken connection, whenever it breaks; where it broke is read from the traceback, so an error without
    one is unknown. And no error is no delivery: 250 says that the server has taken the message, it may still bounce.
    Where some recipients are refused and others are not, smtplib raises nothing: `sendmail` and `send_message` return
    those refused, and the others have got the mail. Django's `fail_silently` must be off.
    """
    return translating(_of_error) if error is None else _of_error(error)


def _of_error(error: Exception) -> Exception:
    if is_settled(error):
        return error
    name, phases = type(error).__name__, _phases(error)
    if (answered := _of_answer(error)) is not None:
        return answered
    if isinstance(error, smtplib.SMTPNotSupportedError):
        return PermanentError(f"The mail server can't do what the message needs: {name}.")
    # A certificate that is not trusted is a ValueError as well.
    if isinstance(error, ValueError) and not isinstance(error, OSError) and phases and "data" not in phases:
        return PermanentError(f"The message can't be sent as it is: {name}.")
    if phases & _BEFORE_DATA:
        return NotPerformed(f"The message was not sent to the mail server: {name}.")
    return OutcomeUnknown(f"Nobody knows whether the mail server took the message: {name}.")


def _of_answer(error: Exception) -> Exception | None:
    """What an answer of the server says; None: the error is no answer."""
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        # One that may be taken later is reason enough to try again.
        return _refusal(min((code for code, _text in error.recipients.values()), default=-1), "all recipients")
    if isinstance(error, smtplib.SMTPDataError):
        if not 400 <= error.smtp_code < 600:
            return OutcomeUnknown(f"The mail server answered the message with {error.smtp_code}.")
        return _refusal(error.smtp_code, "the message")
    what = _REFUSED_BEFORE_DATA.get(type(error))
    return _refusal(error.smtp_code, what) if what and isinstance(error, smtplib.SMTPResponseException) else None


def _refusal(code: int, what: str) -> Exception:
    said = f"The mail server refused {what} with {code}."
    return PermanentError(said) if 500 <= code < 600 else NotPerformed(said)


def _phases(error: Exception) -> set[str]:
    """The functions of smtplib that the error came through."""
    return {frame.f_code.co_name for frame in frames(error) if frame.f_code.co_filename == smtplib.__file__}
