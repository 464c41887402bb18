"""The cabinet: what a person asked for, how far it is, and the way to its file."""

from __future__ import annotations

from django.http import Http404, HttpResponse

from jobs.views.requests import SignedInRequest


def exports(request: SignedInRequest) -> HttpResponse:
    """GET /exports/: the list. POST: a wish for an export."""
    raise Http404


def export(request: SignedInRequest, export_id: int) -> HttpResponse:
    """GET /exports/<id>/."""
    raise Http404


def file(request: SignedInRequest, export_id: int) -> HttpResponse:
    """GET /exports/<id>/file/."""
    raise Http404
