"""Lists of jobs: the failed ones across queues, and one queue's by state."""

from __future__ import annotations

from urllib.parse import urlencode

from django.core.exceptions import BadRequest
from django.http import Http404, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from jobs.broker.errors import BrokerUnavailable
from jobs.broker.keys import STATES
from jobs.models import Queue
from jobs.permissions import Visibility, find_queue, visibility
from jobs.selectors.lists import ListPage, failed_page, queued_page, registry_page, visible_connections
from jobs.selectors.ticked import offer, queues_of
from jobs.views.requests import SignedInRequest, cursors, known_connection, render_page

FARTHEST = 10_000_000
"""Positions in a queue beyond this are not asked for."""


@require_safe
def failed(request: SignedInRequest) -> HttpResponse:
    """Failed jobs, newest first: `connection` and `queue` narrow, `after` and `before` turn the page."""
    seen = visibility(request.user)
    choices = visible_connections(seen)
    connection = _chosen_connection(request, choices)
    queue = _chosen_queue(request, connection)
    after, before = cursors(request)
    page, unreachable = None, ""
    if connection:
        try:
            page = failed_page(seen, connection, queue, after=after, before=before, now=timezone.now())
        except BrokerUnavailable as error:
            unreachable = error.cause
    page = page or _empty(connection, queue, seen)
    return render_page(
        request,
        "failed_page.html",
        {
            "page": page,
            "offer": offer(request.user, queues_of(seen, page), "failed"),
            "connections": choices,
            "store_unreachable": unreachable,
            "query": urlencode({"connection": connection, **({"queue": queue.name} if queue else {})}),
        },
        part="_failed_rows_part.html",
        status=503 if unreachable else 200,
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


def _chosen_connection(request: SignedInRequest, choices: list[str]) -> str:
    """The connection asked for, else the first one may see; '' when there is none."""
    wanted = request.GET.get("connection")
    if wanted and wanted not in choices:
        raise Http404
    return wanted or (choices[0] if choices else "")


def _chosen_queue(request: SignedInRequest, connection: str) -> Queue | None:
    name = request.GET.get("queue")
    return find_queue(request.user, connection, name) if name and connection else None


def _empty(connection: str, queue: Queue | None, seen: Visibility) -> ListPage:
    return ListPage(
        connection=connection,
        queue=queue.name if queue else None,
        state="failed",
        rows=(),
        total=0,
        newer=None,
        older=None,
        is_first=True,
        queues=tuple(one.name for one in seen.queues if one.connection == connection),
    )
