"""What the cabinet shows: the exports of one person, each as it stands at this moment. SQL alone is asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import islice

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Q, QuerySet
from django.http import Http404
from django.utils import timezone
from django.utils.translation import gettext as _

from exports.downloads import file_name
from exports.mail_states import MailNews, MailState, mail_news
from exports.models import Export, Order
from exports.states import ExportState, accepted, reason_of, state_of
from jobs.models import Operation
from jobs.selectors.paging import PAGE_SIZE, TimedPlace, read_sheet

_MONTHS_OFFERED = 24


@dataclass(frozen=True)
class ShownExport:
    """One export as its owner sees it at this moment."""

    export: Export
    now: datetime

    @cached_property
    def state(self) -> ExportState:
        return state_of(self.export, self.now)

    @property
    def is_going_on(self) -> bool:
        """Whether its file is still to come."""
        return self.state in (ExportState.ACCEPTED, ExportState.RUNNING)

    @property
    def is_moving(self) -> bool:
        """Whether what is shown may change by itself."""
        return self.is_going_on or self.mail.state is MailState.ON_ITS_WAY

    @property
    def is_ready(self) -> bool:
        return self.state is ExportState.READY

    @property
    def has_mail_news(self) -> bool:
        return self.mail.state is not MailState.NONE

    @property
    def has_mail_server(self) -> bool:
        return bool(settings.OPSBOARD_HAS_MAIL_SERVER)

    @cached_property
    def mail(self) -> MailNews:
        return mail_news(self.export)

    @property
    def progress(self) -> tuple[int, int] | None:
        """Rows that the attempt which runs now has written, and all; None without one, or before it has counted."""
        operation = self._operation
        if operation.status != Operation.Status.RUNNING or not operation.progress_total:
            return None
        return min(operation.progress_done or 0, operation.progress_total), operation.progress_total

    @property
    def sentence(self) -> str:
        """The state, as one says it to somebody who waits. No time is promised: nobody knows it."""
        if self.state is ExportState.RUNNING and self._operation.status != Operation.Status.RUNNING:
            return self._between_attempts
        return {
            ExportState.ACCEPTED: accepted(),
            ExportState.RUNNING: _("It is being made; you may close this page."),
            ExportState.READY: _("The file is ready."),
            ExportState.FAILED: reason_of(self.export),
            ExportState.EXPIRED: _("The time of its file is over: it is kept no longer."),
        }[self.state]

    @property
    def _between_attempts(self) -> str:
        if self._operation.last_error:
            return _("An attempt to make it did not succeed; the next one follows by itself.")
        if self._operation.status == Operation.Status.RETRY_WAIT:
            return _("Its worker was stopped; it goes on by itself.")
        return _("It goes on as soon as a worker is free; you may close this page.")

    @property
    def may_ask_again(self) -> bool:
        """Whether the same wish makes sense once more: not where it would fail alike, or somebody looks into it."""
        is_cancelled = self._operation.status == Operation.Status.CANCELLED
        return self.state is ExportState.EXPIRED or (self.state is ExportState.FAILED and is_cancelled)

    @property
    def file_name(self) -> str:
        return file_name(self.export)

    @property
    def _operation(self) -> Operation:
        assert self.export.operation is not None
        return self.export.operation


@dataclass(frozen=True)
class ExportsPage:
    """`previous` and `next` are places for the address, None where there is nothing more in that direction."""

    rows: tuple[ShownExport, ...]
    previous: str | None
    next: str | None


def exports_page(owner: User, now: datetime, *, after: TimedPlace | None, before: TimedPlace | None) -> ExportsPage:
    """One page of a person's own exports, the newest first: those after a place, or before it."""
    sheet = read_sheet(lambda *beyond: _read(owner, *beyond), _place, after=after, before=before)
    return ExportsPage(
        rows=tuple(ShownExport(one, now) for one in sheet.rows),
        previous=sheet.first.encode() if sheet.first else None,
        next=sheet.last.encode() if sheet.last else None,
    )


def find_export(owner: User, export_id: int, now: datetime) -> ShownExport:
    """The export, if it is this person's. Raises Http404: nobody learns whether there is one of somebody else's."""
    export = _own(owner).filter(pk=export_id).first()
    if export is None:
        raise Http404
    return ShownExport(export, now)


def offered_periods() -> list[str]:
    """Periods for which there are orders, as one may ask for them: years, quarters and months, the newest first."""
    placed = Order.objects.values_list("placed_at", flat=True)
    first, last = placed.order_by("placed_at").first(), placed.order_by("-placed_at").first()
    if first is None or last is None:
        return []
    zone = timezone.get_default_timezone()
    months = list(islice(_months_back(last.astimezone(zone), first.astimezone(zone)), _MONTHS_OFFERED))
    years = dict.fromkeys(f"{year:04}" for year, _month in months)
    quarters = dict.fromkeys(f"{year:04}-Q{(month + 2) // 3}" for year, month in months)
    return [*years, *quarters, *(f"{year:04}-{month:02}" for year, month in months)]


# ----------------------------------------------------------------------------------------------------------------------


def _own(owner: User) -> QuerySet[Export]:
    """One's own, with all that is shown of them."""
    own = Export.objects.filter(owner=owner).select_related("operation", "mail_operation")
    return own.prefetch_related("mail_operation__effects")


def _read(owner: User, place: TimedPlace | None, is_backwards: bool) -> list[Export]:
    found = _own(owner)
    if place:
        word = "gt" if is_backwards else "lt"
        beyond = Q(**{f"requested_at__{word}": place.at})
        found = found.filter(beyond | Q(requested_at=place.at, **{f"pk__{word}": place.pk}))
    order = ("requested_at", "pk") if is_backwards else ("-requested_at", "-pk")
    return list(found.order_by(*order)[: PAGE_SIZE + 1])


def _place(export: Export) -> TimedPlace:
    return TimedPlace(export.requested_at, export.pk)


def _months_back(last: datetime, first: datetime) -> Iterator[tuple[int, int]]:
    """Years and months, from the last to the first."""
    month = 12 * last.year + last.month - 1
    while month >= 12 * first.year + first.month - 1:
        yield month // 12, month % 12 + 1
        month -= 1
