"""Job types: what people declared about running them again."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from jobs import ledger
from jobs.actions.job_types import VERB, declare_job_type
from jobs.forms import PATH, DeclarationForm, PathForm
from jobs.models import JobType
from jobs.permissions import Permission, may
from jobs.views.requests import SignedInRequest, render_page


@require_safe
def job_types(request: SignedInRequest) -> HttpResponse:
    """Every declared type, and a way to one that is not declared yet (`path`)."""
    _require_right(request)
    form = PathForm(request.GET if "path" in request.GET else None)
    if form.is_bound and form.is_valid():
        return redirect("jobs:job-type", form.cleaned_data["path"])
    declared = JobType.objects.select_related("declared_by")
    return render_page(request, "job_types_page.html", {"job_types": declared, "form": form})


@require_http_methods(["GET", "HEAD", "POST"])
def job_type(request: SignedInRequest, path: str) -> HttpResponse:
    """One type: GET shows, POST declares."""
    if request.method != "POST":
        _require_right(request)
    if not PATH.match(path):
        raise Http404
    declared = JobType.objects.filter(path=path).first()
    form = DeclarationForm(request.POST) if request.method == "POST" else DeclarationForm.of(declared)
    if form.is_bound and form.is_valid():
        reason = form.cleaned_data["reason"]
        declare_job_type(request.user, path, form.declaration(), reason=reason, now=timezone.now())
        messages.success(request, _("Declared. It holds for every retry from now on."))
        return redirect("jobs:job-type", path)
    _require_right(request)
    context = {"form": form, "path": path, "job_type": declared, "history": ledger.entries_about(VERB, path)}
    return render_page(request, "job_type_page.html", context, status=400 if form.is_bound else 200)


def _require_right(request: SignedInRequest) -> None:
    """Types name functions of every queue, so the page does not exist for those who may not declare."""
    if not may(request.user, Permission.CHANGE_JOBTYPE):
        raise Http404
