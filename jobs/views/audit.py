"""/audit/: what people did or asked for. To who may not read the audit it does not exist."""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import urlencode
from uuid import UUID

from django.core.exceptions import BadRequest
from django.http import Http404, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from jobs.domain.words import VERB_WORDS
from jobs.models import NAME_LENGTH, AuditEntry, Queue
from jobs.permissions import Permission, Visibility, find_queue, require_wide, visibility
from jobs.selectors.audit import Narrowed, Place, audit_page, queue_value
from jobs.views.requests import SignedInRequest, places, render_page


@require_safe
def audit(request: SignedInRequest) -> HttpResponse:
    """GET /audit/, narrowed by `entry`, `person`, `queue` (connection:name), `job`, `verb`, `status`, `batch`."""
    require_wide(request.user, Permission.VIEW_AUDIT)
    seen, narrowed = visibility(request.user), _narrowed(request)
    after, before = places(request, Place.decode)
    page = audit_page(request.user, seen, narrowed, after=after, before=before)
    if narrowed.entry and not page.rows:
        raise Http404
    return render_page(
        request,
        "audit_page.html",
        {
            "page": page,
            "narrowed": narrowed,
            "query": urlencode(narrowed.query),
            "queues": _queues(seen, narrowed),
            "verbs": tuple(VERB_WORDS),
            "statuses": AuditEntry.Status.values,
        },
    )


def _narrowed(request: SignedInRequest) -> Narrowed:
    """What the address asks for. Raises BadRequest for what no filter has, and QueueNotVisible."""
    return Narrowed(
        entry=_uuid(request, "entry"),
        person=_text(request, "person").strip(),
        queue=_queue(request),
        job=_text(request, "job"),
        verb=_one_of(request, "verb", VERB_WORDS),
        status=_one_of(request, "status", AuditEntry.Status.values),
        batch=_uuid(request, "batch"),
    )


def _queues(seen: Visibility, narrowed: Narrowed) -> list[tuple[str, bool]]:
    """The queues to choose from, as the address names them, and whether it is the one chosen."""
    chosen = queue_value(narrowed.queue) if narrowed.queue else ""
    names = {queue_value(queue) for queue in seen.queues} | ({chosen} if chosen else set())
    return [(name, name == chosen) for name in sorted(names)]


def _queue(request: SignedInRequest) -> Queue | None:
    connection, _colon, name = _text(request, "queue").partition(":")
    return find_queue(request.user, connection, name) if connection or name else None


def _text(request: SignedInRequest, name: str) -> str:
    """As the ledger would have kept it: no record holds a NUL, or a longer name."""
    return request.GET.get(name, "").replace("\0", "")[:NAME_LENGTH]


def _one_of(request: SignedInRequest, name: str, known: Collection[str]) -> str:
    value = request.GET.get(name, "")
    if value and value not in known:
        raise BadRequest(_("The audit knows no such %(name)s.") % {"name": name})
    return value


def _uuid(request: SignedInRequest, name: str) -> UUID | None:
    value = request.GET.get(name)
    try:
        return UUID(value) if value else None
    except ValueError:
        raise BadRequest(_("This address names no entry of the audit.")) from None
