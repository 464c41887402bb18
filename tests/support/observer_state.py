"""What an observer would have written down of itself."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import uuid4

from django.utils import timezone

from jobs.domain.watch import WatchReport
from jobs.models import ObserverState


def observer_looked(ago: timedelta = timedelta(0), *, now: datetime | None = None, **reports: WatchReport) -> None:
    """It last looked so long ago, and its lease is as old; by default it keeps up with the connection `default`."""
    at = (now or timezone.now()) - ago
    reports = reports or {"default": WatchReport(passed_at=at, swept_at=at, sweep_seconds=0.25, done=3, total=3)}
    ObserverState.objects.update_or_create(
        name="observer",
        defaults={
            "holder": uuid4(),
            "host": "watchtower",
            "pid": 4242,
            "leads_since": at - timedelta(hours=3),
            "lease_until": at + timedelta(seconds=15),
            "last_pass_at": at,
            "report": {name: report.to_json() for name, report in reports.items()},
        },
    )
