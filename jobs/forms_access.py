"""The form behind every button of the page Access."""

from __future__ import annotations

from django import forms

from jobs.models import NAME_LENGTH
from jobs.permissions import PER_QUEUE, Permission


class GrantForm(forms.Form):
    """Which rights, on which queue, for whom. Names are not stripped: a queue's name may end in a blank."""

    connection = forms.CharField(max_length=64, strip=False)
    queue = forms.CharField(max_length=NAME_LENGTH, strip=False)
    holder = forms.RegexField(r"\A(user|group):[0-9]{1,18}\Z")
    permission = forms.MultipleChoiceField(choices=[(permission.value, permission.value) for permission in PER_QUEUE])

    @property
    def permissions(self) -> tuple[Permission, ...]:
        return tuple(Permission(value) for value in self.cleaned_data["permission"])
