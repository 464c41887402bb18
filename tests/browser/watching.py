"""A middleware for the served site: a world where the observer is fast."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone

from jobs.broker import connections
from jobs.broker.errors import BrokerUnavailable
from tests.support.observer import sweep_through, walk_through
from tests.support.observer_state import observer_looked

PAGES = frozenset({"/", "/failed/", "/review/", "/observer/"})
"""The pages that show what the observer wrote down."""


def be_watched(get_response: Callable[[HttpRequest], HttpResponseBase]) -> Callable[[HttpRequest], HttpResponseBase]:
    """What failed is on record by the time that a page which lists it is opened, as far as the store answers.

    Here and not in the tests' own process: Playwright calls back in a context of its own, where Django would open a
    connection for each request and never close it. Runs that nobody saw ending are left to the tests, which say when
    they are noticed (tests.support.observer.watch).
    """

    def middleware(request: HttpRequest) -> HttpResponseBase:
        if request.method == "GET" and request.path in PAGES:
            with suppress(BrokerUnavailable):
                _catch_up()
        return get_response(request)

    return middleware


def _catch_up() -> None:
    for connection in connections.names():
        sweep_through(connection, now := timezone.now())
        walk_through(connection, now)
    observer_looked()
