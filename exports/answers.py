"""Two kinds of client: a person with a browser, who gets pages, and a program, which gets JSON with the same facts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from exports.selectors import ShownExport

_JSON = "application/json"


class SeeOther(HttpResponseRedirect):
    """After a POST that was carried out: what to look at now, by GET."""

    status_code = 303


def wants_json(request: HttpRequest) -> bool:
    """Whether a program asks: it says so, or what it sends is JSON. Who says nothing is taken for a person."""
    return request.content_type == _JSON or request.get_preferred_type(["text/html", _JSON]) == _JSON


def sent_fields(request: HttpRequest) -> Mapping[str, Any]:
    """What was sent, as a form or as a JSON object. Raises BadRequest, with a sentence, for JSON that is none."""
    if request.content_type != _JSON:
        return request.POST
    try:
        sent = json.loads(request.body)
    # Deeper than Python counts is no wish of ours either.
    except (ValueError, RecursionError):
        raise BadRequest(_("The body of the request is not JSON.")) from None
    if not isinstance(sent, dict):
        raise BadRequest(_("The body of the request is JSON, but no object: send one with a “period”."))
    return sent


def json_error(sentence: str, status: int, **more: Any) -> JsonResponse:
    """What went wrong and what to do about it, in one sentence."""
    return JsonResponse({"error": sentence, **more}, status=status)


def plain_text(request: HttpRequest, sentence: str, status: int) -> HttpResponse:
    """For who asked for a file and gets none: no page, which somebody could save under the file's name."""
    if wants_json(request):
        return json_error(sentence, status)
    return HttpResponse(f"{sentence}\n", status=status, content_type="text/plain; charset=utf-8")


def export_address(export_id: int) -> str:
    """Where its owner finds it."""
    return reverse("exports:export", args=[export_id])


def export_json(shown: ShownExport) -> dict[str, Any]:
    """The facts of an export. `file` only when it can be downloaded now."""
    export = shown.export
    return {
        "id": export.pk,
        "status": shown.state,
        "url": export_address(export.pk),
        "sentence": shown.sentence,
        "period": export.period,
        "order_status": export.order_status,
        "progress": dict(zip(("done", "total"), shown.progress, strict=True)) if shown.progress else None,
        "requested_at": _time(export.requested_at),
        "ready_at": _time(export.ready_at),
        "expires_at": _time(export.expires_at),
        "rows": export.rows,
        "size": export.size,
        "sha256": export.sha256 or None,
        "mail": {"status": shown.mail.state, "sent_at": _time(shown.mail.sent_at)},
        "file": reverse("exports:file", args=[export.pk]) if shown.is_ready else None,
    }


def _time(at: datetime | None) -> str | None:
    """ISO 8601 with its offset, in the zone that pages show."""
    return timezone.localtime(at).isoformat() if at is not None else None
