"""The root of all addresses. No admin site, and none of django-rq's pages."""

from __future__ import annotations

from django.conf import settings
from django.urls import include, path

from opsboard.start import start

urlpatterns = [
    path("start/", start, name="start"),
    path("", include("jobs.urls")),
]
if settings.OPSBOARD_EXPORTS:
    urlpatterns.append(path("exports/", include("exports.urls")))

handler400 = "opsboard.errors.bad_request"
handler403 = "opsboard.errors.permission_denied"
handler404 = "opsboard.errors.not_found"
handler500 = "opsboard.errors.server_error"
