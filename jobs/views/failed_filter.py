"""What the address of the failed list asks for, read into what the list is narrowed by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from django.core.exceptions import BadRequest
from django.http import Http404
from django.utils import timezone
from django.utils.translation import gettext as _

from jobs.domain.periods import BadMoment, in_full, moment_of
from jobs.models import NAME_LENGTH, Queue
from jobs.permissions import find_queue
from jobs.selectors.failure_index import Place, Wanted
from jobs.views.requests import SignedInRequest

SHOWN = ("open", "all")
"""Those that somebody still has to look after, or with them those that were retried, deleted or resolved."""


@dataclass(frozen=True, kw_only=True)
class FailedFilter:
    """What is asked for. `typed`: each field as it is shown again; `errors`: what is wrong with each time, or ''."""

    wanted: Wanted
    queue: Queue | None
    typed: Mapping[str, str]
    errors: Mapping[str, str]

    @property
    def query(self) -> str:
        """The filter as it stands in an address, with times that do not move."""
        fixed = {"connection": self.wanted.connection, **self.typed}
        return urlencode({name: value for name, value in fixed.items() if value and (name, value) != ("show", "open")})

    @property
    def has_errors(self) -> bool:
        return any(self.errors.values())

    @property
    def is_narrowed(self) -> bool:
        return self.wanted.is_narrowed or self.wanted.with_closed or self.has_errors

    @property
    def clear_query(self) -> str:
        """The address without what narrows the list, but for the store and the queue."""
        kept = {"connection": self.wanted.connection, "queue": self.typed["queue"]}
        return urlencode({name: value for name, value in kept.items() if value})


def read_filter(request: SignedInRequest, connections: Sequence[str], now: datetime) -> FailedFilter:
    """What the address asks for. Raises BadRequest (400) for what no page of ours links to, QueueNotVisible and Http404
    for a queue or store that this person may not see.
    """
    connection = _connection(request, connections)
    name = request.GET.get("queue")
    queue = find_queue(request.user, connection, name) if name and connection else None
    texts = {field: _text(request, field) for field in ("type", "error", "finding", "since", "until")}
    moments, errors = _moments(texts, now)
    show = request.GET.get("show") or "open"
    if show not in SHOWN:
        raise BadRequest(_("The list of failures can show the open ones or all."))
    wanted = Wanted(
        connection=connection,
        job_type=texts["type"],
        error_class=texts["error"],
        finding=texts["finding"],
        since=moments.get("since"),
        until=moments.get("until"),
        with_closed=show == "all",
    )
    in_address = {field: in_full(at) for field, at in moments.items()}
    typed = {"queue": queue.name if queue else "", **texts, **in_address, "show": show}
    return FailedFilter(wanted=wanted, queue=queue, typed=typed, errors=errors)


def read_places(request: SignedInRequest) -> tuple[Place | None, Place | None]:
    """(after, before) from the address. Raises BadRequest (400) for a text that names no place."""
    after, before = request.GET.get("after"), request.GET.get("before")
    try:
        return (Place.decode(after) if after else None, Place.decode(before) if before and not after else None)
    except ValueError as error:
        raise BadRequest(str(error)) from None


def _connection(request: SignedInRequest, choices: Sequence[str]) -> str:
    """The store asked for, else the first that one may see; '' when there is none."""
    wanted = request.GET.get("connection")
    if wanted and wanted not in choices:
        raise Http404
    return wanted or (choices[0] if choices else "")


def _text(request: SignedInRequest, field: str) -> str:
    """As the index would have kept it: it holds no NUL, and no longer name."""
    return request.GET.get(field, "").replace("\0", "")[:NAME_LENGTH].strip()


def _moments(texts: Mapping[str, str], now: datetime) -> tuple[dict[str, datetime], dict[str, str]]:
    """The times asked for, and what is wrong with each of the two fields."""
    found: dict[str, datetime] = {}
    errors = {"since": "", "until": ""}
    for field in errors:
        try:
            if texts[field]:
                found[field] = moment_of(texts[field], now, timezone.get_current_timezone())
        except BadMoment:
            errors[field] = _("Give a time like 2026-03-14T15:09Z, or how long ago, like 24h or 7d.")
    if len(found) == 2 and found["since"] > found["until"]:
        errors["until"] = _("This is before the time since which failures are shown.")
    return found, errors
