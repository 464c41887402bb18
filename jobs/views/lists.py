"""Lists of jobs: the failed ones across queues, and one queue's by state."""

from __future__ import annotations

from django.core.exceptions import BadRequest
from django.http import Http404, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from jobs.broker.keys import STATES
from jobs.models import Queue
from jobs.permissions import find_queue, visibility
from jobs.selectors.failures import failed_page
from jobs.selectors.lists import ListPage, queued_page, registry_page, visible_connections
from jobs.selectors.ticked import offer
from jobs.views.failed_filter import read_filter, read_places
from jobs.views.requests import SignedInRequest, cursors, known_connection, render_page

FARTHEST = 10_000_000
"""Positions in a queue beyond this are not asked for."""


@require_safe
def failed(request: SignedInRequest) -> HttpResponse:
    """Failed jobs, newest first, narrowed as views/failed_filter.py reads it; `after` and `before` turn the page."""
    seen, now = visibility(request.user), timezone.now()
    choices = visible_connections(seen)
    narrowed = read_filter(request, choices, now)
    after, before = read_places(request)
    page = failed_page(seen, narrowed.wanted, narrowed.queue, after=after, before=before, now=now)
    return render_page(
        request,
        "failed_page.html",
        {
            "page": page,
            "narrowed": narrowed,
            "offer": offer(request.user, [narrowed.queue] if narrowed.queue else page.queues, "failed"),
            "connections": choices,
            "query": narrowed.query,
        },
        part="_failed_rows_part.html",
        status=400 if narrowed.has_errors else 503 if page.unreachable else 200,
    )


@require_safe
def queue_state(request: SignedInRequest, connection: str, queue: str, state: str) -> HttpResponse:
    """One queue's jobs in one of RQ's states."""
    if state not in STATES:
        raise Http404
    found = find_queue(request.user, known_connection(connection), queue)
    page = _queued(request, found) if state == "queued" else _registry(request, found, state)
    return render_page(
        request,
        "queue_state_page.html",
        {
            "page": page,
            "offer": offer(request.user, [found], state),
            "queue": found,
            "tabs": tuple((one, page.total if one == state else None) for one in STATES),
        },
        part="_state_rows_part.html",
    )


def _queued(request: SignedInRequest, queue: Queue) -> ListPage:
    return queued_page(queue, start=_position(request), now=timezone.now())


def _registry(request: SignedInRequest, queue: Queue, state: str) -> ListPage:
    after, before = cursors(request)
    return registry_page(queue, state, after=after, before=before, now=timezone.now())


def _position(request: SignedInRequest) -> int:
    text = request.GET.get("after") or request.GET.get("before") or "0"
    if not (text.isascii() and text.isdigit()):
        raise BadRequest("A position in a queue is a whole number.")
    return min(int(text[:12]), FARTHEST)
