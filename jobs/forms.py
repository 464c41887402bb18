"""What people type, checked before anything is done with it."""

from __future__ import annotations

import re

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs.actions.job_types import Declaration, version_of
from jobs.domain.idempotency import Idempotency
from jobs.domain.links import link_host
from jobs.domain.paths import is_dotted_path
from jobs.models import NAME_LENGTH, JobType

RUNBOOK_LENGTH = 4000
ID_PARAMETER = re.compile(r"^(#[1-9]\d?|[^\W\d]\w{0,63})$")


class PathForm(forms.Form):
    """Which job type to declare."""

    path = forms.CharField(max_length=NAME_LENGTH, label=gettext_lazy("Function path"))

    def clean_path(self) -> str:
        """A dotted path, as in `shop.tasks.send_invoice`."""
        path: str = self.cleaned_data["path"].strip()
        if not is_dotted_path(path):
            raise forms.ValidationError(_("Give the function's dotted path, such as shop.tasks.send_invoice."))
        return path


class DeclarationForm(forms.Form):
    """What a job type promises, and what its runbook says. `based_on`: the version that the person saw."""

    based_on = forms.CharField(max_length=64, required=False, widget=forms.HiddenInput)
    idempotency = forms.ChoiceField(
        choices=[(kind.value, kind.value) for kind in Idempotency], widget=forms.RadioSelect
    )
    remembered_for_hours = forms.IntegerField(min_value=1, max_value=24 * 366, required=False)
    id_parameters = forms.CharField(max_length=500, required=False)
    runbook_text = forms.CharField(required=False, widget=forms.Textarea)
    runbook_url = forms.CharField(max_length=500, required=False)
    reason = forms.CharField(max_length=2000, required=False, widget=forms.Textarea)

    @classmethod
    def of(cls, job_type: JobType | None) -> DeclarationForm:
        """A form that shows what is declared now."""
        if job_type is None:
            return cls(initial={"idempotency": Idempotency.UNDECLARED.value})
        return cls(
            initial={
                "based_on": version_of(job_type),
                "idempotency": job_type.idempotency,
                "remembered_for_hours": (job_type.remembered_for_seconds or 0) // 3600 or None,
                "id_parameters": ", ".join(job_type.id_parameters),
                "runbook_text": job_type.runbook_text,
                "runbook_url": job_type.runbook_url,
            }
        )

    def clean_id_parameters(self) -> list[str]:
        """Names of arguments, separated by commas."""
        names = [name.strip() for name in self.cleaned_data["id_parameters"].split(",") if name.strip()]
        for name in names:
            if not ID_PARAMETER.match(name):
                raise forms.ValidationError(
                    _("“%(name)s” is no argument: give keyword names, or #1 for the first positional one.")
                    % {"name": name[:64]}
                )
        return names

    def clean_runbook_text(self) -> str:
        """Plain text of a bounded length, whose lines end as everywhere else: browsers send CR LF."""
        text: str = self.cleaned_data["runbook_text"].replace("\r\n", "\n")
        if len(text) > RUNBOOK_LENGTH:
            raise forms.ValidationError(
                _("The runbook has %(is)s characters; %(may)s are kept. Put the rest behind the link.")
                % {"is": len(text), "may": RUNBOOK_LENGTH}
            )
        return text

    def clean_runbook_url(self) -> str:
        """A plain link of the web, or none."""
        url: str = self.cleaned_data["runbook_url"]
        if url and not link_host(url):
            raise forms.ValidationError(
                _("Give an address of http or https, with no user name or password in it, or leave it empty.")
            )
        return url

    def clean(self) -> dict[str, object]:
        """A key is only worth something for a stated time; for other classes no time is kept."""
        cleaned: dict[str, object] = super().clean() or self.cleaned_data
        keyed = cleaned.get("idempotency") == Idempotency.KEYED
        if keyed and not cleaned.get("remembered_for_hours") and "remembered_for_hours" not in self.errors:
            self.add_error(
                "remembered_for_hours", _("Say for how many hours the other side recognises a repeated key.")
            )
        return cleaned

    def declaration(self) -> Declaration:
        """The declaration of a valid form."""
        kind = Idempotency(self.cleaned_data["idempotency"])
        hours = self.cleaned_data["remembered_for_hours"] if kind is Idempotency.KEYED else None
        return Declaration(
            idempotency=kind,
            remembered_for_seconds=hours * 3600 if hours else None,
            id_parameters=self.cleaned_data["id_parameters"],
            runbook_text=self.cleaned_data["runbook_text"],
            runbook_url=self.cleaned_data["runbook_url"],
        )
