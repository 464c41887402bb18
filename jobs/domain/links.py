"""Links that people write down for others to follow."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

_WEB_LINK = re.compile(
    r"https?://(?P<host>(?:[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?)(?:[/?#][^\s\\\x00-\x1f\x7f]*)?",
    re.IGNORECASE | re.ASCII,
)
"""No user name or password before the host; and nothing that a browser reads otherwise than we do (WHATWG URL: it takes
a backslash for a slash, and drops tabs and line ends), so that the host that is named is the host that is asked."""
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True)
class Link:
    """A link as a page shows it: under its name, with the host that it leads to."""

    name: str
    url: str
    host: str


def link_host(url: str) -> str:
    """The host (and port) that a link leads to; '' for whatever is no plain link of http or https."""
    found = _WEB_LINK.fullmatch(url)
    return found["host"].lower() if found and _is_parsed(url) else ""


def _is_parsed(url: str) -> bool:
    """Whether a parser takes it: in brackets it wants an address."""
    try:
        urlsplit(url)
    except ValueError:
        return False
    return True


def placeholders(template: str) -> list[str] | None:
    """The words that a template wants filled in; None for one with a brace beside them."""
    words = _PLACEHOLDER.findall(template)
    return None if re.search(r"[{}]", _PLACEHOLDER.sub("", template)) else words


def build_links(templates: Iterable[tuple[str, str]], values: Mapping[str, str]) -> tuple[Link, ...]:
    """The links of these (name, template) pairs, each `{word}` filled in with the value of this word, percent-encoded.

    Left out is what names another word, is no plain link of http or https, or would let a value choose the host.
    """
    built = (_build(name, template, values) for name, template in templates)
    return tuple(link for link in built if link is not None)


def _build(name: str, template: str, values: Mapping[str, str]) -> Link | None:
    words = placeholders(template)
    if words is None or not values.keys() >= set(words):
        return None
    url = _PLACEHOLDER.sub(lambda found: quote(values[found[1]], safe="", errors="replace"), template)
    host = link_host(url)
    return Link(name, url, host) if host and template.lower().partition("://")[2].startswith(host) else None
