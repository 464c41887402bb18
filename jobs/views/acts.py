"""What an operator does with one job. GET asks and shows the answer beforehand, POST acts; every verb the same way."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from jobs.actions.guarded import JobNotFound, Wish, carry_out
from jobs.actions.jobs import ACTS
from jobs.actions.outcomes import STATUS_CODES, Outcome
from jobs.models import Queue
from jobs.permissions import QueueNotVisible, find_queue, require
from jobs.views.job import job_gone, read_page
from jobs.views.landing import asks_first
from jobs.views.requests import SignedInRequest, known_connection, render_page

_LEAVES_NO_PAGE = ("delete_job", "remove_entry")


@asks_first
@require_http_methods(["GET", "HEAD", "POST"])
def act_on_job(request: SignedInRequest, connection: str, queue: str, job_id: str, *, verb: str) -> HttpResponse:
    """GET: what the act would do to this job, and why or why not. POST: do it."""
    if request.method == "POST":
        return _act(request, verb, _wish(request, connection, queue, job_id))
    found = find_queue(request.user, known_connection(connection), queue)
    require(request.user, ACTS[verb].permission, found)
    return _ask(request, verb, found, job_id)


def _ask(request: SignedInRequest, verb: str, queue: Queue, job_id: str, *, mistyped: bool = False) -> HttpResponse:
    page = read_page(request, queue, job_id)
    if page is None or (page.is_gone and verb != "remove_entry"):
        return job_gone(request, queue, job_id, page)
    context = {"page": page, "offer": page.offer(verb), "mistyped": mistyped, "reason": request.POST.get("reason", "")}
    return render_page(request, "confirm_act_page.html", context, status=400 if mistyped else 200)


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
        confirmed=request.POST.get("confirmed", ""),
        typed=request.POST.get("typed", "").strip(),
        now=timezone.now(),
    )


def _act(request: SignedInRequest, verb: str, wish: Wish) -> HttpResponse:
    try:
        outcome = carry_out(ACTS[verb], wish)
    except JobNotFound:
        return job_gone(request, wish.queue, wish.job_id)
    if outcome.is_done:
        messages.success(request, outcome.sentence)
        return redirect(*_next_page(verb, wish))
    if outcome.review is not None:
        messages.warning(request, outcome.sentence)
        return redirect("jobs:review", outcome.review.pk)
    if outcome.is_unconfirmed:
        return _ask(request, verb, wish.queue, wish.job_id, mistyped=True)
    return _say(request, verb, wish, outcome)


def _next_page(verb: str, wish: Wish) -> tuple[str, ...]:
    if verb in _LEAVES_NO_PAGE:
        return "jobs:queue-state", wish.queue.connection, wish.queue.name, "failed"
    return "jobs:job", wish.queue.connection, wish.queue.name, wish.job_id


def _say(request: SignedInRequest, verb: str, wish: Wish, outcome: Outcome) -> HttpResponse:
    place = (wish.queue.connection, wish.queue.name, wish.job_id)
    context = {"outcome": outcome, "verb": verb, "subject": wish.job_id, "back": reverse("jobs:job", args=place)}
    return render_page(request, "act_result_page.html", context, status=STATUS_CODES[outcome.status])
