"""Links that people write down for others to follow."""

from __future__ import annotations

import re

_WEB_LINK = re.compile(
    r"https?://(?P<host>(?:[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?)(?:[/?#][^\s\\\x00-\x1f\x7f]*)?",
    re.IGNORECASE | re.ASCII,
)
"""No user name or password before the host; and nothing that a browser reads otherwise than we do (WHATWG URL: it takes
a backslash for a slash, and drops tabs and line ends), so that the host that is named is the host that is asked."""


def link_host(url: str) -> str:
    """The host (and port) that a link leads to; '' for whatever is no plain link of http or https."""
    found = _WEB_LINK.fullmatch(url)
    return found["host"].lower() if found else ""
