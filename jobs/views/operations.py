"""One operation: everything that is on record of it, in the order of time, and what may be done with it."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from jobs.actions.jobs import ACTS
from jobs.actions.operations import OperationWish, cancel_operation, retry_operation
from jobs.actions.outcomes import STATUS_CODES, Outcome
from jobs.permissions import OperationNotVisible, find_operation, require, visibility
from jobs.selectors.layered_operation import LayeredPage, layered_page
from jobs.selectors.operation import operation_page
from jobs.views.landing import asks_first
from jobs.views.requests import SignedInRequest, render_page


@require_safe
def operation(request: SignedInRequest, operation_id: str) -> HttpResponse:
    """One operation by its id, or a plain job by rq:<connection>:<job id>. 404 also when its queue may not be seen."""
    try:
        page = _layered(request, operation_id)
    except OperationNotVisible:
        return _plain(request, operation_id)
    return render_page(request, "layered_operation_page.html", {"page": page}, part="_operation_state_part.html")


@asks_first
@require_http_methods(["GET", "HEAD", "POST"])
def act_on_operation(request: SignedInRequest, operation_id: str, *, verb: str) -> HttpResponse:
    """GET: what the act would do, and why or why not. POST: do it."""
    if request.method == "POST":
        return _act(request, operation_id, verb)
    _found, queue = find_operation(request.user, operation_id)
    require(request.user, ACTS[verb].permission, queue)
    return _ask(request, operation_id, verb)


# ----------------------------------------------------------------------------------------------------------------------


def _plain(request: SignedInRequest, operation_id: str) -> HttpResponse:
    now = timezone.now()
    page = operation_page(request.user, visibility(request.user), operation_id, now=now)
    if page is None:
        raise Http404
    return render_page(request, "operation_page.html", {"page": page, "now": now})


def _layered(request: SignedInRequest, operation_id: str) -> LayeredPage:
    found, queue = find_operation(request.user, operation_id)
    return layered_page(request.user, found, queue, now=timezone.now())


def _ask(request: SignedInRequest, operation_id: str, verb: str, *, status: int = 200) -> HttpResponse:
    page = _layered(request, operation_id)
    context = {
        "page": page,
        "offer": page.offer(verb),
        "is_unconfirmed": status == 400,
        "reason": request.POST.get("reason", ""),
    }
    return render_page(request, "confirm_operation_page.html", context, status=status)


def _act(request: SignedInRequest, operation_id: str, verb: str) -> HttpResponse:
    wish = OperationWish(
        actor=request.user,
        operation_id=operation_id,
        seen=_number(request.POST.get("seen", "")),
        reason=request.POST.get("reason", "").strip(),
        confirmed=request.POST.get("confirmed", ""),
        now=timezone.now(),
    )
    outcome = cancel_operation(wish) if verb == "cancel_job" else retry_operation(ACTS[verb], wish)
    if outcome.is_done:
        messages.success(request, outcome.sentence)
        return redirect("jobs:operation", operation_id)
    if outcome.review is not None:
        messages.warning(request, outcome.sentence)
        return redirect("jobs:review", outcome.review.pk)
    if outcome.is_unconfirmed:
        return _ask(request, operation_id, verb, status=400)
    return _say(request, operation_id, verb, outcome)


def _say(request: SignedInRequest, operation_id: str, verb: str, outcome: Outcome) -> HttpResponse:
    context = {
        "outcome": outcome,
        "verb": verb,
        "subject": operation_id,
        "back": reverse("jobs:operation", args=(operation_id,)),
    }
    return render_page(request, "act_result_page.html", context, status=STATUS_CODES[outcome.status])


def _number(text: str) -> int:
    """A version as the form sends it; one that no operation has for anything else."""
    return int(text) if text.isdecimal() and text.isascii() and len(text) < 10 else -1
