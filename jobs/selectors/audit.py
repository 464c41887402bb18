"""What the page Audit shows: who did or asked for what, as far as the reader may know of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet

from jobs.broker import connections
from jobs.models import AuditEntry, Queue
from jobs.permissions import RIGHT_FOR, Permission, Visibility, may
from jobs.selectors.paging import PAGE_SIZE, read_sheet, stamp_of, time_of_stamp

LOOKED_AT = 500
"""Newest entries whose people are suggested; anybody else's name can be typed."""
DECLARATIONS = "declare_job_type"
"""The one verb of entries that belong to no queue and may be read by others than superusers."""

_PLACE = re.compile(r"(\d{1,17})-([0-9a-f]{32})", re.ASCII)


@dataclass(frozen=True)
class Place:
    """An entry's place in the audit, as it stands in an address; the entry itself need not be there."""

    at: datetime
    pk: UUID

    def encode(self) -> str:
        return f"{stamp_of(self.at)}-{self.pk.hex}"

    @classmethod
    def decode(cls, text: str) -> Place:
        """The place in an address. Raises ValueError for anything that `encode` did not make."""
        match = _PLACE.fullmatch(text)
        if match is None:
            raise ValueError("This address does not name a place in the audit.")
        return cls(time_of_stamp(match[1]), UUID(match[2]))


@dataclass(frozen=True, kw_only=True)
class Narrowed:
    """What the reader wants to see of the audit; '' and None narrow nothing."""

    entry: UUID | None = None
    person: str = ""
    queue: Queue | None = None
    job: str = ""
    verb: str = ""
    status: str = ""
    batch: UUID | None = None

    @property
    def query(self) -> dict[str, str]:
        """As it stands in the address."""
        values = vars(self) | {"queue": queue_value(self.queue) if self.queue else ""}
        return {name: str(value) for name, value in values.items() if value}


@dataclass(frozen=True)
class AuditRow:
    """One entry. `about`: what its subject is to the reader, a `job`, a `job_type`, or '' for what has no page."""

    entry: AuditEntry
    about: str


@dataclass(frozen=True, kw_only=True)
class AuditPage:
    """`newer` and `older` are places for the address, None where there is nothing more."""

    rows: tuple[AuditRow, ...]
    newer: str | None
    older: str | None
    is_first: bool
    people: tuple[str, ...]
    """Names to suggest for the filter."""


def audit_page(
    user: User, seen: Visibility, narrowed: Narrowed, *, after: Place | None, before: Place | None
) -> AuditPage:
    """One page of the entries that this person may read, newest first: the ones after a place, or before it."""
    visible = _visible(user, seen)
    wanted = visible.filter(**_conditions(narrowed))
    sheet = read_sheet(lambda *beyond: _read(wanted, *beyond), _place, after=after, before=before)
    return AuditPage(
        rows=tuple(AuditRow(entry, _about(user, entry)) for entry in sheet.rows),
        newer=sheet.first.encode() if sheet.first else None,
        older=sheet.last.encode() if sheet.last else None,
        is_first=sheet.first is None,
        people=tuple(sorted(set(visible.values_list("actor_name", flat=True)[:LOOKED_AT]))),
    )


def queue_value(queue: Queue) -> str:
    """A queue as the filter names it. No connection's name holds a colon."""
    return f"{queue.connection}:{queue.name}"


def _visible(user: User, seen: Visibility) -> QuerySet[AuditEntry]:
    """The entries of the reader's queues, and declarations for who declares. Superusers read all."""
    if seen.everything:
        return AuditEntry.objects.all()
    names: dict[str, list[str]] = {}
    for queue in seen.queues:
        names.setdefault(queue.connection, []).append(queue.name)
    allowed = Q(pk__in=[])
    for connection, queues in names.items():
        allowed |= Q(connection=connection, queue__in=queues)
    if may(user, Permission.CHANGE_JOBTYPE):
        allowed |= Q(connection="", queue="", verb=DECLARATIONS)
    return AuditEntry.objects.filter(allowed)


def _conditions(narrowed: Narrowed) -> dict[str, Any]:
    fields = {
        "pk": narrowed.entry,
        "actor_name": narrowed.person,
        "subject": narrowed.job,
        "verb": narrowed.verb,
        "status": narrowed.status,
        "batch": narrowed.batch,
    }
    queue = narrowed.queue
    place = {"connection": queue.connection, "queue": queue.name} if queue else {}
    return {name: value for name, value in fields.items() if value} | place


def _read(wanted: QuerySet[AuditEntry], place: Place | None, is_backwards: bool) -> list[AuditEntry]:
    # Twice the time: the first condition lets an index begin at the place, the second one leaves out the rest.
    if place and is_backwards:
        wanted = wanted.filter(created_at__gte=place.at).exclude(created_at=place.at, pk__lte=place.pk)
    elif place:
        wanted = wanted.filter(created_at__lte=place.at).exclude(created_at=place.at, pk__gte=place.pk)
    ordered = wanted.order_by("created_at", "pk") if is_backwards else wanted
    return list(ordered[: PAGE_SIZE + 1])


def _place(entry: AuditEntry) -> Place:
    return Place(entry.created_at, entry.pk)


def _about(user: User, entry: AuditEntry) -> str:
    if entry.verb in RIGHT_FOR and entry.connection in connections.names():
        return "job"
    return "job_type" if entry.verb == DECLARATIONS and may(user, Permission.CHANGE_JOBTYPE) else ""
