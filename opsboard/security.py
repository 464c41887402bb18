"""Headers that Django and django-csp do not set, and the switch that makes everything read-only."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.translation import gettext as _

from opsboard.errors import forbidden_page

NO_STORE = "no-store, private"

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_HEADERS = {
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class SecurityHeadersMiddleware:
    """Adds the remaining headers to every answer; outermost, so that refusals and error pages carry them too."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        for name, value in _HEADERS.items():
            response.headers[name] = value
        if not _is_static_file(request, response):
            response.headers["Cache-Control"] = NO_STORE
        return response


class ReadOnlyMiddleware:
    """With OPSBOARD_READ_ONLY=1, refuses everything that could change something, but signing in and out."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if settings.OPSBOARD_READ_ONLY and request.method not in _SAFE_METHODS and not _is_session_act(request):
            return forbidden_page(_("Nothing was done. This opsboard is read-only."))
        return self.get_response(request)


def _is_static_file(request: HttpRequest, response: HttpResponseBase) -> bool:
    """Found files only: WhiteNoise has set how long those may be kept. A 404 below /static/ is a page like others."""
    return request.path_info.startswith(settings.STATIC_URL) and response.status_code in {200, 206, 304}


def _is_session_act(request: HttpRequest) -> bool:
    return request.path_info in {reverse("jobs:login"), reverse("jobs:logout")}
