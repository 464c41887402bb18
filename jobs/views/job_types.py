"""Job types: what people declared about running them again, and their runbooks."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from jobs import ledger
from jobs.actions.job_types import VERB, DeclaredMeanwhile, declare_job_type, require_declarer, version_of
from jobs.domain.paths import is_dotted_path
from jobs.forms import DeclarationForm, PathForm
from jobs.models import JobType
from jobs.permissions import Permission, require_wide, visibility
from jobs.selectors.job_types import job_types_page, layered_types
from jobs.views.requests import SignedInRequest, render_page


@require_safe
def job_types(request: SignedInRequest) -> HttpResponse:
    """Every type, declared or seen, and a way to one that was never seen (`path`)."""
    require_wide(request.user, Permission.CHANGE_JOBTYPE)
    form = PathForm(request.GET if "path" in request.GET else None)
    if form.is_bound and form.is_valid():
        return redirect("jobs:job-type", form.cleaned_data["path"])
    page = job_types_page(visibility(request.user))
    return render_page(request, "job_types_page.html", {"page": page, "form": form})


@require_http_methods(["GET", "HEAD", "POST"])
def job_type(request: SignedInRequest, path: str) -> HttpResponse:
    """One type: GET shows, POST declares."""
    if not is_dotted_path(path):
        raise Http404
    if request.method == "POST":
        return _declare(request, path)
    require_wide(request.user, Permission.CHANGE_JOBTYPE)
    return _show(request, path, DeclarationForm.of(_declared(path)))


def _declare(request: SignedInRequest, path: str) -> HttpResponse:
    now = timezone.now()
    require_declarer(request.user, path, now=now)
    form = DeclarationForm(request.POST)
    if not form.is_valid():
        return _show(request, path, form, status=400)
    typed = form.cleaned_data
    try:
        declare_job_type(
            request.user, path, form.declaration(), based_on=typed["based_on"], reason=typed["reason"], now=now
        )
    except DeclaredMeanwhile:
        return _show(request, path, form, status=409)
    messages.success(request, _("Declared. It holds for every retry from now on; what is in review is answered there."))
    return redirect("jobs:job-type", path)


def _show(request: SignedInRequest, path: str, form: DeclarationForm, *, status: int = 200) -> HttpResponse:
    """The page of one type. After a conflict (409) the form keeps what was typed, and is from now on based on what the
    other has declared, which stands above it."""
    declared = _declared(path)
    context = {
        "form": form,
        "path": path,
        "job_type": declared,
        "is_conflict": status == 409,
        "is_layered": path in layered_types(),
        "based_on": form["based_on"].value() if status == 400 else version_of(declared),
        "history": ledger.entries_about(VERB, path),
    }
    return render_page(request, "job_type_page.html", context, status=status)


def _declared(path: str) -> JobType | None:
    return JobType.objects.select_related("declared_by").filter(path=path).first()
