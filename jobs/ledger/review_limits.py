"""How old a review may become before it counts as overdue."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings

AGE_LIMIT_HOURS = 24


def age_limit() -> timedelta:
    """The limit of the settings (OPSBOARD_REVIEW_AGE_LIMIT_HOURS)."""
    return timedelta(hours=getattr(settings, "OPSBOARD_REVIEW_AGE_LIMIT_HOURS", AGE_LIMIT_HOURS))
