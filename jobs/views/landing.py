"""Where a person lands who had to sign in, or whose act was refused: on a page, never on the address of an act.

The rule: an act's address ends in its verb, below the address of the page that it belongs to. A lost act returns to the
page that sent it (the Referer, if it is ours), else to the nearest address above that can be opened by GET. It never
returns to the page that asks for its confirmation, since what was asked there may have changed. Nor does anybody land
on a file: a browser would save it and go on showing the sign-in form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import Resolver404, resolve
from django.views.decorators.http import require_POST

View = TypeVar("View", bound=Callable[..., HttpResponseBase])

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_NEVER = frozenset({"jobs:login", "jobs:logout"})


def act(view: View) -> View:
    """Mark a view as an act: POST only, and nobody is ever sent to its address by GET."""
    marked: Any = require_POST(view)
    marked.is_act = True
    return marked  # type: ignore[no-any-return]  # the view itself


def asks_first(view: View) -> View:
    """Mark a view whose GET asks for a confirmation and whose POST acts: a lost POST returns to the page above it."""
    marked: Any = view
    marked.asks_first = True
    return view


def hands_out_a_file(view: View) -> View:
    """Mark a view whose answer is saved and not shown: who had to sign in for it lands on the page that offers it."""
    marked: Any = view
    marked.is_file = True
    return view


def landing_page(request: HttpRequest) -> str:
    """The local address to return to after this request did not do what it was meant to do."""
    own = request.get_full_path()
    if request.method in _SAFE_METHODS:
        return page_at_or_above(own)
    return _page_that_sent(request) or _page_at_or_above(own.partition("?")[0], asking=False)


def way_back(request: HttpRequest) -> str:
    """The local address that a refusal links to; never the address that was refused."""
    if request.method not in _SAFE_METHODS:
        return landing_page(request)
    sent = _page_that_sent(request)
    return sent if sent and _split(sent)[0] != _split(request.get_full_path())[0] else "/"


def page_at_or_above(address: str) -> str:
    """This local, percent-encoded address when a page is there for GET, else the nearest one above it that is one."""
    return _page_at_or_above(address, asking=True)


def _page_at_or_above(address: str, *, asking: bool) -> str:
    """`asking`: whether a page that asks for a confirmation counts."""
    path, query = _split(address)
    if _is_page(path, asking=asking):
        return f"{path}?{query}" if query else path
    return next((parent for parent in _parents(path) if _is_page(parent, asking=asking)), "/")


def _page_that_sent(request: HttpRequest) -> str | None:
    referer = request.headers.get("Referer", "")
    if not referer.startswith(f"{request.scheme}://{request.get_host()}/"):
        return None
    path, query = _split(referer)
    if not _is_page(path, asking=False):
        return None
    return f"{path}?{query}" if query else path


def _split(address: str) -> tuple[str, str]:
    """Path and query, both still encoded; empty for what is no address at all."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return "", ""
    return parts.path, parts.query


def _parents(path: str) -> Iterator[str]:
    while path.strip("/"):
        path = path.rstrip("/").rpartition("/")[0] + "/"
        yield path


def _is_page(path: str, *, asking: bool) -> bool:
    if not path.startswith("/") or path.startswith("//"):
        return False
    try:
        match = resolve(unquote(path))
    except Resolver404:
        return False
    is_open = asking or not getattr(match.func, "asks_first", False)
    is_no_page = getattr(match.func, "is_act", False) or getattr(match.func, "is_file", False)
    return is_open and match.view_name not in _NEVER and not is_no_page
