"""The overview and the table of queues: the same read, two looks."""

from __future__ import annotations

from django.http import HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from jobs.permissions import visibility
from jobs.selectors.overview import Overview, overview
from jobs.views.requests import SignedInRequest, render_page


@require_safe
def overview_page(request: SignedInRequest) -> HttpResponse:
    """One verdict, then every visible queue, the worst first."""
    page = overview(visibility(request.user), timezone.now())
    return render_page(request, "overview_page.html", {"page": page}, part="_overview_part.html", status=_status(page))


@require_safe
def queues_page(request: SignedInRequest) -> HttpResponse:
    """Every visible queue with its jobs counted by state."""
    page = overview(visibility(request.user), timezone.now())
    return render_page(request, "queues_page.html", {"page": page}, part="_queues_part.html", status=_status(page))


def _status(page: Overview) -> int:
    """503 when no store answered: then the page knows nothing."""
    return 503 if page.stores and all(store.unreachable for store in page.stores) else 200
