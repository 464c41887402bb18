"""What an operator presses: retry, and delete with its confirmation. Each view names one act and hands over."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from jobs.actions.guarded import JobNotFound, Wish
from jobs.actions.jobs import delete_job, retry_job
from jobs.actions.outcomes import CHANGED, NOT_DONE, REFUSED, UNKNOWN, Outcome
from jobs.domain.findings import Finding
from jobs.models import Queue
from jobs.permissions import Permission, QueueNotVisible, find_queue, require
from jobs.views.job import job_gone, read_page
from jobs.views.landing import act
from jobs.views.requests import SignedInRequest, known_connection, render_page

_STATUS = {REFUSED: 409, CHANGED: 409, NOT_DONE: 503, UNKNOWN: 503}
"""What a client learns of an act that was not carried out, or not known to be."""


@act
def retry(request: SignedInRequest, connection: str, queue: str, job_id: str) -> HttpResponse:
    """Put one failed job back on its queue, if the rules allow it."""
    wish = _wish(request, connection, queue, job_id)
    return _carry_out(request, wish, "retry_job", retry_job, then=("jobs:job", connection, queue, job_id))


@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: SignedInRequest, connection: str, queue: str, job_id: str) -> HttpResponse:
    """GET asks, POST deletes."""
    if request.method == "POST":
        wish = _wish(request, connection, queue, job_id)
        then = ("jobs:queue-state", connection, queue, "failed")
        return _carry_out(request, wish, "delete_job", delete_job, then=then)
    return _confirm_delete(request, find_queue(request.user, known_connection(connection), queue), job_id)


def _confirm_delete(request: SignedInRequest, queue: Queue, job_id: str) -> HttpResponse:
    require(request.user, Permission.DELETE_JOB, queue)
    page = read_page(request, queue, job_id)
    if page is None or page.state == Finding.GONE:
        return job_gone(request, queue, job_id, is_listed=page is not None)
    return render_page(request, "confirm_delete_page.html", {"page": page})


def _wish(request: SignedInRequest, connection: str, queue: str, job_id: str) -> Wish:
    try:
        found = find_queue(request.user, known_connection(connection), queue)
    except QueueNotVisible:
        # The act itself refuses, so that the attempt is on record.
        found = Queue(connection=connection, name=queue)
    return Wish(
        actor=request.user,
        queue=found,
        job_id=job_id,
        seen=request.POST.get("seen", ""),
        reason=request.POST.get("reason", "").strip(),
        now=timezone.now(),
    )


def _carry_out(
    request: SignedInRequest, wish: Wish, verb: str, do: Callable[[Wish], Outcome], *, then: tuple[str, ...]
) -> HttpResponse:
    try:
        outcome = do(wish)
    except JobNotFound:
        return job_gone(request, wish.queue, wish.job_id)
    if outcome.is_done:
        messages.success(request, outcome.sentence)
        return redirect(then[0], *then[1:])
    context = {
        "outcome": outcome,
        "verb": verb,
        "connection": wish.queue.connection,
        "queue": wish.queue.name,
        "job_id": wish.job_id,
    }
    return render_page(request, "act_result_page.html", context, status=_STATUS[outcome.status])
