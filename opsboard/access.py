"""Local-only mode: a request is answered when it was made on this machine, to a loopback name, by no proxy.

Listening on 127.0.0.1 alone is not enough: a web page whose name was pointed to 127.0.0.1 reads everything a browser on
this machine may read, unless the Host header is looked at (DNS rebinding).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from ipaddress import IPv6Address, ip_address
from typing import Any

import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.http.response import HttpResponseBase
from django.utils.html import format_html
from django.utils.translation import gettext as _

log = structlog.get_logger("opsboard.access")

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")

_HOST = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:[0-9]{1,5})?", re.IGNORECASE | re.ASCII)
_PROXY_SIGNS = ("HTTP_FORWARDED", "HTTP_VIA", "HTTP_X_REAL_IP")
_PROXY_PREFIX = "HTTP_X_FORWARDED"


class LocalOnlyMiddleware:
    """Answers 400 to whatever is not plainly local. Stands before WhiteNoise, so that it covers static files too."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        reason = refusal(request.META)
        if reason is None:
            return self.get_response(request)
        log.warning("request refused", reason=reason, peer=request.META.get("REMOTE_ADDR"))
        return _explain(reason, request.META)


def refusal(environ: Mapping[str, Any]) -> str | None:
    """Why a request with this WSGI environment is not a local one, in one sentence; None when it is.

    No peer address means a Unix socket. That is where a proxy would connect from, so it counts as not local.
    """
    if not is_loopback(str(environ.get("REMOTE_ADDR", ""))):
        return _("It did not come from this machine.")
    if not _HOST.fullmatch(str(environ.get("HTTP_HOST", ""))):
        return _("It was not addressed to localhost, 127.0.0.1 or [::1].")
    if _shows_a_proxy(environ):
        return _("It came through a proxy.")
    return None


def _shows_a_proxy(environ: Mapping[str, Any]) -> bool:
    # Only to a proxy does a client send a whole URL; gunicorn hands the request's target over as RAW_URI.
    whole_url = not str(environ.get("RAW_URI", "/")).startswith("/")
    return whole_url or any(name in _PROXY_SIGNS or name.startswith(_PROXY_PREFIX) for name in environ)


def is_loopback(address: str) -> bool:
    """Whether this IP address is one of this machine's own, also when written as an IPv4 address in IPv6."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    mapped = parsed.ipv4_mapped if isinstance(parsed, IPv6Address) else None
    return (mapped or parsed).is_loopback


def _explain(reason: str, environ: Mapping[str, Any]) -> HttpResponse:
    """A page that needs no template, no static file and no database, and repeats nothing the request said."""
    port = str(environ.get("SERVER_PORT", ""))
    port = port if port.isdecimal() else str(settings.OPSBOARD_PORT)
    page = format_html(
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title></head><body>'
        "<h1>{title}</h1><p>{reason}</p><p>{rule}</p><pre>ssh -L {port}:127.0.0.1:{port} user@this-machine</pre>"
        "<p>{then} http://localhost:{port}/</p></body></html>",
        title=_("This request was refused"),
        reason=reason,
        rule=_("opsboard answers on this machine only. From another machine, open a tunnel:"),
        then=_("Then open"),
        port=port,
    )
    return HttpResponseBadRequest(page)
