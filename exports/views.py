"""The cabinet: what a person asked for, how far it is, and the way to its file. It reads SQL and the disk alone."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import BadRequest
from django.http import Http404, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_safe

from exports.answers import SeeOther, export_address, export_json, json_error, plain_text, sent_fields, wants_json
from exports.downloads import FileMissing, file_response, open_file
from exports.forms import WishForm
from exports.permissions import may_export
from exports.requesting import Accepted, TooManyExports, TooManyFiles, request_export
from exports.selectors import ShownExport, exports_page, find_export, offered_periods
from exports.states import ExportState, accepted
from jobs.domain.times import moment
from jobs.selectors.paging import PAGE_SIZE, TimedPlace
from jobs.views.landing import hands_out_a_file
from jobs.views.requests import SignedInRequest, places, render_page


@require_http_methods(["GET", "HEAD", "POST"])
def exports(request: SignedInRequest) -> HttpResponse:
    """GET /exports/: one's own. POST: a wish for another one, which is accepted here and made elsewhere."""
    _require_exporter(request)
    return _ask(request) if request.method == "POST" else _show_list(request, WishForm())


@require_safe
def export(request: SignedInRequest, export_id: int) -> HttpResponse:
    """GET /exports/<id>/: how far it is, and all that is known of it."""
    shown = _find(request, export_id)
    if wants_json(request):
        return JsonResponse(export_json(shown))
    context = {"shown": shown, "now": shown.now}
    return render_page(request, "export_page.html", context, part="_export_part.html")


@hands_out_a_file
@require_safe
def file(request: SignedInRequest, export_id: int) -> HttpResponseBase:
    """GET /exports/<id>/file/: the file itself, while it is ready; else one sentence that says why not.

    409 only where waiting helps, 410 where the file was and is no more. One that failed has never had a file: 404.
    """
    shown = _find(request, export_id)
    if not shown.is_ready:
        return plain_text(request, *_why_no_file(shown))
    try:
        opened = open_file(shown.export)
    except FileMissing:
        sentence = _("The file of this export is not there as it was made. Ask for the export again.")
        return plain_text(request, sentence, 404)
    return file_response(request, shown.export, opened)


# The list, and a wish -------------------------------------------------------------------------------------------------


def _ask(request: SignedInRequest) -> HttpResponse:
    try:
        form = WishForm(sent_fields(request))
    except BadRequest as error:
        return json_error(str(error), 400)
    if not form.is_valid():
        return _refused(request, form, "", 400)
    try:
        wish = request_export(request.user, form.cleaned_data["period"], form.cleaned_data["order_status"])
    except TooManyExports as error:
        return _refused(request, form, _too_many(error.limit), 429)
    except TooManyFiles as error:
        return _refused(request, form, _no_room(error), 429)
    return _accepted(request, wish)


def _accepted(request: SignedInRequest, wish: Accepted) -> HttpResponse:
    address = export_address(wish.export.pk)
    if wants_json(request):
        facts = export_json(find_export(request.user, wish.export.pk, timezone.now()))
        return JsonResponse(facts, status=202, headers={"Location": address})
    if wish.is_new:
        messages.success(request, accepted())
    else:
        messages.info(request, _("The same export is being made already: see below. Nothing was added."))
    return SeeOther(reverse("exports:exports"))


def _refused(request: SignedInRequest, form: WishForm, sentence: str, status: int) -> HttpResponse:
    """Nothing was accepted; what was typed is kept. `sentence`: what is wrong, where it is at none of the fields."""
    if not wants_json(request):
        return _show_list(request, form, refusal=sentence, status=status)
    fields = {name: str(errors[0]) for name, errors in form.errors.items()}
    return json_error(sentence or next(iter(fields.values())), status, **({"fields": fields} if fields else {}))


def _show_list(request: SignedInRequest, form: WishForm, *, refusal: str = "", status: int = 200) -> HttpResponse:
    now = timezone.now()
    after, before = places(request, TimedPlace.decode)
    page = exports_page(request.user, now, after=after, before=before)
    if wants_json(request):
        following = f"{reverse('exports:exports')}?after={page.next}" if page.next else None
        return JsonResponse({"exports": [export_json(one) for one in page.rows], "next": following})
    context: dict[str, Any] = {
        "page": page,
        "page_size": PAGE_SIZE,
        "form": form,
        "refusal": refusal,
        "days": settings.OPSBOARD_EXPORTS_DAYS,
        "now": now,
    }
    if not request.htmx:
        context["periods"] = offered_periods()
    return render_page(request, "exports_page.html", context, part="_exports_part.html", status=status)


def _too_many(limit: int) -> str:
    return ngettext(
        "Not accepted: you have %(limit)d export going on, which is as many as may be. Ask again when it is done.",
        "Not accepted: you have %(limit)d exports going on, which is as many as may be. Ask again when one is done.",
        limit,
    ) % {"limit": limit}


def _no_room(refusal: TooManyFiles) -> str:
    return _(
        "Not accepted: of your files as many are kept or being made as may be (%(limit)d). The first of them goes at "
        "%(until)s."
    ) % {"limit": refusal.limit, "until": moment(refusal.until, timezone.get_current_timezone())}


# One export -----------------------------------------------------------------------------------------------------------


def _require_exporter(request: SignedInRequest) -> None:
    if not may_export(request.user):
        raise Http404


def _find(request: SignedInRequest, export_id: int) -> ShownExport:
    """The right is asked at this moment, then the owner. Raises Http404 alike for both and for what is not there."""
    _require_exporter(request)
    return find_export(request.user, export_id, timezone.now())


def _why_no_file(shown: ShownExport) -> tuple[str, int]:
    if shown.state is ExportState.EXPIRED:
        return _expired(shown), 410
    if shown.state is ExportState.FAILED:
        return _("There is no file. %(reason)s") % {"reason": shown.sentence}, 404
    return _("Not ready yet. %(state)s") % {"state": shown.sentence}, 409


def _expired(shown: ShownExport) -> str:
    ended = min(filter(None, (shown.export.expires_at, shown.export.removed_at)))
    at = moment(ended, timezone.get_current_timezone())
    return _("This file was kept until %(at)s and is no more. Ask for the export again if you need it.") % {"at": at}
