"""From an id to its page."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from jobs.permissions import visibility
from jobs.selectors.lookup import look_up
from jobs.views.requests import SignedInRequest, render_page


@require_safe
def lookup(request: SignedInRequest) -> HttpResponse:
    """One hit opens its page; none or several are listed."""
    answer = look_up(visibility(request.user), request.GET.get("q", ""))
    if len(answer.found) == 1 and not answer.unreachable:
        only = answer.found[0]
        return redirect("jobs:job", only.connection, only.queue, only.job_id)
    return render_page(request, "lookup_page.html", {"lookup": answer}, status=503 if answer.is_blind else 200)
