"""The workers page."""

from __future__ import annotations

from django.http import HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from jobs.permissions import visibility
from jobs.selectors.workers import workers
from jobs.views.requests import SignedInRequest, render_page


@require_safe
def workers_page(request: SignedInRequest) -> HttpResponse:
    """Who works on the queues one may see."""
    stores = workers(visibility(request.user), timezone.now())
    silent = bool(stores) and all(store.unreachable for store in stores)
    return render_page(
        request, "workers_page.html", {"stores": stores}, part="_workers_part.html", status=503 if silent else 200
    )
