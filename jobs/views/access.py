"""/access/: who may do what, per queue. To who may not manage access it does not exist."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from jobs.actions import access as actions
from jobs.forms_access import GrantForm
from jobs.permissions import Permission, require_wide
from jobs.selectors.access import read_access
from jobs.views.landing import act
from jobs.views.requests import SignedInRequest, render_page


@require_safe
def access_page(request: SignedInRequest) -> HttpResponse:
    """GET /access/?page=2"""
    require_wide(request.user, Permission.MANAGE_ACCESS)
    return render_page(request, "access_page.html", vars(read_access(request.user, request.GET.get("page"))))


@act
def give(request: SignedInRequest) -> HttpResponse:
    """POST /access/give/"""
    return _change(request, actions.GIVE, actions.give, _("Given to %(who)s in %(queue)s: %(rights)s."))


@act
def take(request: SignedInRequest) -> HttpResponse:
    """POST /access/take/"""
    return _change(request, actions.TAKE, actions.take, _("Taken from %(who)s in %(queue)s: %(rights)s."))


def _change(request: SignedInRequest, verb: str, change: Callable[..., actions.Changed], sentence: str) -> HttpResponse:
    asked = request.POST.get("connection", ""), request.POST.get("queue", "")
    actions.require_manager(request.user, verb, *asked, timezone.now())
    form = GrantForm(request.POST)
    holder = actions.find_holder(form.cleaned_data["holder"]) if form.is_valid() else None
    if holder is None:
        messages.error(request, _("Nothing was done. Choose a person or a group, and at least one right."))
        return _back(request)
    place = form.cleaned_data["connection"], form.cleaned_data["queue"]
    changed = change(request.user, *place, holder, form.permissions, timezone.now())
    if changed:
        rights = ", ".join(permission.label for permission in changed)
        messages.success(request, sentence % {"who": holder, "queue": ":".join(place), "rights": rights})
    else:
        messages.info(request, _("Nothing to change: it was so already."))
    return _back(request)


def _back(request: SignedInRequest) -> HttpResponse:
    page = request.POST.get("page", "")
    query = f"?{urlencode({'page': page})}" if page.isdecimal() else ""
    return HttpResponseRedirect(reverse("jobs:access") + query)
