"""Where mails go: to the server of OPSBOARD_MAIL_URL, or without one into a folder (opsboard.mail_folder)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from email.utils import getaddresses
from ipaddress import ip_address
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from django.apps import AppConfig
from django.conf import settings
from django.core import checks
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.core.validators import EmailValidator

from opsboard.access.reading import PROXIED
from opsboard.env import Environment, env_str

PORTS = {"smtp": 25, "smtp+starttls": 587, "smtps": 465}
"""By scheme: as it comes; encrypted once both have greeted; encrypted from the first byte on."""
EXAMPLE = "smtp+starttls://USER:PASSWORD@HOST:587"
SERVER, FOLDER = "django.core.mail.backends.smtp.EmailBackend", "opsboard.mail_folder.FolderBackend"


@dataclass(frozen=True)
class MailServer:
    """A server that takes our mails. Certificates are verified, the name of the host as well."""

    scheme: str
    host: str
    port: int
    user: str = ""
    password: str = field(default="", repr=False)

    @property
    def is_overheard(self) -> bool:
        """Whether others on the way can read what it is sent."""
        return self.scheme == "smtp" and not _is_this_machine(self.host)


def read_mail_server(environ: Environment) -> MailServer | None:
    """The server of OPSBOARD_MAIL_URL; None without one.

    Raises ImproperlyConfigured with the remedy, never with a name or a password.
    """
    value = env_str("OPSBOARD_MAIL_URL", environ=environ)
    if not value:
        return None
    server = _parsed(value)
    if server is None:
        raise ImproperlyConfigured(
            f"OPSBOARD_MAIL_URL can't be read; write it like {EXAMPLE}, smtps:// or smtp://, and percent-encode "
            "its name and password."
        )
    if server.is_overheard and server.user:
        raise ImproperlyConfigured(
            "OPSBOARD_MAIL_URL would send its password unencrypted; write smtp+starttls:// or smtps://."
        )
    return server


def read_mail_from(environ: Environment) -> str:
    """Whom mails are from: one address, or a name and one address. Raises ImproperlyConfigured."""
    value = env_str("OPSBOARD_MAIL_FROM", "opsboard@localhost", environ=environ)
    try:
        ((_name, address),) = getaddresses([value])
        EmailValidator(allowlist=["localhost"])(address)
    except (ValueError, ValidationError):
        address = ""
    if not address or not address.isascii() or not value.isprintable():
        raise ImproperlyConfigured(
            "OPSBOARD_MAIL_FROM must be one address; write it like opsboard@HOST or Opsboard <opsboard@HOST>."
        )
    return value


def require_patience(seconds: float, call_timeout: float) -> float:
    """`seconds`, for which an answer of the server is waited for. Raises ImproperlyConfigured."""
    if seconds >= call_timeout:
        raise ImproperlyConfigured(
            f"OPSBOARD_MAIL_TIMEOUT_SECONDS must be less than OPSBOARD_CALL_TIMEOUT_SECONDS ({call_timeout:g}): lower "
            "it, or raise the other."
        )
    return seconds


def check_mail(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[checks.CheckMessage]:
    """Mails that others can read on their way, and mails that people wait for and nobody gets."""
    return [*_check_overheard(), *_check_delivered()]


def _check_overheard() -> Iterator[checks.CheckMessage]:
    is_plain = settings.EMAIL_BACKEND == SERVER and not settings.EMAIL_USE_TLS and not settings.EMAIL_USE_SSL
    if is_plain and not _is_this_machine(settings.EMAIL_HOST):
        message = "Mails go to another machine unencrypted."
        hint = "Write smtp+starttls:// or smtps:// in OPSBOARD_MAIL_URL."
        yield checks.Warning(message, hint=hint, id="opsboard.W001")


def _check_delivered() -> Iterator[checks.CheckMessage]:
    """Who runs it on his own machine finds them in the folder; the others would wait."""
    if settings.OPSBOARD_EXPORTS and settings.OPSBOARD_MODE == PROXIED and settings.EMAIL_BACKEND == FOLDER:
        message = "Mails are put into a folder of this machine, and reach nobody."
        yield checks.Warning(message, hint="Name a mail server in OPSBOARD_MAIL_URL.", id="opsboard.W002")


# ----------------------------------------------------------------------------------------------------------------------


def _parsed(value: str) -> MailServer | None:
    try:
        parts = urlsplit(value)
        usual_port = PORTS[parts.scheme]
        host, port = parts.hostname or "", usual_port if parts.port is None else parts.port
    except (ValueError, KeyError):
        return None
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    # smtplib sends no name and password but in ASCII.
    is_sendable = all(text.isascii() and text.isprintable() for text in (user, password))
    is_named = bool(re.fullmatch(r"[A-Za-z0-9._:%-]+", host)) and port > 0
    if not is_named or not is_sendable or bool(user) != bool(password) or _has_more(parts):
        return None
    return MailServer(parts.scheme, host, port, user, password)


def _has_more(parts: SplitResult) -> bool:
    """What belongs to no server: as a rule the rest of a password that was not percent-encoded."""
    return bool(parts.path.strip("/") or parts.query or parts.fragment)


def _is_this_machine(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
