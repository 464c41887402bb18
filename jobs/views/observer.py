"""The observer's own page: whether it keeps up, and what keeps it from reading."""

from __future__ import annotations

from django.http import HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from jobs.permissions import visibility
from jobs.selectors.observer import observer_page
from jobs.views.requests import SignedInRequest, render_page


@require_safe
def observer(request: SignedInRequest) -> HttpResponse:
    """How the observer stands, and what it says of the connections on which one may see anything."""
    page = observer_page(request.user, visibility(request.user), timezone.now())
    return render_page(request, "observer_page.html", {"page": page}, part="_observer_part.html")
