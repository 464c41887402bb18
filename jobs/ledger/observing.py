"""Who observes: one leader at a time, by a lease that only its holder renews; and what it last said of its work."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Q

from jobs.models import ObserverState

LEASE = timedelta(seconds=15)
"""After a crash the next observer takes over within this time."""
RETENTION_DAYS = 90
"""How long a failure is kept after its job left Redis, unless OPSBOARD_RETENTION_DAYS says otherwise."""
_NAME = "observer"


def retention_days() -> int:
    """How long that is here."""
    return int(getattr(settings, "OPSBOARD_RETENTION_DAYS", RETENTION_DAYS))


def observer_state() -> ObserverState | None:
    """What is on record; None before any observer has run."""
    return ObserverState.objects.filter(name=_NAME).first()


def hold_lease(holder: UUID, now: datetime, *, host: str, pid: int) -> bool:
    """Take the lease when nobody holds one, or renew it. False while another observer leads."""
    ObserverState.objects.get_or_create(name=_NAME)
    if keep_lease(holder, now, {}):
        return True
    free = Q(holder=None) | Q(lease_until=None) | Q(lease_until__lt=now)
    changed = ObserverState.objects.filter(free, name=_NAME).update(
        holder=holder, lease_until=now + LEASE, leads_since=now, host=host[:255], pid=pid
    )
    return bool(changed)


def keep_lease(holder: UUID, now: datetime, said: Mapping[str, Any]) -> bool:
    """Renew it, also after its time as long as nobody else has taken it; with it goes what the leader `said`.

    `said` are fields of ObserverState: report, last_pass_at.
    """
    return bool(ObserverState.objects.filter(name=_NAME, holder=holder).update(lease_until=now + LEASE, **said))


def give_back_lease(holder: UUID, said: Mapping[str, Any]) -> None:
    """Let the next observer begin at once."""
    ObserverState.objects.filter(name=_NAME, holder=holder).update(holder=None, lease_until=None, **said)
