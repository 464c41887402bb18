"""Names of any shape in an address: queue names and job ids may hold slashes, percent signs, dots, anything."""

from __future__ import annotations

import re

from jobs.models import NAME_LENGTH

_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.")
_ESCAPED = re.compile(rb"~([0-9A-F]{2})")


class NameConverter:
    """One path segment for any text. Letters, digits, `_`, `-` and dots stay; each other byte becomes `~XX`.

    Percent-encoding will not do: servers decode it before routing, so that `a/b` and `a%2Fb` would be one address.
    """

    regex = r"[A-Za-z0-9_.~-]+"
    longest = NAME_LENGTH

    def to_python(self, value: str) -> str:
        """The text behind a segment. Raises ValueError (no match, 404) for one that `to_url` would not have made.

        A name that is too long for the record of acts has no address, so that nobody acts on it.
        """
        raw = b"" if value == "~" else _ESCAPED.sub(lambda match: bytes([int(match[1], 16)]), value.encode())
        text = raw.decode("utf-8")
        if "\0" in text or len(text) > self.longest or self.to_url(text) != value:
            raise ValueError(value)
        return text

    def to_url(self, value: object) -> str:
        """The segment for a text; `~` for an empty one. Dots alone would be taken for a directory, so they go too."""
        raw = str(value).encode("utf-8", "backslashreplace")
        plain = _PLAIN if raw.strip(b".") else _PLAIN - {ord(".")}
        return "".join(chr(byte) if byte in plain else f"~{byte:02X}" for byte in raw) or "~"


class OperationConverter(NameConverter):
    """The same for an operation id, which may hold a job's id and more."""

    longest = 600
