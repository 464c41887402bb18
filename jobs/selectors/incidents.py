"""What operations tell of the system as a whole: repeats that were skipped, and evidence that contradicts itself."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Q, QuerySet

from jobs.domain.operations import DedupCause
from jobs.models import OperationEvent
from jobs.permissions import Visibility
from jobs.selectors.lists import in_visible_queues

DAY, WEEK = timedelta(days=1), timedelta(days=7)
MOST_INCIDENTS = 100
"""So many of the newest are looked at; more than that are one incident anyway."""


@dataclass(frozen=True, kw_only=True)
class Repeats:
    """How many deliveries that were not needed one cause has brought. `cause`: a DedupCause."""

    cause: str
    last_day: int
    last_week: int


def repeats_skipped(seen: Visibility, now: datetime) -> tuple[Repeats, ...]:
    """By cause, those of the last seven days in queues that one may see; also causes that brought none. One query."""
    found = (
        _events(seen, OperationEvent.Kind.DEDUP, now)
        .values_list("code")
        .annotate(day=Count("pk", filter=Q(at__gte=now - DAY)), week=Count("pk"))
        .order_by()
    )
    counted = {code: (day, week) for code, day, week in found}
    causes = [*DedupCause, *sorted(counted.keys() - set(DedupCause))]
    told = [(str(cause), *counted.get(str(cause), (0, 0))) for cause in causes]
    return tuple(Repeats(cause=cause, last_day=day, last_week=week) for cause, day, week in told)


def contradicted_operations(seen: Visibility, now: datetime) -> list[str]:
    """Ids of operations with contradicting evidence of the last seven days, the newest first. One query."""
    events = _events(seen, OperationEvent.Kind.CONTRADICTION, now).order_by("-at", "-pk")
    ids = events.values_list("operation__operation_id", flat=True)[:MOST_INCIDENTS]
    return list(dict.fromkeys(ids))


def _events(seen: Visibility, kind: str, now: datetime) -> QuerySet[OperationEvent]:
    recent = OperationEvent.objects.filter(kind=kind, at__gte=now - WEEK)
    return recent.filter(in_visible_queues(seen, "operation__"))
