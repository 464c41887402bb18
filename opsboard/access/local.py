"""Local-only mode: a request is answered when it was made on this machine, to a loopback name, by no proxy.

Listening on 127.0.0.1 alone is not enough: a web page whose name was pointed to 127.0.0.1 reads everything a browser on
this machine may read, unless the Host header is looked at (DNS rebinding).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from opsboard.access.addresses import is_loopback
from opsboard.access.page import lines, paragraph, refusal_page
from opsboard.access.target import is_whole_url

log = structlog.get_logger("opsboard.access")

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
    return is_whole_url(environ) or any(name in _PROXY_SIGNS or name.startswith(_PROXY_PREFIX) for name in environ)


def _explain(reason: str, environ: Mapping[str, Any]) -> HttpResponse:
    port = str(environ.get("SERVER_PORT", ""))
    port = port if port.isdecimal() else str(settings.OPSBOARD_PORT)
    return refusal_page(
        reason,
        paragraph(_("opsboard answers on this machine only. From another machine, open a tunnel:")),
        lines(f"ssh -L {port}:127.0.0.1:{port} user@this-machine"),
        paragraph(_("Then open %(address)s") % {"address": f"http://localhost:{port}/"}),
        paragraph(_("To be reached by a name, behind a proxy with TLS, it has to be started with:")),
        lines("OPSBOARD_MODE=proxied", "OPSBOARD_HOST=…"),
    )
