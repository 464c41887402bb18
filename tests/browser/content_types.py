"""A middleware for the served site: what its processes remember of the database ends with each test."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib.contenttypes.models import ContentType
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from guardian.shortcuts import clear_ct_cache


def forget_content_types(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """Look content types up again for each request: their numbers change when the tests empty the database."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        ContentType.objects.clear_cache()
        clear_ct_cache()
        return get_response(request)

    return middleware
