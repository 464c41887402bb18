"""How wrong passwords are counted where addresses tell people apart."""

from __future__ import annotations

from typing import Any

from axes.handlers.database import AxesDatabaseHandler
from django.conf import settings
from django.db.models import QuerySet, Sum
from django.http import HttpRequest

from opsboard.access.reading import PROXIED


class LockoutHandler(AxesDatabaseHandler):  # type: ignore[misc]  # axes is untyped
    """In local mode by name; in proxied mode by name and address, and by name alone after many more.

    By name alone, whoever reaches the sign-in page could keep a colleague out all day, in the middle of an incident. By
    name and address alone, whoever has many addresses could guess for ever.
    """

    def get_failures(self, request: HttpRequest, credentials: dict[str, Any] | None = None) -> int:
        """A number to hold against AXES_FAILURE_LIMIT, in whose measure the wider limit is scaled down."""
        counts = [_count(attempts) for attempts in self.get_user_attempts(request, credentials)]
        if settings.OPSBOARD_MODE != PROXIED:
            return max(counts)
        by_name, by_name_and_address = counts
        wide: int = settings.OPSBOARD_FAILURE_LIMIT_ANYWHERE
        return max(by_name_and_address, by_name * settings.AXES_FAILURE_LIMIT // wide)


def _count(attempts: QuerySet[Any]) -> int:
    return attempts.aggregate(total=Sum("failures_since_start"))["total"] or 0
