"""Is this process able to serve? For supervisors; says nothing about jobs."""

from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe


@login_not_required
@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """200 when the process and its database answer, 503 when the database does not.

    The job stores are not asked: a web process that says "Redis is down" does its duty and must not be restarted.
    """
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return JsonResponse({"status": "no database"}, status=503)
    return JsonResponse({"status": "ok"})
