"""What a person says in a review: one verdict, and the pieces of evidence that it wants."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django import forms
from django.forms.boundfield import BoundField
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from jobs.domain.verdicts import EVIDENCE, LONGEST, YES, Piece, Verdict, missing
from jobs.domain.words import EVIDENCE_WORDS

LONGEST_PUT_OFF = timedelta(days=30)
"""A review that nobody has to look at for longer is forgotten."""

EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
"""Nothing was observed before that; and of the first and the last year some times can't be told in every zone."""

HELP = {
    "where": gettext_lazy("The system, and the page or the query."),
    "observed_at": gettext_lazy("As that system shows it."),
    "external_id": gettext_lazy("Its id, a link or a quotation: one of the three is enough."),
    "searched_for": gettext_lazy("Ids, amounts, names."),
    "undone_by": gettext_lazy("As the system names it in which it was undone."),
    "window": gettext_lazy("From when until when, with the time zone."),
}
_TIMES = frozenset({"observed_at", "until"})
_LONG = frozenset({"quote", "reason", "undone_why"})


@dataclass(frozen=True)
class Asked:
    """A field as the page shows it: its piece of evidence, and what kind of field it is."""

    piece: Piece
    bound: BoundField
    kind: str
    """`text`, `lines`, `time` or `tick`."""

    @property
    def name(self) -> str:
        return self.piece.name

    @property
    def label(self) -> str:
        return _(EVIDENCE_WORDS[self.piece.name])

    @property
    def help(self) -> str:
        return str(HELP.get(self.piece.name, ""))

    @property
    def error(self) -> str:
        return str(self.bound.errors[0]) if self.bound.errors else ""

    @property
    def value(self) -> str:
        """What was typed, as it was typed."""
        given = self.bound.value()
        return YES if given is True else str(given or "")


class EvidenceForm(forms.Form):
    """The pieces of evidence that one verdict wants; its fields are called `<verdict>-<piece>`."""

    def __init__(self, verdict: Verdict, data: Mapping[str, Any] | None = None, *, now: datetime) -> None:
        super().__init__(data, prefix=verdict.value)
        self.verdict, self._now = verdict, now
        for piece in EVIDENCE[verdict]:
            self.fields[piece.name] = _field(piece)

    def asked(self) -> Iterator[Asked]:
        """Each field, in the order in which it is asked for."""
        for piece in EVIDENCE[self.verdict]:
            yield Asked(piece, self[piece.name], _kind(piece))

    def clean(self) -> dict[str, Any]:
        """Everything that the verdict wants is there, and its times are on the right side of now."""
        if (observed_at := self.cleaned_data.get("observed_at")) and observed_at > self._now:
            self.add_error("observed_at", _("This time is still to come."))
        if observed_at and observed_at < EARLIEST:
            self.add_error("observed_at", _("Give a time since 1970."))
        if (until := self.look_again_at) and not self._now < until <= self._now + LONGEST_PUT_OFF:
            self.add_error("until", _("Give a time that is still to come, within 30 days."))
        for name, sentence in missing(self.verdict, self.given()).items():
            if name not in self.errors:
                self.add_error(name, sentence)
        return self.cleaned_data

    def given(self) -> dict[str, str]:
        """The pieces by name, as texts: times in ISO 8601, `yes` for what was agreed to. What is wrong is left out."""
        texts = {name: _text(value) for name, value in self.cleaned_data.items()}
        return {name: text for name, text in texts.items() if text}

    @property
    def look_again_at(self) -> datetime | None:
        """Of a verdict that puts the review off, until when."""
        until: datetime | None = self.cleaned_data.get("until")
        return until

    def typed(self) -> list[tuple[str, str]]:
        """What was typed, under its labels: for a page that can't keep it in its fields."""
        return [(one.label, one.value) for one in self.asked() if one.value]


def forms_for(chosen: EvidenceForm | None, *, now: datetime) -> dict[Verdict, EvidenceForm]:
    """A form for each verdict; the one that was sent keeps what was typed."""
    empty = {verdict: EvidenceForm(verdict, now=now) for verdict in Verdict}
    return empty | ({chosen.verdict: chosen} if chosen else {})


def _kind(piece: Piece) -> str:
    if piece.is_tick:
        return "tick"
    return "time" if piece.name in _TIMES else "lines" if piece.name in _LONG else "text"


def _field(piece: Piece) -> forms.Field:
    if piece.is_tick:
        return forms.BooleanField(required=False)
    if piece.name in _TIMES:
        return forms.DateTimeField(
            required=False, error_messages={"invalid": _("Give a date and a time of day, as in 2026-03-14 15:09.")}
        )
    too_long = _("At most %(number)s characters are kept.") % {"number": LONGEST}
    return forms.CharField(required=False, max_length=LONGEST, error_messages={"max_length": too_long})


def _text(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    return YES if value is True else value if isinstance(value, str) else ""
