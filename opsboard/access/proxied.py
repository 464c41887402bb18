"""Proxied mode: a request is answered when the trusted proxy hands it on, for one of our names, and says: by https.

What a client could have written itself is not believed. Of `X-Forwarded-For` only the last value counts, which is the
proxy's own; every other header of that kind (`Forwarded`, `X-Forwarded-Host`, `X-Real-IP` …) is taken out rather than
refused, since proxies in use add some of them unasked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from ipaddress import IPv6Address, IPv6Network
from typing import Any

import structlog
from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from opsboard.access.addresses import parse_address, parse_bind, parse_proxy
from opsboard.access.page import lines, paragraph, refusal_page
from opsboard.access.reading import PROXIED
from opsboard.access.target import is_whole_url

log = structlog.get_logger("opsboard.access")

PROTO, FOR = "HTTP_X_FORWARDED_PROTO", "HTTP_X_FORWARDED_FOR"
_CLAIMS = ("HTTP_FORWARDED", "HTTP_X_REAL_IP")
_CLAIM_PREFIX = "HTTP_X_FORWARDED"
_HTTPS_PORT = ":443"


class ProxiedMiddleware:
    """Answers 400 to whatever did not come through our proxy. Stands before WhiteNoise, as the one of local mode."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        reason = refusal(request.META)
        if reason is None:
            _keep_what_is_checked(request.META)
            return self.get_response(request)
        log.warning("request refused", reason=reason, peer=request.META.get("REMOTE_ADDR"))
        return _explain(reason)


def refusal(environ: Mapping[str, Any]) -> str | None:
    """Why a request with this WSGI environment is not believed, in one sentence; None when it is."""
    if not _is_proxy(str(environ.get("REMOTE_ADDR", ""))):
        return _("It did not come from the proxy.")
    if is_whole_url(environ):
        return _("It asks for a whole URL, which only proxies are sent.")
    if _host(environ) not in settings.OPSBOARD_HOSTS:
        return _("It was not addressed to a name of this opsboard.")
    # gunicorn joins a header that is there twice with a comma.
    if environ.get(PROTO) != "https":
        return _("The proxy does not say, once, that it was asked by https.")
    if parse_address(_last_for(environ)) is None:
        return _("The proxy does not say which address asked it.")
    return None


def client_address(request: HttpRequest) -> str:
    """AXES_CLIENT_IP_CALLABLE: who guesses passwords, as the trusted proxy says; in local mode the peer.

    Of IPv6 the network, since whoever has one address of it has them all.
    """
    if settings.OPSBOARD_MODE != PROXIED:
        return str(request.META.get("REMOTE_ADDR", ""))
    address = parse_address(_last_for(request.META))
    if isinstance(address, IPv6Address):
        return str(IPv6Network((int(address), 64), strict=False).network_address)
    return str(address or "")


def _is_proxy(peer: str) -> bool:
    """No address means a Unix socket; only when that is where we listen can nobody else have come from one."""
    if not peer:
        return isinstance(parse_bind(settings.OPSBOARD_BIND), str)
    address = parse_address(peer)
    networks = map(parse_proxy, settings.OPSBOARD_TRUSTED_PROXIES)
    return address is not None and any(network is not None and address in network for network in networks)


def _host(environ: Mapping[str, Any]) -> str:
    return str(environ.get("HTTP_HOST", "")).lower().removesuffix(_HTTPS_PORT)


def _last_for(environ: Mapping[str, Any]) -> str:
    return str(environ.get(FOR, "")).rpartition(",")[2].strip()


def _keep_what_is_checked(environ: MutableMapping[str, Any]) -> None:
    for name in [name for name in environ if name in _CLAIMS or name.startswith(_CLAIM_PREFIX)]:
        if name not in {PROTO, FOR}:
            del environ[name]
    environ[FOR] = _last_for(environ)
    # One spelling: Django compares it with Origin, in which a browser never writes :443.
    environ["HTTP_HOST"] = _host(environ)


def _explain(reason: str) -> HttpResponseBase:
    return refusal_page(
        reason,
        paragraph(_("opsboard answers through its proxy only, which redirects plain http itself and sends with it:")),
        lines(
            "Host: " + _("the name that was asked for"),
            "X-Forwarded-Proto: https",
            "X-Forwarded-For: " + _("the address that asked"),
        ),
    )
