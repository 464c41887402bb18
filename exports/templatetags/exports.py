"""The states of exports and of their mails, and how far an export is."""

from __future__ import annotations

from django import template
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from exports.mail_states import MailState
from exports.states import ExportState
from exports.words import EXPORT_WORDS, MAIL_WORDS
from jobs.templatetags.opsboard import badge, count

register = template.Library()

KILO, UNITS = 1000, ("kB", "MB", "GB", "TB")


@register.simple_tag
def export_badge(state: ExportState) -> SafeString:
    """Icon, word and colour of an export's state."""
    return badge(EXPORT_WORDS[state])


@register.simple_tag
def mail_badge(state: MailState) -> SafeString:
    """Icon, word and colour of what is known of a mail."""
    return badge(MAIL_WORDS[state])


@register.simple_tag
def file_size(size: int | None) -> str:
    """As people say it, by thousands, as their disks do; below one kilobyte in bytes."""
    if size is None or size < KILO:
        return _("unknown") if size is None else f"{size} bytes"
    amount, unit = size / KILO, 0
    while amount >= KILO and unit + 1 < len(UNITS):
        amount, unit = amount / KILO, unit + 1
    return f"{amount:.1f} {UNITS[unit]}"


@register.simple_tag
def how_far(done: int, total: int) -> str:
    """Rows that are written, of all."""
    return _("%(done)s of %(total)s rows") % {"done": count(done), "total": count(total)}


@register.simple_tag
def row_count(rows: int) -> str:
    """How many rows a file has."""
    return ngettext("%(rows)s row", "%(rows)s rows", rows) % {"rows": count(rows)}
