"""One operation: everything that is on record of it, in the order of time."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.views.decorators.http import require_safe

from jobs.models import Operation
from jobs.permissions import visibility
from jobs.views.requests import SignedInRequest, render_page


@require_safe
def operation(request: SignedInRequest, operation_id: str) -> HttpResponse:
    """One operation by its id, or a plain job by rq:<connection>:<job id>. 404 also when its queue may not be seen."""
    found = Operation.objects.filter(operation_id=operation_id).first()
    if found is None or not visibility(request.user).sees(found.connection, found.queue):
        raise Http404
    return render_page(request, "operation_page.html", {"operation": found})
