"""From an id to its page."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_safe

from jobs.permissions import visibility
from jobs.selectors.lookup import Found, look_up
from jobs.views.requests import SignedInRequest, render_page


@require_safe
def lookup(request: SignedInRequest) -> HttpResponse:
    """One hit opens its page; none or several are listed."""
    answer = look_up(visibility(request.user), request.GET.get("q", ""))
    if len(answer.found) == 1 and not answer.unreachable:
        return redirect(_address(answer.found[0]))
    rows = [(one, _address(one)) for one in answer.found]
    status = 503 if answer.is_blind and not rows else 200
    return render_page(request, "lookup_page.html", {"lookup": answer, "rows": rows}, status=status)


def _address(found: Found) -> str:
    if found.operation_id:
        return reverse("jobs:operation", args=(found.operation_id,))
    return reverse("jobs:job", args=(found.connection, found.queue, found.job_id))
