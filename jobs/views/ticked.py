"""What is done with the ticked rows of a list: at once, or after a page that asks; and what became of it."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from jobs.actions.ticked import AT_MOST, Press, carry_out_each, turn_away
from jobs.domain.ticks import ASKING, VERBS, BadTick, decode
from jobs.models import NAME_LENGTH
from jobs.permissions import visibility
from jobs.selectors.ticked import PressResult, press_result, prospects
from jobs.views.landing import act, landing_page
from jobs.views.requests import SignedInRequest, known_connection, render_page

_LISTS = {"enqueue_job": "scheduled", "cancel_job": "queued"}
"""Where a verb is offered for ticked jobs, if that is not the list of the failed ones."""


class BadPress(ValueError):
    """What was sent is no press on ticked rows; says why, for the person."""


@act
def ticked(request: SignedInRequest) -> HttpResponse:
    """POST /ticked/ with `connection`, `verb` and a `row` for each job: acts, or asks first."""
    try:
        press = _press(request)
    except BadPress as error:
        messages.error(request, str(error))
        return HttpResponseRedirect(landing_page(request))
    if press.verb in ASKING and not _is_confirmed(request, press):
        return _ask(request, press)
    carry_out_each(press)
    return redirect("jobs:ticked-result", press.batch)


@require_safe
def ticked_result(request: SignedInRequest, batch: UUID) -> HttpResponse:
    """GET /ticked/<batch>/: what became of each job of one's own press. It acts on nothing, however often."""
    result = press_result(request.user, visibility(request.user), batch)
    if result is None:
        raise Http404
    return render_page(request, "ticked_result_page.html", {"result": result, "back": _list_of(result)})


def _list_of(result: PressResult) -> str:
    """Where such jobs are ticked: in the queue's list, or among the failed ones of several queues."""
    if result.queue is None:
        return reverse("jobs:failed")
    return reverse("jobs:queue-state", args=(result.connection, result.queue, _LISTS.get(result.verb, "failed")))


def _press(request: SignedInRequest) -> Press:
    """What was sent. Raises BadPress, and Http404 for a connection that is none."""
    verb, rows = request.POST.get("verb", ""), request.POST.getlist("row")
    if verb not in VERBS:
        raise BadPress(_("Nothing was done: that can not be done with ticked jobs."))
    if not rows:
        raise BadPress(_("Nothing was done: no job was ticked."))
    if len(rows) > AT_MOST:
        raise BadPress(_("Nothing was done: tick %(most)s jobs at most.") % {"most": AT_MOST})
    try:
        ticks = [decode(row, longest=NAME_LENGTH) for row in rows]
    except BadTick:
        raise BadPress(_("Nothing was done: a ticked row could not be read. Please tick again.")) from None
    return Press(
        actor=request.user,
        connection=known_connection(request.POST.get("connection", "")),
        verb=verb,
        ticks=ticks,
        reason=request.POST.get("reason", "").strip(),
    )


def _is_confirmed(request: SignedInRequest, press: Press) -> bool:
    """Whether the person has been asked about every job, and for what can't be undone has typed how many they are."""
    is_typed = press.verb != "delete_job" or request.POST.get("typed", "").strip() == str(len(press.ticks))
    return is_typed and all(tick.confirmed for tick in press.ticks)


def _ask(request: SignedInRequest, press: Press) -> HttpResponse:
    admitted, refused = turn_away(press)
    found = prospects(visibility(request.user), press.connection, press.verb, admitted, timezone.now())
    is_wrong = "typed" in request.POST
    context = {"press": press, "found": found, "refused": refused, "is_wrong": is_wrong, "back": landing_page(request)}
    return render_page(request, "ticked_confirm_page.html", context, status=400 if is_wrong else 200)
