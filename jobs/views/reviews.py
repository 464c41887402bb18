"""The review queue and one review: what is known of a run, and what a person says became of it."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_safe

from jobs.actions import reviews as actions
from jobs.actions.reviews import Answer, Saying
from jobs.domain.verdicts import Verdict
from jobs.domain.watch_state import watch_warnings
from jobs.forms_review import EvidenceForm, forms_for
from jobs.models import Queue
from jobs.permissions import Visibility, find_queue, find_review, visibility
from jobs.selectors.effect_review import effect_review_page
from jobs.selectors.observer import observer_health
from jobs.selectors.review import review_page
from jobs.selectors.reviews import Narrowed, Place, reviews_page
from jobs.views.landing import act
from jobs.views.requests import SignedInRequest, known_connection, places, render_page


@require_safe
def reviews(request: SignedInRequest) -> HttpResponse:
    """GET /review/, narrowed by `queue` with `connection`, `mine`, `overdue`; `show=closed` for the answered ones."""
    now, seen, narrowed = timezone.now(), visibility(request.user), _narrowed(request)
    (after, before), watch = places(request, Place.decode), observer_health(now)
    context = {
        "page": reviews_page(request.user, seen, narrowed, now=now, after=after, before=before),
        "narrowed": narrowed,
        "query": urlencode(narrowed.query),
        "queues": _queues(seen, narrowed),
        "watch": watch,
        "notices": watch_warnings(watch),
        "sees_nothing": not seen.everything and not seen.queues,
        "now": now,
    }
    return render_page(request, "reviews_page.html", context)


@require_safe
def review(request: SignedInRequest, review_id: int) -> HttpResponse:
    """One review: what is known, how to find out, and what may be said."""
    return _show(request, review_id, None, now=timezone.now())


@act
def take(request: SignedInRequest, review_id: int) -> HttpResponse:
    """POST: take the review, so that nobody else decides it meanwhile; or hold on to it for longer."""
    return _answered(request, actions.claim(request.user, review_id, timezone.now()))


@act
def give_back(request: SignedInRequest, review_id: int) -> HttpResponse:
    """POST: give it back."""
    return _answered(request, actions.release(request.user, review_id, timezone.now()))


@act
def resolve(request: SignedInRequest, review_id: int) -> HttpResponse:
    """POST: say what became of the run. What is missing is asked for on the page itself (400)."""
    now, verdict = timezone.now(), _verdict(request)
    form = EvidenceForm(verdict, request.POST, now=now) if verdict else None
    is_whole = form is not None and form.is_valid()
    saying = Saying(
        actor=request.user,
        review_id=review_id,
        # Of what is not whole the action records nothing; it is asked all the same, for it knows who may say anything.
        verdict=verdict or Verdict.ABANDON,
        version=_number(request.POST.get("version", "")),
        seen=request.POST.get("seen", ""),
        given=form.given() if form and is_whole else {},
        look_again_at=form.look_again_at if form and is_whole else None,
        now=now,
    )
    answer = actions.resolve(saying)
    return _answered(request, answer, form) if is_whole else _show(request, review_id, form, now=now, status=400)


def _answered(request: SignedInRequest, answer: Answer, form: EvidenceForm | None = None) -> HttpResponse:
    if answer.is_done:
        messages.success(request, answer.sentence)
        return redirect("jobs:review", answer.review.pk)
    context = {"answer": answer, "typed": form.typed() if form else [], "verdict": form.verdict if form else None}
    return render_page(request, "review_result_page.html", context, status=503 if answer.is_unknown else 409)


def _show(
    request: SignedInRequest, review_id: int, chosen: EvidenceForm | None, *, now: datetime, status: int = 200
) -> HttpResponse:
    """The page of one review; with what was typed and what is wrong with it, after a verdict that wants more (400)."""
    found, queue = find_review(request.user, review_id)
    read = effect_review_page if found.operation.is_layered else review_page
    page, forms = read(request.user, found, queue, now=now), forms_for(chosen, now=now)
    context: dict[str, Any] = {
        "page": page,
        "choices": [(choice, forms[choice.verdict]) for choice in page.choices],
        "chosen": chosen.verdict if chosen else None,
        "is_incomplete": status == 400,
        "zone": timezone.get_current_timezone_name(),
        "now": now,
    }
    template = "effect_review_page.html" if found.operation.is_layered else "review_page.html"
    return render_page(request, template, context, status=status)


def _verdict(request: SignedInRequest) -> Verdict | None:
    try:
        return Verdict(request.POST.get("verdict", ""))
    except ValueError:
        return None


def _number(text: str) -> int:
    """A version as the form sends it; one that no review has for anything else."""
    return int(text) if text.isdecimal() and text.isascii() and len(text) < 10 else -1


def _narrowed(request: SignedInRequest) -> Narrowed:
    """What the address asks for. Raises QueueNotVisible, and Http404 for a connection that there is not."""
    return Narrowed(
        queue=_queue(request),
        mine=bool(request.GET.get("mine")),
        overdue=bool(request.GET.get("overdue")),
        closed=request.GET.get("show") == "closed",
    )


def _queue(request: SignedInRequest) -> Queue | None:
    """By `queue` and `connection`, as links give it, or in one value, as the form sends it."""
    name, connection = request.GET.get("queue", ""), request.GET.get("connection", "")
    if not name:
        return None
    if not connection:
        connection, _colon, name = name.partition(":")
    return find_queue(request.user, known_connection(connection), name)


def _queues(seen: Visibility, narrowed: Narrowed) -> list[tuple[str, bool]]:
    """The queues to choose from, as the form names them, and whether it is the one chosen."""
    chosen = _named(narrowed.queue) if narrowed.queue else ""
    names = {_named(queue) for queue in seen.queues} | ({chosen} if chosen else set())
    return [(name, name == chosen) for name in sorted(names)]


def _named(queue: Queue) -> str:
    """No connection's name holds a colon."""
    return f"{queue.connection}:{queue.name}"
