"""Sign-in is required on every page that is not marked `login_not_required`, and a lost session loses no one's way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string
from django.urls import reverse

from jobs.views.landing import landing_page, page_at_or_above

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


class SignInRequiredMiddleware(LoginRequiredMiddleware):
    """Sends who is signed out to the sign-in page, and from there to a page: an act is never repeated by itself."""

    def handle_no_permission(  # type: ignore[override]  # any answer will do for the caller
        self, request: HttpRequest, view_func: Callable[..., Any]
    ) -> HttpResponseBase:
        _end_dead_session(request)
        if request.headers.get("HX-Request") == "true":
            return _signed_out_part(request)
        query = {self.redirect_field_name: landing_page(request)}
        if request.method not in _SAFE_METHODS:
            query["lost"] = "1"
        return HttpResponseRedirect(f"{reverse('jobs:login')}?{urlencode(query)}")


def _signed_out_part(request: HttpRequest) -> HttpResponse:
    """A few words for a page that refreshes itself; a sign-in form would land inside one of its tables."""
    page = page_at_or_above(request.headers.get("HX-Current-URL", "/"))
    login_url = f"{reverse('jobs:login')}?{urlencode({'next': page})}"
    return HttpResponse(render_to_string("_signed_out_part.html", {"login_url": login_url}), status=401)


def _end_dead_session(request: HttpRequest) -> None:
    """A session whose account was switched off or deleted ends for good, even if the account comes back."""
    if SESSION_KEY in request.session:
        request.session.flush()
