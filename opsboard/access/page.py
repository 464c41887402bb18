"""The page that refuses a request: it needs no template, no static file and no database, and repeats nothing."""

from __future__ import annotations

from django.http import HttpResponseBadRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _


def refusal_page(reason: str, *parts: SafeString) -> HttpResponseBadRequest:
    """A 400 with the reason in one sentence, and then what can be done about it."""
    page = format_html(
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title></head><body>'
        "<h1>{title}</h1><p>{reason}</p>{parts}</body></html>",
        title=_("This request was refused"),
        reason=reason,
        parts=format_html_join("", "{}", ((part,) for part in parts)),
    )
    return HttpResponseBadRequest(page)


def paragraph(text: str) -> SafeString:
    return format_html("<p>{}</p>", text)


def lines(*texts: str) -> SafeString:
    """To be copied as they are."""
    return format_html("<pre>{}</pre>", "\n".join(texts))
