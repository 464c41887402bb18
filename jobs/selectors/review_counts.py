"""How many reviews are open, queue by queue."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Q

from jobs.models import Review
from jobs.permissions import Visibility


@dataclass(frozen=True)
class ReviewCount:
    """Open reviews, and how many of them are past their age limit."""

    open: int = 0
    overdue: int = 0


def open_review_counts(visibility: Visibility, now: datetime) -> dict[tuple[str, str], ReviewCount]:
    """By (connection, queue), of the queues that one may see and that have any. One query."""
    found = (
        Review.objects.filter(closed_at=None)
        .values_list("operation__connection", "operation__queue")
        .annotate(opened=Count("pk"), overdue=Count("pk", filter=Q(due_at__lte=now)))
        .order_by()
    )
    return {
        (connection, queue): ReviewCount(opened, overdue)
        for connection, queue, opened, overdue in found
        if visibility.sees(connection, queue)
    }
