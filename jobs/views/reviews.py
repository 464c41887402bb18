"""The review queue and one review: what is known of a run, and what a person says became of it."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_safe

from jobs.actions.reviews import Answer, claim, release
from jobs.permissions import find_review
from jobs.views.landing import act
from jobs.views.requests import SignedInRequest, render_page


@require_safe
def reviews(request: SignedInRequest) -> HttpResponse:
    """GET /review/: the open reviews of the queues that one may see."""
    return render_page(request, "reviews_page.html", {})


@require_safe
def review(request: SignedInRequest, review_id: int) -> HttpResponse:
    """One review: what is known, how to find out, and what may be said."""
    found, _queue = find_review(request.user, review_id)
    return render_page(request, "review_page.html", {"review": found})


@act
def take(request: SignedInRequest, review_id: int) -> HttpResponse:
    """POST: take the review, so that nobody else decides it meanwhile."""
    return _answered(request, claim(request.user, review_id, timezone.now()))


@act
def give_back(request: SignedInRequest, review_id: int) -> HttpResponse:
    """POST: give it back."""
    return _answered(request, release(request.user, review_id, timezone.now()))


def _answered(request: SignedInRequest, answer: Answer) -> HttpResponse:
    if answer.is_done:
        messages.success(request, answer.sentence)
        return redirect("jobs:review", answer.review.pk)
    return render_page(request, "review_result_page.html", {"answer": answer}, status=409)
