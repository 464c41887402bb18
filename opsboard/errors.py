"""The pages for what went wrong. None of them needs a database, a session or a template context."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from jobs.broker.errors import BrokerUnavailable, UnknownConnection
from jobs.views.landing import way_back

RETRY_SECONDS = 5
RESET_COMMAND = "python manage.py axes_reset_username NAME"

log = structlog.get_logger("opsboard.errors")


class BrokerErrorsMiddleware:
    """Turns what the broker raises into pages: a store that does not answer is 503, an unknown one is 404."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if isinstance(exception, UnknownConnection):
            return not_found(request, exception)
        if not isinstance(exception, BrokerUnavailable):
            return None
        log.warning("job store unavailable", connection=exception.connection, cause=exception.cause)
        # Whoever acts raises this only before anything was attempted.
        answer = _page("503.html", 503, retry_seconds=RETRY_SECONDS, is_not_done=request.method == "POST")
        answer.headers["Retry-After"] = str(RETRY_SECONDS)
        return answer


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """handler400."""
    return _page("400.html", 400)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """handler403. `require` raises with a sentence about a queue that the person may see, so it can be shown."""
    return forbidden_page(str(exception), back=way_back(request))


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """handler404. One answer for what does not exist and for what may not be seen."""
    return _page("404.html", 404)


def server_error(request: HttpRequest) -> HttpResponse:
    """handler500. Also answers when the template itself is what is broken."""
    try:
        return _page("500.html", 500)
    except Exception:
        log.exception("the page for errors failed")
        return HttpResponse("Something went wrong here. The log says what.", status=500, content_type="text/plain")


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """CSRF_FAILURE_VIEW: a form from before signing in, from another site, or without its token."""
    sentence = _("Nothing was done. The page was too old, or the request came from another site; please open it again.")
    return forbidden_page(sentence, back=way_back(request))


def locked_out(request: HttpRequest, response: HttpResponseBase | None, credentials: dict[str, Any]) -> HttpResponse:
    """AXES_LOCKOUT_CALLABLE. Says the same for names that exist and names that do not."""
    cooloff: timedelta = settings.AXES_COOLOFF_TIME
    return _page("429.html", 429, minutes=int(cooloff.total_seconds() // 60), command=RESET_COMMAND)


def forbidden_page(reason: str, *, back: str = "/") -> HttpResponse:
    """A 403 page with one sentence and a way back."""
    return _page("403.html", 403, reason=reason, back=back)


def _page(template: str, status: int, **context: Any) -> HttpResponse:
    """Rendered without the request, so that no context processor can touch a session or a database."""
    return HttpResponse(render_to_string(template, context), status=status)
