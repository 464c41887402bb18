"""The mail that says that an export is ready: no rows, no address of the file itself, a link that asks to sign in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from email.utils import parseaddr
from smtplib import SMTPException
from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.core.mail.message import sanitize_address
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from exports.models import Export
from exports.permissions import may_export
from exports.states import is_over
from jobs.safety import PermanentError, classify_smtp


@contextmanager
def mail_connection() -> Iterator[Any]:
    """The way to the mail server, which the first mail opens and the end of the block closes.

    Have the mail on record before that: once the server has taken it, how the conversation ends changes nothing, and
    a server that leaves the farewell without an answer keeps us waiting.
    """
    connection = get_connection()
    try:
        yield connection
    finally:
        with suppress(OSError, SMTPException):
            connection.close()


def send_ready_mail(connection: Any, export: Export, key: str) -> str:
    """Send it, and return its Message-ID, by which it is found in the mail server's log.

    Raises NotPerformed, PermanentError or OutcomeUnknown, by what is known of the mail (jobs.safety.classify_smtp).
    """
    message = ready_mail(export, key)
    with classify_smtp():
        connection.open()
        connection.send_messages([message])
    return str(message.extra_headers["Message-ID"])


def ready_mail(export: Export, key: str) -> EmailMessage:
    """The mail; `key` makes its Message-ID, the same in every attempt.

    Raises PermanentError when there is nobody to tell or nothing to say any more.
    """
    if is_over(export, timezone.now()):
        raise PermanentError("The file is kept no longer: there is nothing left to say.")
    if not may_export(export.owner):
        # The link would lead to nothing, and how many orders there were is no business of his any more.
        raise PermanentError("Its owner may not have exports any more.")
    message = EmailMessage(
        subject=_("Your export of orders for %(period)s is ready") % {"period": export.period},
        body=_body(export),
        to=[_address_of(export)],
        headers={"Message-ID": message_id(export, key), "Auto-Submitted": "auto-generated"},
    )
    _require_writable(message)
    return message


def message_id(export: Export, key: str) -> str:
    """Made of the export's id and the key of its effect."""
    domain = parseaddr(settings.DEFAULT_FROM_EMAIL)[1].rpartition("@")[2] or "localhost"
    return f"<export-{export.pk}.{key}@{domain}>"


# ----------------------------------------------------------------------------------------------------------------------


def _body(export: Export) -> str:
    assert export.expires_at is not None
    link = f"{settings.OPSBOARD_SITE_URL}{reverse('exports:export', args=[export.pk])}"
    return _(
        "Your export of orders for %(period)s is ready: %(rows)s rows.\n\n"
        "Sign in to download it:\n%(link)s\n\n"
        "It is kept until %(until)s.\n"
    ) % {
        "period": export.period,
        "rows": export.rows,
        "link": link,
        "until": timezone.localtime(export.expires_at).strftime("%Y-%m-%d %H:%M %Z"),
    }


def _address_of(export: Export) -> str:
    """Where its owner is reached today. Raises PermanentError."""
    address: str = export.owner.email.strip()
    if not address:
        raise PermanentError("Its owner has no mail address any more.")
    if not parseaddr(address)[1].rpartition("@")[0].isascii():
        # Only with SMTPUTF8, which Django's mail does not speak: it would write to somebody else's name.
        raise PermanentError("The mail address of its owner has letters before the @ that can't be sent.")
    return address


def _require_writable(message: EmailMessage) -> None:
    """Find out before the server is called what Django would refuse to send. Raises PermanentError."""
    try:
        sanitize_address(message.to[0], message.encoding or settings.DEFAULT_CHARSET)
        message.message()
    except ValueError as error:
        raise PermanentError(f"The mail can't be written: {type(error).__name__}.") from None
