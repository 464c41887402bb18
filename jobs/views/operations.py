"""One operation: everything that is on record of it, in the order of time."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from jobs.permissions import visibility
from jobs.selectors.operation import operation_page
from jobs.views.requests import SignedInRequest, render_page


@require_safe
def operation(request: SignedInRequest, operation_id: str) -> HttpResponse:
    """One operation by its id, or a plain job by rq:<connection>:<job id>. 404 also when its queue may not be seen."""
    now = timezone.now()
    page = operation_page(request.user, visibility(request.user), operation_id, now=now)
    if page is None:
        raise Http404
    return render_page(request, "operation_page.html", {"page": page, "now": now})
