"""Finds secrets by the name that stands before them: ``password=…``, ``"api_key": "…"``, ``Cookie: …``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobs.domain.spans import Span

NAMES = (
    *("password", "passwd", "passphrase", "passcode", "passwort", "pwd", "secret", "token", "credential"),
    *("api_key", "api-key", "apikey", "access_key", "access-key", "accesskey", "private_key", "private-key"),
    *("privatekey", "signing_key", "signing-key", "encryption_key", "secretkey", "account_key", "accountkey"),
    *("auth_key", "authkey", "x-auth", "session", "csrf", "xsrf"),
    *("signature", "authorization", "cookie", "cvv", "cvc"),
)
"""What comes after one of these is hidden, whatever it looks like; they may be part of a longer name."""
VAGUE_NAMES = ("key", "auth", "salt", "hmac", "digest", "nonce", "sig", "pin", "otp")
"""What comes after one of these is hidden when it looks like a key: 16 characters or more, letters and digits mixed."""
HEADERS = ("authorization", "cookie")

AFTER_NAME = r"[\w-]{0,24}+(?:\\{0,4}[\"'])?\]?[ \t]{0,4}(?:=>|:=|={1,3}|:|>)[ \t]{0,4}"
AFTER_QUOTED_NAME = r"[\w-]{0,24}+[\"'],[ \t]{0,2}(?=[bBuU]?[\"'])"
IN_WORDS = r"[ \t]{1,2}(?=[\"'])"
OPTION_VALUE = r"[\w-]{0,24}+(?:[ \t]{1,4}|[\"'],[ \t]{0,2})(?=[^\s-])"
PATTERNS = {name: re.compile(f"{re.escape(name)}(?:{AFTER_NAME}|{IN_WORDS})") for name in (*NAMES, *VAGUE_NAMES)}
PAIRS = {name: re.compile(f"{re.escape(name)}{AFTER_QUOTED_NAME}") for name in NAMES}
OPTIONS = {name: re.compile(f"{re.escape(name)}{OPTION_VALUE}") for name in NAMES}

VALUE = re.compile(
    r"""[bBrRuUfF]{0,2}(?:
    "(?P<double>(?:[^"\\\n]++|\\.)*+)
    | '(?P<single>(?:[^'\\\n]++|\\.)*+)
    | \\{1,4}["'](?P<escaped>(?:(?!\\{1,4}["']|\n).)*+)
    )
    | (?P<group>[\[({][^\])}\n]{0,4000}+[\])}]?)
    | (?P<bare>[^\s,;&"'<>)}\]]++)""",
    re.VERBOSE,
)
LINE = re.compile(r"[^\n\"']++")
KEY_LIKE = re.compile(r"(?=[^\s]*[0-9])(?=[^\s]*[A-Za-z])[\w+/=.~-]{16,}")
NO_SECRET = ("none", "null", "nil", "true", "false", "str", "int", "bytes", "bool", "undefined", "...", "***")
LABELS = ("[hidden", "[e-mail]", "[card number]", "[private key]", "[IBAN]")
NAME_LIMIT = 26
ANYTHING = re.compile("")
OPENING_BRACKET = re.compile(r"\([\"'][\w-]{0,24}\Z")
"""Tells a pair, ``('password', 'x')``, from a mere list of names."""
OPTION = re.compile(r"--[\w-]{0,24}\Z")


def named_secret_spans(text: str) -> Iterator[Span]:
    """Values that stand behind the name of a secret; unordered, they may overlap."""
    lowered = text.replace("İ", "i").lower()  # the only letter whose lower case is longer than itself
    for name in NAMES:
        if name in lowered:
            yield from _spans_after(text, lowered, PATTERNS[name], is_header=name in HEADERS)
            yield from _spans_after(text, lowered, PAIRS[name], before=OPENING_BRACKET)
            yield from _spans_after(text, lowered, OPTIONS[name], before=OPTION)
    for name in VAGUE_NAMES:
        if name in lowered:
            spans = _spans_after(text, lowered, PATTERNS[name])
            yield from (span for span in spans if KEY_LIKE.fullmatch(text, span.start, span.end))


def _spans_after(
    text: str, lowered: str, name: re.Pattern[str], *, before: re.Pattern[str] = ANYTHING, is_header: bool = False
) -> Iterator[Span]:
    """The values after each ``name`` that stands behind what ``before`` asks for.

    The search goes on behind a value, never inside it: values that hold each other would cost the square of the length.
    """
    position = 0
    while match := name.search(lowered, position):
        position = match.end()
        if before.search(lowered, max(0, match.start() - NAME_LIMIT), match.start()):
            takes_line = is_header and match[0].rstrip().endswith(":")
            span = _value_span(text, position, takes_line=takes_line)
            if span:
                position = span.end
                yield span


def _value_span(text: str, start: int, *, takes_line: bool) -> Span | None:
    if text.startswith(LABELS, start):
        return None
    if takes_line and text[start : start + 1] not in ("'", '"', "\\"):
        line = LINE.match(text, start)
        return Span(*line.span()) if line else None
    value = VALUE.match(text, start)
    if value is None or value.lastgroup is None:
        return None
    span = Span(*value.span(value.lastgroup))
    is_empty = span.start == span.end or text[span.start : min(span.end, span.start + 12)].lower() in NO_SECRET
    return None if is_empty else span
