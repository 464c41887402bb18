"""Times, counts, durations, states and icons: each has one shape, and this is where it is made."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import groupby

from django import template
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from jobs.domain.times import Direction, Distance, Part, due_distance, past_distance, split_duration, zone_name
from jobs.domain.tracebacks import Frame, RaisedException, Traceback
from jobs.domain.words import (
    ACT_SLUGS,
    DEDUP_WORDS,
    EVIDENCE_WORDS,
    MOVING_STATES,
    VERB_WORDS,
    StateWord,
    state_word,
)

register = template.Library()

THIN_SPACE = "\N{NARROW NO-BREAK SPACE}"


@register.simple_tag(takes_context=True)
def when(context: template.Context, value: datetime | None) -> str:
    """Something that happened: how long ago, and when. None reads "unknown"."""
    if value is None:
        return _unknown()
    at = _aware(value)
    return _time(at, "past", past_distance(at, _now(context)))


@register.simple_tag(takes_context=True)
def due(context: template.Context, value: datetime | None) -> str:
    """Something planned: how long until, and when. None reads "unknown"."""
    if value is None:
        return _unknown()
    at = _aware(value)
    return _time(at, "due", due_distance(at, _now(context)))


@register.simple_tag
def clock(value: datetime | None) -> str:
    """The time of day alone, with its zone: for "as of"."""
    if value is None:
        return _unknown()
    at = _aware(value)
    return _element(at, "clock", _absolute(at, has_date=False))


@register.simple_tag
def duration(value: timedelta | float | None) -> str:
    """How long something took (seconds or a timedelta), in two units at most."""
    if value is None:
        return _("unknown")
    return _joined(split_duration(value if isinstance(value, timedelta) else timedelta(seconds=value)))


@register.simple_tag
def count(value: int | None, cap: int | None = None) -> str:
    """A number, grouped by thousands; from `cap` on it says "at least", because nobody counted further."""
    if value is None:
        return _("unknown")
    capped = cap is not None and value >= cap
    number = f"{cap if cap is not None and capped else value:,}".replace(",", THIN_SPACE)
    return f"≥{THIN_SPACE}{number}" if capped else number


@register.simple_tag
def icon(name: str) -> SafeString:
    """A drawing of static/img/icons. Always beside a word, so it says nothing to a screen reader."""
    return format_html('<span class="icon icon--{}"></span>', name)


@register.simple_tag
def state_badge(key: str) -> SafeString:
    """Icon, word and colour of a state."""
    return _state_badge(str(key), get_language())


@lru_cache(maxsize=256)
def _state_badge(key: str, language: str | None) -> SafeString:
    """A list shows the same few badges a hundred times, so each is made once for a language."""
    return badge(state_word(key))


def badge(state: StateWord) -> SafeString:
    """The same for a word that stands in no table of ours."""
    own_icon = f" icon--{state.icon}" if state.icon != state.look else ""
    return format_html('<span class="state state--{}{}">{}</span>', state.look, own_icon, _(state.word))


@register.simple_tag
def between(start: datetime | None, end: datetime | None) -> str:
    """How long it was from one time to another; unknown without both, or when clocks make it negative."""
    if start is None or end is None or _aware(end) < _aware(start):
        return _("unknown")
    return duration(_aware(end) - _aware(start))


@register.filter
def function_name(path: str | None) -> str:
    """The last part of a dotted path: the name by which people know the job's function."""
    return path.rpartition(".")[2] if path else _("unreadable call")


@register.filter
def function_module(path: str | None) -> str:
    """All but the last part of a dotted path."""
    return path.rpartition(".")[0] if path else ""


@register.simple_tag
def figure(value: int | None, label: str, url: str = "", tone: str = "") -> SafeString:
    """A number that leads to the list it counts. `tone` (failed, review, due) only where it asks for a hand."""
    loud = f"figure--{tone}" if value and tone else "figure--quiet"
    number = format_html('{}<span class="visually-hidden"> {}</span>', count(value), label)
    if not url:
        return format_html('<span class="figure {}">{}</span>', loud, number)
    return format_html('<a class="figure {}" href="{}">{}</a>', loud, url, number)


@register.filter
def breakable(text: str | None) -> SafeString:
    """A dotted or slashed path that may be broken where its parts meet, rather than within a name."""
    parts = re.split(r"(?<=[./_])(?=[^./_])", str(text or ""))
    return format_html_join(mark_safe("<wbr>"), "{}", ((part,) for part in parts))


@register.filter
def fold_frames(frames: Iterable[Frame]) -> list[tuple[bool, list[Frame]]]:
    """Frames in runs of (is folded, frames): those of libraries and of our own layer, but never the one that raised."""
    runs = groupby(frames, key=lambda frame: not frame.is_raising and (frame.is_library or _is_of_layer(frame)))
    return [(is_folded, list(run)) for is_folded, run in runs]


@register.filter
def newest_first(traceback: Traceback) -> list[tuple[str, RaisedException]]:
    """The exceptions from the last one back, each with how the newer one came from it: "", cause or context."""
    exceptions = traceback.exceptions[::-1]
    links = ["", *(raised.relation for raised in exceptions)]
    return list(zip(links, exceptions, strict=False))


@register.filter
def is_moving(state: str) -> bool:
    """Whether a job in this state may change by itself, so that its page refreshes."""
    return str(state) in MOVING_STATES


@register.simple_tag(takes_context=True)
def nav_link(context: template.Context, name: str, label: str, key: str = "", below: str = "") -> SafeString:
    """An entry of the main navigation. `key` follows "g" on the keyboard; `below`: names of the pages beneath it."""
    match = getattr(context.get("request"), "resolver_match", None)
    here = match.view_name if match else ""
    beneath = {f"{name.partition(':')[0]}:{one}" for one in below.split()}
    current = "page" if here == name else "true" if here in beneath else ""
    return format_html(
        '<li><a class="nav-list__link" href="{}" data-go="{}"{}>{}</a></li>',
        reverse(name),
        key,
        format_html(' aria-current="{}"', current) if current else "",
        label,
    )


@register.simple_tag
def state_name(key: str) -> str:
    """The word of a state alone."""
    return _(state_word(str(key)).word)


@register.simple_tag
def verb_name(verb: str) -> str:
    """What was done, in a word; an unknown verb as it is."""
    return _(VERB_WORDS[verb]) if verb in VERB_WORDS else verb


@register.simple_tag
def evidence_name(name: str) -> str:
    """What a piece of evidence is called; an unknown one as it is."""
    return _(EVIDENCE_WORDS[name]) if name in EVIDENCE_WORDS else name


@register.simple_tag
def act_url(verb: str, connection: str, queue: str, job_id: str) -> str:
    """Where an act on a job is asked for."""
    return reverse(f"jobs:job-{ACT_SLUGS[verb]}", args=(connection, queue, job_id))


@register.simple_tag
def operation_act_url(verb: str, operation_id: str) -> str:
    """Where an act on an operation is asked for."""
    return reverse(f"jobs:operation-{ACT_SLUGS[verb]}", args=(operation_id,))


@register.simple_tag
def dedup_cause(cause: str) -> str:
    """What brought a delivery that was not needed; an unknown cause as it is."""
    return _(DEDUP_WORDS[cause]) if cause in DEDUP_WORDS else cause


@register.simple_tag
def worker_name(name: str | None) -> SafeString:
    """A worker's name; RQ makes them of 32 digits, so a long one is shortened in its middle, whole in its title."""
    if not name:
        return format_html('<span class="quiet">{}</span>', _("unknown"))
    short = f"{name[:8]}…{name[-4:]}" if len(name) > 24 else name
    return format_html('<span class="mono" title="{}">{}</span>', name, short)


def _is_of_layer(frame: Frame) -> bool:
    """What stands between RQ and the code of every job that runs as an operation: nobody looks for a fault there."""
    return re.search(r"[/\\]jobs[/\\]safety[/\\]\w+\.py$", frame.file) is not None


def _unknown() -> SafeString:
    return format_html('<span class="time--unknown">{}</span>', _("unknown"))


def _now(context: template.Context) -> datetime:
    """The page's one `now`: two times on a page are measured from the same moment."""
    now = context.get("now")
    return now if isinstance(now, datetime) else timezone.now()


def _aware(value: datetime) -> datetime:
    """RQ writes UTC, in old versions without saying so."""
    return value if value.tzinfo else value.replace(tzinfo=UTC)


def _time(at: datetime, kind: str, distance: Distance) -> SafeString:
    relative = format_html('<span class="time__relative">{}</span>', _relative_words(distance))
    absolute = _absolute(at, has_date=distance.is_far)
    shape = '{1}<span class="time__aside"> · {0}</span>' if distance.is_far else "{0} · {1}"
    return _element(at, kind, format_html(shape, relative, absolute))


def _element(at: datetime, kind: str, content: SafeString) -> SafeString:
    """A time that machines can read and a person can copy: ISO 8601 in UTC, whatever zone is shown."""
    iso = at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return format_html('<time datetime="{}" title="{}" data-when="{}">{}</time>', iso, iso, kind, content)


def _absolute(at: datetime, *, has_date: bool) -> SafeString:
    shown = at.astimezone(timezone.get_current_timezone())
    return format_html(
        '<span class="time__absolute">{} <span class="time__zone">{}</span></span>',
        shown.strftime("%Y-%m-%d %H:%M:%S" if has_date else "%H:%M:%S"),
        zone_name(shown),
    )


def _relative_words(distance: Distance) -> str:
    words = {
        Direction.NOW: _("just now"),
        Direction.PAST: _("%(amount)s ago"),
        Direction.FUTURE: _("in %(amount)s"),
        Direction.AHEAD: _("clock is ahead by %(amount)s"),
    }
    return words[distance.direction] % {"amount": _joined(distance.parts)}


def _joined(parts: tuple[Part, ...]) -> str:
    return " ".join(f"{number} {unit}" for number, unit in parts)
