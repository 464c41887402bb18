"""The mail that says that an export is ready: no rows, no address of the file itself, a link that asks to sign in."""

from __future__ import annotations

from contextlib import suppress
from email.utils import parseaddr
from smtplib import SMTPException

from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from exports.models import Export
from jobs.safety import classify_smtp


def send_ready_mail(export: Export, key: str) -> str:
    """Send it, and return its Message-ID, by which it is found in the mail server's log.

    Raises NotPerformed, PermanentError or OutcomeUnknown, by what is known of the mail (jobs.safety.classify_smtp).
    """
    message = ready_mail(export, key)
    connection = get_connection()
    try:
        with classify_smtp():
            connection.open()
            connection.send_messages([message])
    finally:
        # Once the server has taken the mail, how the conversation ends changes nothing.
        with suppress(OSError, SMTPException):
            connection.close()
    return str(message.extra_headers["Message-ID"])


def ready_mail(export: Export, key: str) -> EmailMessage:
    """The mail; `key` makes its Message-ID, the same in every attempt."""
    link = f"{settings.OPSBOARD_SITE_URL}{reverse('exports:export', args=[export.pk])}"
    assert export.expires_at is not None
    text = _(
        "Your export of orders for %(period)s is ready: %(rows)s rows.\n\n"
        "Sign in to download it:\n%(link)s\n\n"
        "It is kept until %(until)s.\n"
    ) % {
        "period": export.period,
        "rows": export.rows,
        "link": link,
        "until": timezone.localtime(export.expires_at).strftime("%Y-%m-%d %H:%M %Z"),
    }
    return EmailMessage(
        subject=_("Your export of orders for %(period)s is ready") % {"period": export.period},
        body=text,
        to=[export.owner.email],
        headers={"Message-ID": message_id(export, key), "Auto-Submitted": "auto-generated"},
    )


def message_id(export: Export, key: str) -> str:
    """Made of the export's id and the key of its effect."""
    domain = parseaddr(settings.DEFAULT_FROM_EMAIL)[1].rpartition("@")[2] or "localhost"
    return f"<export-{export.pk}.{key}@{domain}>"
