"""What every view shares: the signed-in request, pages and their fragments, cursors from the address."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from django.contrib.auth.models import User
from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django_htmx.middleware import HtmxDetails

from jobs.broker import connections
from jobs.broker.cursors import BadCursor, Cursor, decode
from jobs.broker.errors import UnknownConnection

Place = TypeVar("Place")


class SignedInRequest(HttpRequest):
    """A request behind the sign-in, with htmx's details. Every view but login and health gets one."""

    user: User
    htmx: HtmxDetails


def render_page(
    request: SignedInRequest, template: str, context: dict[str, Any], *, part: str | None = None, status: int = 200
) -> HttpResponse:
    """The page, or for a refresh of it only the part that changes. `now` is the server's clock for all ages."""
    wanted = part if part is not None and request.htmx and not request.htmx.history_restore_request else template
    return render(request, wanted, {"now": timezone.now(), **context}, status=status)


def cursors(request: HttpRequest) -> tuple[Cursor | None, Cursor | None]:
    """(after, before) from the address. Raises BadRequest (400) for a text that is no cursor."""
    try:
        after, before = request.GET.get("after"), request.GET.get("before")
        return (decode(after) if after else None, decode(before) if before and not after else None)
    except BadCursor as error:
        raise BadRequest(str(error)) from None


def places(request: HttpRequest, decode: Callable[[str], Place]) -> tuple[Place | None, Place | None]:
    """(after, before) from the address, for a list in SQL; of two the first counts.

    Raises BadRequest (400) for a text that names no place.
    """
    try:
        after, before = (decode(value) if value else None for value in map(request.GET.get, ("after", "before")))
    except ValueError as error:
        raise BadRequest(str(error)) from None
    return after, None if after else before


def known_connection(name: str) -> str:
    """The name, if it is a configured connection's. Raises Http404."""
    try:
        return connections.get(name).name
    except UnknownConnection:
        raise Http404 from None
