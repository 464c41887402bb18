"""Finds secrets by the name that stands before them: ``password=…``, ``"api_key": "…"``, ``Cookie: …``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from jobs.domain.spans import Span

NAMES = (
    *("password", "passwd", "passphrase", "passcode", "passwort", "pwd", "secret", "token", "credential", "session"),
    *("csrf", "xsrf", "x-auth", "signature", "authorization", "cookie", "cvv", "cvc"),
)
"""What comes after one of these is hidden, whatever it looks like; they may be part of a longer name."""
KEY_OWNERS = "(?:api|access|private|signing|encryption|account|auth|shared|secret|client)[_-]?"
"""Before "key" one of these makes it such a name."""
VAGUE_NAMES = ("key", "auth", "salt", "hmac", "digest", "nonce", "sig", "pin", "otp")
"""What comes after one of these is hidden when it looks like a key: 16 characters or more, letters and digits mixed."""
HEADERS = ("authorization", "cookie")
_KEY = re.compile(f"{KEY_OWNERS}key", re.IGNORECASE)

SEPARATOR = r"(?:\\{0,4}[\"'])?\]?[ \t]{0,4}(?:=>|:=|={1,3}|:|>)[ \t]{0,4}"
IN_WORDS = r"[ \t]{1,2}(?=[\"'])"
REST_OF_NAME = r"[\w-]{0,24}+"
NAMED = f"(?:{REST_OF_NAME}{SEPARATOR}|{IN_WORDS})"
IN_PAIR = f"{REST_OF_NAME}[\"'],[ \\t]{{0,2}}(?=[bBuU]?[\"'])"
AS_OPTION = f"{REST_OF_NAME}(?:[ \\t]{{1,4}}|[\"'],[ \\t]{{0,2}})(?=[^\\s-])"
BEFORE_PAIR = r"\([\"'][\w-]{0,24}"
"""Tells a pair, ``('password', 'x')``, from a mere list of names."""
BEFORE_OPTION = r"--[\w-]{0,24}"
NAME_LIMIT = 40


def names_a_secret(name: str) -> bool:
    """Whether what is called so is a secret, whatever it looks like."""
    return any(word in name.lower() for word in NAMES) or _KEY.search(name) is not None


class Rule(NamedTuple):
    """Where a value to be hidden begins: after ``name``, if what stands before the name fits."""

    word: str
    name: re.Pattern[str]
    before: re.Pattern[str]


def _rules(word: str, owner: str = "") -> Iterator[Rule]:
    for after, before in ((NAMED, ""), (IN_PAIR, BEFORE_PAIR), (AS_OPTION, BEFORE_OPTION)):
        yield Rule(word, re.compile(re.escape(word) + after), re.compile(f"{before}{owner}\\Z"))


RULES = (
    *(rule for word in NAMES for rule in _rules(word)),
    *_rules("key", KEY_OWNERS),
    Rule("pass", re.compile("pass" + SEPARATOR), re.compile(r"\Z")),
)
VAGUE_RULES = tuple(next(_rules(word)) for word in VAGUE_NAMES)

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


def named_secret_spans(text: str) -> Iterator[Span]:
    """Values that stand behind the name of a secret; unordered, they may overlap."""
    lowered = text.replace("İ", "i").lower()  # the only letter whose lower case is longer than itself
    words = {word for word in (*NAMES, *VAGUE_NAMES, "pass") if word in lowered}
    for rule in RULES:
        if rule.word in words:
            yield from _spans_after(text, lowered, rule)
    for rule in VAGUE_RULES:
        if rule.word in words:
            spans = _spans_after(text, lowered, rule)
            yield from (span for span in spans if KEY_LIKE.fullmatch(text, span.start, span.end))


def _spans_after(text: str, lowered: str, rule: Rule) -> Iterator[Span]:
    """The values that a rule finds.

    The search goes on behind a value, never inside it: values that hold each other would cost the square of the length.
    """
    position = 0
    while match := rule.name.search(lowered, position):
        position = match.end()
        if rule.before.search(lowered, max(0, match.start() - NAME_LIMIT), match.start()):
            takes_line = rule.word in HEADERS and match[0].rstrip().endswith(":")
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
