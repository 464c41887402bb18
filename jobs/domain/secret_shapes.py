"""Finds what looks like a secret in a text: credentials, tokens, keys, e-mail addresses, card and account numbers.

Each rule looks for a fixed piece of text first and then at a bounded stretch around it, so the work grows with the
length of the text and nothing else, whoever wrote it. Rules err on the side of hiding.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Iterator

from jobs.domain.named_secrets import named_secret_spans
from jobs.domain.spans import Span

E_MAIL, CARD, IBAN, PRIVATE_KEY = "[e-mail]", "[card number]", "[IBAN]", "[private key]"


def secret_spans(text: str) -> Iterator[Span]:
    """Stretches of ``text`` that look like secrets; unordered, they may overlap."""
    yield from _private_keys(text)
    yield from _url_credentials(text)
    yield from _authentication_schemes(text)
    yield from _tokens(text)
    yield from named_secret_spans(text)
    yield from _e_mail_addresses(text)
    yield from _cards(text)
    yield from _ibans(text)


# Private keys, whole, or cut off at either end

KEY_MARKER = re.compile(r"-----(BEGIN|END) (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----")
KEY_BODY = re.compile(r"[A-Za-z0-9+/=\s\\,.:]{0,20000}+(?:-----END (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY[A-Z -]{0,12})?")
KEY_BODY_CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=\\,.: \t\r\n"
KEY_LIMIT = 20_000
BASE64_LINES = re.compile(r"(?:\n[A-Za-z0-9+/]{60,76}={0,2}\r?(?=\n)){2,}+(?:\n[A-Za-z0-9+/]{1,76}={0,2}(?=\r?\n|\Z))?")


def _private_keys(text: str) -> Iterator[Span]:
    if "PRIVATE KEY" in text:
        for marker in KEY_MARKER.finditer(text):
            yield _after_begin(text, marker) if marker[1] == "BEGIN" else _before_end(text, marker)
    for lines in BASE64_LINES.finditer(text):
        yield Span(lines.start() + 1, lines.end())


def _after_begin(text: str, marker: re.Match[str]) -> Span:
    body = KEY_BODY.match(text, marker.end())
    return Span(marker.start(), body.end() if body else marker.end(), PRIVATE_KEY)


def _before_end(text: str, marker: re.Match[str]) -> Span:
    before = text[max(0, marker.start() - KEY_LIMIT) : marker.start()]
    return Span(marker.start() - (len(before) - len(before.rstrip(KEY_BODY_CHARACTERS))), marker.end(), PRIVATE_KEY)


# URLs with a user name or password

AFTER_SCHEME = re.compile(r"://[^\s'\"<>]++")
PORT = re.compile(r"\d{1,5}(?:[/?#]|$)")


def _url_credentials(text: str) -> Iterator[Span]:
    """Takes each run of non-blanks as a whole, since an unescaped password may hold any of ``@ / ? #``."""
    for run in AFTER_SCHEME.finditer(text):
        start = run.start() + 3
        for rest in run[0][3:].split("://"):
            at = rest.rfind("@")
            if at > 0 and _is_user_info(rest[:at]):
                yield Span(start, start + at)
            start += len(rest) + 3


def _is_user_info(text: str) -> bool:
    authority = re.split(r"[/?#]", text, maxsplit=1)[0]
    if len(authority) == len(text):
        return True
    _, colon, password = text.partition(":")
    return bool(colon) and ":" in authority and PORT.match(password) is None


# Authorization schemes without their header

SCHEME = re.compile(r"\b(?:[Bb]earer|[Bb]asic|BEARER|BASIC)[ \t]{1,3}([\w.~+/=-]++)")
SCHEMES = ("earer", "asic", "EARER", "ASIC")
PLAIN_WORD = re.compile(r"(?:auth\w*|token|realm|scheme|usage|error|required|credentials?|header|is|was|not|and|or)\W*")


def _authentication_schemes(text: str) -> Iterator[Span]:
    if not any(scheme in text for scheme in SCHEMES):
        return
    for match in SCHEME.finditer(text):
        value = match[1]
        is_secret = _is_basic(value) if match[0][1:5].lower() == "asic" else len(value) > 3
        if is_secret and not PLAIN_WORD.fullmatch(value.lower()):
            yield Span(match.start(1), match.end(1))


def _is_basic(value: str) -> bool:
    """Whether this is base64 of "user:password"."""
    try:
        return b":" in b64decode(value[: len(value) // 4 * 4])
    except (NotBase64, ValueError):
        return False


# Tokens that can be told by their beginning

TOKENS = (
    ("A", r"(?:KIA|SIA|BIA|CCA|ROA|IDA|GPA|NPA|NVA)[A-Z0-9]{12,}+"),
    ("gh", r"[pousr]_[A-Za-z0-9_]{10,}+"),
    ("github_pat_", r"\w{10,}+"),
    ("glpat-", r"[\w-]{10,}+"),
    ("xox", r"[abcdeoprs]-[\w-]{8,}+"),
    ("xapp-", r"[\w-]{8,}+"),
    *((f"{kind}k_", r"(?:live|test)_\w{6,}+") for kind in "srp"),
    ("whsec_", r"[\w+/=]{8,}+"),
    ("sk-", r"[\w-]{16,}+"),
    ("eyJ", r"[\w-]{10,}+(?:\.[\w-]*+){0,4}"),
    ("AIza", r"[\w-]{20,}+"),
    ("ya29.", r"[\w-]{10,}+"),
    ("GOCSPX-", r"[\w-]{10,}+"),
    ("SG.", r"[\w-]{10,}+\.[\w-]{10,}+"),
    ("npm_", r"[A-Za-z0-9]{20,}+"),
    ("pypi-", r"[\w-]{16,}+"),
    ("hf_", r"[A-Za-z0-9]{16,}+"),
    ("dop_v1_", r"[a-f0-9]{16,}+"),
    ("shpat_", r"[a-fA-F0-9]{16,}+"),
    ("sq0atp-", r"[\w-]{16,}+"),
    ("key-", r"[a-f0-9]{32}"),
    ("hooks.slack.com/services/", r"[\w/-]++"),
    ("discord.com/api/webhooks/", r"[\w/-]++"),
    ("api.telegram.org/bot", r"[\w:-]++"),
)
TOKEN_RULES = tuple(
    (start, re.compile(re.escape(start) + f"(?<![A-Za-z0-9]{re.escape(start)}){rest}")) for start, rest in TOKENS
)


def _tokens(text: str) -> Iterator[Span]:
    for start, pattern in TOKEN_RULES:
        if start in text:
            yield from (Span(*match.span()) for match in pattern.finditer(text))


# Personal data that can be told by its shape

DOMAIN = re.compile(r"@(\w[\w.-]{1,252}+)")
LOCAL_PART = re.compile(r"[\w.%+'-]{1,64}\Z")
CARD_NUMBER = re.compile(r"[2-6](?<![\w-].)(?:[ -]?[0-9]){12,18}+(?![\w-])")
IBAN_NUMBER = re.compile(
    r"[A-Z][A-Z](?<![A-Za-z0-9]..)[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])"
)


def _e_mail_addresses(text: str) -> Iterator[Span]:
    if "@" not in text:
        return
    for match in DOMAIN.finditer(text):
        at = match.start()
        local = LOCAL_PART.search(text, max(0, at - 64), at)
        domain = match[1].rstrip(".-_")
        top = domain.rpartition(".")[2]
        if local and len(top) < len(domain) and (top.isalpha() or top.startswith("xn--")) and len(top) > 1:
            yield Span(local.start(), at + 1 + len(domain), E_MAIL)


def _cards(text: str) -> Iterator[Span]:
    for match in CARD_NUMBER.finditer(text):
        is_fraction = re.search(r"[0-9][.,]\Z", text[max(0, match.start() - 2) : match.start()])
        if not is_fraction and _passes_luhn(re.sub("[ -]", "", match[0])):
            yield Span(*match.span(), CARD)


def _passes_luhn(digits: str) -> bool:
    doubled = (int(digit) * 2 for digit in digits[-2::-2])
    return (sum(map(int, digits[-1::-2])) + sum(value - 9 * (value > 9) for value in doubled)) % 10 == 0


def _ibans(text: str) -> Iterator[Span]:
    for match in IBAN_NUMBER.finditer(text):
        candidate = match[0]
        while candidate and not _passes_mod_97(candidate.replace(" ", "")):
            candidate = candidate.rpartition(" ")[0]  # a word in capitals may have been taken for its last group
        if candidate:
            yield Span(match.start(), match.start() + len(candidate), IBAN)


def _passes_mod_97(iban: str) -> bool:
    rearranged = iban[4:] + iban[:4]
    return len(iban) >= 15 and int("".join(str(int(char, 36)) for char in rearranged)) % 97 == 1
