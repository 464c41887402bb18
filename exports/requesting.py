"""A wish for an export is accepted: the record and its operation in one transaction, and the job after its commit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from exports.models import Export
from exports.states import GOING_ON
from exports.tasks import build_export


class TooManyExports(Exception):
    """So many exports of this person are going on that no further one is accepted; `limit`: how many may be."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"{limit} exports of this person are going on")
        self.limit = limit


class TooManyFiles(Exception):
    """So many files are kept for this person that no further one is made; `until`: when the first of them goes."""

    def __init__(self, limit: int, until: datetime) -> None:
        super().__init__(f"{limit} files of this person are kept or being made")
        self.limit, self.until = limit, until


@dataclass(frozen=True)
class Accepted:
    """The export; `is_new` is False where the same one is going on already."""

    export: Export
    is_new: bool


def request_export(owner: User, period: str, order_status: str) -> Accepted:
    """Accept the wish, or return the same wish that is still going on. Raises TooManyExports and TooManyFiles.

    Once this has returned, and its transaction is committed, the export is going to be made: what could not be queued
    at once, since the job store did not answer, is queued by the observer.
    """
    with transaction.atomic():
        _one_at_a_time(owner)
        going_on = Export.objects.filter(owner=owner, operation__status__in=GOING_ON).select_related("operation")
        for export in going_on:
            if (export.period, export.order_status) == (period, order_status):
                return Accepted(export, is_new=False)
        if len(going_on) >= settings.OPSBOARD_EXPORTS_AT_ONCE:
            raise TooManyExports(settings.OPSBOARD_EXPORTS_AT_ONCE)
        _require_room(owner, len(going_on))
        return Accepted(_accept(owner, period, order_status), is_new=True)


def _one_at_a_time(owner: User) -> None:
    """Two clicks of one person wait for each other; on SQLite every transaction that writes does."""
    User.objects.select_for_update(no_key=True).get(pk=owner.pk)


def _require_room(owner: User, going_on: int) -> None:
    """Whoever asks again and again must not fill the disk."""
    kept = Export.objects.filter(owner=owner, removed_at=None, expires_at__gt=timezone.now())
    times = list(kept.order_by("expires_at").values_list("expires_at", flat=True)[: settings.OPSBOARD_EXPORTS_KEPT])
    if times and len(times) + going_on >= settings.OPSBOARD_EXPORTS_KEPT:
        assert times[0] is not None
        raise TooManyFiles(settings.OPSBOARD_EXPORTS_KEPT, times[0])


def _accept(owner: User, period: str, order_status: str) -> Export:
    export = Export(owner=owner, period=period, order_status=order_status, requested_at=timezone.now())
    export.save(force_insert=True)
    export.operation = build_export.submit(export.pk)  # type: ignore[attr-defined]  # of @operation
    export.save(update_fields=["operation"])
    return export
