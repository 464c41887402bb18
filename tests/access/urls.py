"""The product's addresses, and some more that fail in every way a view can."""

from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import BadRequest, PermissionDenied
from django.http import Http404, HttpResponse
from django.urls import include, path

from jobs.broker.errors import BrokerUnavailable, UnknownConnection
from opsboard.urls import handler400, handler403, handler404, handler500

__all__ = ["handler400", "handler403", "handler404", "handler500"]


def failing(error):
    @login_not_required
    def view(request):
        raise error

    return view


@login_not_required
def public(request):
    return HttpResponse("hello", headers={"Cache-Control": "public, max-age=99"})


urlpatterns = [
    path("public/", public),
    path("bad/", failing(BadRequest("s3cret"))),
    path("denied/", failing(PermissionDenied("You may not retry jobs in this queue."))),
    path("hidden/", failing(Http404("payroll"))),
    path("broken/", failing(RuntimeError("s3cret"))),
    path("unavailable/", failing(BrokerUnavailable("payroll-store", "it refuses our password"))),
    path("unknown-store/", failing(UnknownConnection("s3cret"))),
    path("", include("opsboard.urls")),
]
