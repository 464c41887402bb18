"""Says in our words how sending a mail by smtplib failed: whether the message can have been accepted."""

from __future__ import annotations

import smtplib
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import overload

from jobs.domain.redaction import scrub
from jobs.safety.classifying import frames, is_settled, translating
from jobs.safety.errors import NotPerformed, OutcomeUnknown, PermanentError

_BEFORE_DATA = {"connect", "ehlo", "helo", "starttls", "login", "auth", "mail", "rcpt"}
"""Functions of smtplib that are over before the message itself is sent."""
_REFUSED_BEFORE_DATA: dict[type[Exception], str] = {
    smtplib.SMTPConnectError: "the connection",
    smtplib.SMTPHeloError: "our greeting",
    smtplib.SMTPAuthenticationError: "our credentials",
}
_LONGEST_ANSWER, _LONGEST_WORDS = 2000, 160
"""Characters: of an answer so many are looked at, and so many are repeated at most."""


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

    Why the sender, the recipients or the message were refused is repeated in the server's words, without addresses.
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
        code, text = min(error.recipients.values(), key=lambda answer: answer[0], default=(-1, b""))
        return _refusal(code, "all recipients", _words(text, error.recipients))
    if isinstance(error, smtplib.SMTPDataError):
        if not 400 <= error.smtp_code < 600:
            return OutcomeUnknown(f"The mail server answered the message with {error.smtp_code}.")
        return _refusal(error.smtp_code, "the message", _words(error.smtp_error))
    if isinstance(error, smtplib.SMTPSenderRefused):
        return _refusal(error.smtp_code, "the sender", _words(error.smtp_error, [error.sender]))
    what = _REFUSED_BEFORE_DATA.get(type(error))
    return _refusal(error.smtp_code, what) if what and isinstance(error, smtplib.SMTPResponseException) else None


def _refusal(code: int, what: str, words: str = "") -> Exception:
    said = f"The mail server refused {what} with {code}{f': {words}' if words else ''}."
    return PermanentError(said) if 500 <= code < 600 else NotPerformed(said)


def _words(answer: bytes | str, addresses: Iterable[str] = ()) -> str:
    """What the server said, in one line: without what looks like an address or a secret, nor the name of a mailbox."""
    text = answer if isinstance(answer, str) else answer.decode(errors="replace")
    one_line = " ".join("".join(one if one.isprintable() else " " for one in text[:_LONGEST_ANSWER]).split())
    hidden = [part for address in addresses for part in (address, address.rpartition("@")[0])]
    return scrub(one_line, hidden)[:_LONGEST_WORDS].rstrip(". ")


def _phases(error: Exception) -> set[str]:
    """The functions of smtplib that the error came through."""
    return {frame.f_code.co_name for frame in frames(error) if frame.f_code.co_filename == smtplib.__file__}
