"""Where somebody begins who has signed in and asked for no page in particular."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from exports.permissions import may_export
from jobs.permissions import visibility
from jobs.views.requests import SignedInRequest


@require_safe
def start(request: SignedInRequest) -> HttpResponse:
    """GET /start/: the overview; for who sees no queue there and may ask for exports, those."""
    seen = visibility(request.user)
    sees_nothing = not seen.everything and not seen.queues
    is_here_for_exports = settings.OPSBOARD_EXPORTS and sees_nothing and may_export(request.user)
    return redirect("exports:exports" if is_here_for_exports else "jobs:overview")
