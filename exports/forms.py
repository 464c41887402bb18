"""What a person asks for: its shape alone is checked. Whether there is such a period the job finds out."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from exports.models import Order
from exports.periods import EXAMPLES, looks_like_a_period


class WishForm(forms.Form):
    """Which orders to export."""

    examples = EXAMPLES
    """Of periods, as they are written."""

    period = forms.CharField(required=False)
    order_status = forms.ChoiceField(
        choices=[("", gettext_lazy("all")), *Order.Status.choices],
        required=False,
        error_messages={
            "invalid_choice": gettext_lazy(
                "There is no such status. Choose open, paid, shipped, cancelled or refunded, or none for all orders."
            )
        },
    )

    def clean_period(self) -> str:
        """A year, a quarter or a month, by its shape."""
        period: str = self.cleaned_data["period"].upper()
        if not looks_like_a_period(period):
            raise forms.ValidationError(
                _("Give a year, a quarter or a month, such as %(examples)s.") % {"examples": self.examples}
            )
        return period
