"""Masking text before it is shown, and shortening it after."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.domain.excerpts import Excerpt
from jobs.domain.redaction import safe_text, scrub, shorten

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJDQU5BUlkifQ.CANARYSIGNATURE"
PEM_LINES = "\n".join(["CANARYcanary" + "A" * 52] * 3)

SECRETS = [
    "redis://:CANARY@localhost:6379/0",
    "postgres://shop:CANARY@db.internal/shop",
    "postgres://shop:CAN/A?R#Y@db.internal/shop",
    "connecting to https://CANARY@sentry.example.org/1 failed",
    "amqp://a:x@one,amqp://b:CANARY@two",
    "Bearer CANARYabcdef",
    "sent {'Authorization': 'Bearer CANARYabcdef'}",
    "authorization: Basic Q0FOQVJZOng=",
    "got Basic dXNlcjpDQU5BUlk= from it",
    "Authorization: Digest username=CANARY, realm=CANARY",
    "Cookie: a=CANARY; b=CANARY",
    '"cookie": "a=CANARY; b=CANARY"',
    "Set-Cookie: sessionid=CANARY; Path=/; x=CANARY",
    "AKIACANARYCANARY1234",
    "ghp_CANARYCANARYCANARY1234567890abcdef12",
    "github_pat_11CANARY0_abcdefghijklmnop",
    "xoxb-1234567890-CANARY",
    "sk_live_CANARY4eC39HqLyjWDarjtT1zdp7dc",
    "rk_test_CANARY4eC39HqLyjWDarjtT1zdp7dc",
    "sk-proj-CANARYabcdefghijklmnopqrst",
    f"token was {JWT}",
    "AIzaCANARYCANARYCANARYCANARYCANARYCANAR",
    "ya29.CANARYabcdefghij",
    "https://hooks.slack.com/services/T000/B000/CANARY",
    "https://api.telegram.org/bot12345:CANARY/sendMessage",
    "password=CANARY",
    "PASSWORD = 'CANARY and more CANARY'",
    'passwd: "CANARY \\" CANARY"',
    "pwd:CANARY",
    "db_pass: CANARY",
    "x-api-key: CANARY",
    "--api-key CANARY",
    "('private_key', 'CANARY')",
    "ASIACANARYCANARY1234",
    "client_secret=CANARY&x=1",
    "refresh_token => CANARY",
    '{"api_key": "CANARY"}',
    "{'API-KEY': b'CANARY'}",
    '{\\"password\\": \\"CANARY and CANARY\\"}',
    "<password>CANARY</password>",
    "('password', 'CANARY')",
    "mysql --password CANARY -h db",
    "['mysql', '--password', 'CANARY']",
    "password 'CANARY'",
    "session=CANARY",
    "sessionid: CANARY",
    "AWS_SECRET_ACCESS_KEY=CANARY",
    "tokens=['CANARY', 'CANARY']",
    '{"credentials": {"user": "CANARY", "x": "CANARY"}}',
    "?sig=1&X-Amz-Signature=CANARY",
    "AccountKey=CANARY==;EndpointSuffix=core",
    "csrfmiddlewaretoken=CANARY",
    "key=CANARY0123456789abcdef",
    "unknown user CANARY@example.org here",
    "CANARY+x@sub.example.co.uk",
    f"-----BEGIN RSA PRIVATE KEY-----\n{PEM_LINES}\n-----END RSA PRIVATE KEY-----",
    f"-----BEGIN PRIVATE KEY-----\\n{PEM_LINES}\\n-----END PRIVATE KEY-----\\n",
    f"-----BEGIN OPENSSH PRIVATE KEY-----\n{PEM_LINES}",
    f"{PEM_LINES}\n-----END PRIVATE KEY-----",
    f"cut at both ends\n{PEM_LINES}\nCANARYcanary=\n",
]
HARMLESS = [
    "ValueError: boom 7",
    'File "/app/shop/tasks.py", line 12, in charge',
    "missing 1 required positional argument: 'order'",
    "Basic authentication failed",
    "Bearer token required",
    "https://example.org:8000/users/7",
    "http://localhost:8000/orders?at=7",
    "order 4000-2026 of 2026-11-29 14:18:00.123456",
    "1764425880123456 microseconds",
    "550e8400-e29b-41d4-a716-446655440000",
    "@app.route at line 5",
    "a @ b",
    "KeyError: 'name'",
    "password=None",
    "task-list-of-something-longer",
    "0.4111111111111111",
    "keyboard: english",
    "3 passed: fine",
    "('key', 'value')",
]


@pytest.mark.parametrize("text", SECRETS)
def test_a_secret_is_masked(text):
    assert "CANARY" not in scrub(text)
    assert "[" in scrub(text)


@pytest.mark.parametrize("text", ["Q0FOQVJZOng=", "dXNlcjpDQU5BUlk="])
def test_basic_credentials_are_masked_in_their_base64_form(text):
    assert text not in scrub(f"authorization: Basic {text}") + scrub(f"got Basic {text} from it")


def test_masking_twice_changes_nothing_more():
    assert [scrub(scrub(text)) for text in SECRETS] == [scrub(text) for text in SECRETS]


@pytest.mark.parametrize("text", HARMLESS)
def test_ordinary_text_stays(text):
    assert scrub(text) == text


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("to anna.b@example.org.", "to [e-mail]."),
        ("card 4111 1111 1111 1111 declined", "card [card number] declined"),
        ("card 4111-1111-1111-1111", "card [card number]"),
        ("card 378282246310005,", "card [card number],"),
        ("card 4111111111111112", "card 4111111111111112"),
        ("to DE89 3704 0044 0532 0130 00 BANK", "to [IBAN] BANK"),
        ("to GB82WEST12345698765432", "to [IBAN]"),
        ("to DE88370400440532013000", "to DE88370400440532013000"),
        ("redis://user:pa55@host/0", "redis://[hidden]@host/0"),
        ("password='pa55', user='anna'", "password='[hidden]', user='anna'"),
        ("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----", "[private key]"),
    ],
)
def test_a_mask_says_what_it_hides_and_leaves_the_rest(text, masked):
    assert scrub(text) == masked


def test_hidden_values_are_masked_wherever_they_stand():
    text = "order 7: CANARY2 and 'CANARY2', {'no': 'CANARY3'}"
    assert scrub(text, ("CANARY2", "CANARY3")) == "order 7: [hidden] and '[hidden]', {'no': '[hidden]'}"


def test_hidden_values_that_overlap_are_both_masked():
    assert scrub("xabcdefx", ("abcd", "cdef")) == "x[hidden]x"


def test_hidden_values_shorter_than_four_characters_are_left():
    assert scrub("abc", ("abc",)) == "abc"


def test_a_short_text_is_not_shortened():
    made = shorten("abc", keep=3)
    assert (made.text, made.total_characters, made.shortened) == ("abc", 3, False)


def test_a_long_text_keeps_both_ends_and_says_how_much_is_missing():
    made = shorten("a" * 5000 + "b" * 5000, keep=2000)
    assert made.text == "a" * 1000 + "\n[… 8,000 characters left out …]\n" + "b" * 1000
    assert (made.total_characters, made.shortened) == (10_000, True)


def test_a_text_is_cut_between_lines():
    lines = shorten("".join(f"line {n:05}\n" for n in range(1000)), keep=500).text.split("\n")
    assert {len(line) for line in lines if line.startswith("line")} == {10}


@pytest.mark.parametrize("secret", ["CANARY@example.org", "password=CANARYCANARY", "redis://:CANARY@h/0", JWT])
def test_a_secret_across_the_cut_is_masked_before_shortening(secret):
    filler = "some words " * 5_000
    for position in (*range(940, 1020, 13), *range(len(filler) - 1060, len(filler) - 980, 13)):
        text = f"{filler[:position]} {secret} {filler[position:]}"
        assert not any(piece in safe_text(text, keep=2000).text for piece in ("CANAR", "NARY", "CANARYSIG"))


@pytest.mark.parametrize("size", [40, 5_000, 9_000, 60_000])
def test_a_hidden_value_of_any_size_is_masked_across_the_cut(size):
    value = "".join(f"{n:x}-" for n in range(100_000, 200_000))[:size]
    filler = "some words " * 6000
    for position in (0, 900, 20_000, len(filler) - 900):
        shown = safe_text(filler[:position] + value + filler[position:], (value,), keep=2000).text
        assert not any(value[at : at + 12] in shown for at in range(0, size - 12, 5))


def test_a_word_longer_than_the_margin_is_hidden_when_it_begins_like_a_secret():
    secret = "eyJ" + "abcDEF123" * 10_000
    assert "abcDEF" not in safe_text("x " * 50_000 + secret + " end", keep=2000).text
    assert "abcDEF" in safe_text("x " * 50_000 + secret[3:] + " end", keep=2000).text


def test_both_ends_of_a_text_that_was_read_in_part_are_safe():
    words = "plain words " * 10_000
    excerpt = Excerpt(words[:25_000] + "eyJhbGci", tail="CANARY.CANARY " + words[:25_000], total_characters=10_000_000)
    made = safe_text(excerpt, keep=60_000)
    assert not any(piece in made.text for piece in ("CANARY", "eyJ"))
    assert (made.total_characters, made.shortened) == (10_000_000, True)


def test_a_text_read_in_part_says_at_least_when_nobody_counted_out():
    excerpt = Excerpt("a" * 40_000, tail="b " * 20_000, total_characters=90_000_000, is_total_exact=False)
    assert "at least 89,9" in safe_text(excerpt, keep=1000).text


@settings(max_examples=25, deadline=None, database=None)
@given(st.text(max_size=60), st.lists(st.text(min_size=4, max_size=30), max_size=3))
def test_no_hidden_value_survives_in_any_text(text, hidden):
    masked = scrub(text + "".join(hidden) + text, hidden)
    assert not any(value in masked.replace("[hidden]", "\0") for value in hidden if value not in "[hidden]")


@settings(max_examples=25, deadline=None, database=None)
@given(st.lists(st.sampled_from([*SECRETS, "\n", " ", "'", '"', "\\", "=", "@", "://"]), max_size=8).map("".join))
def test_masking_never_fails_and_never_uncovers(text):
    assert "CANARY" not in scrub(scrub(text)) or "CANARY" in scrub(text)


HOSTILE = ["@", "a@b", "://", "://:@", "4 ", "4", "password=", 'token="', "token [", "--token [", '("token", "']
HOSTILE += ["-----BEGIN PRIVATE KEY-----", "eyJ", "SG.", "…", "DE89 ", "A", "\\", "cookie: ", "\n" + "A" * 64]


@pytest.mark.parametrize("piece", HOSTILE)
def test_the_work_grows_with_the_length_only(piece):
    text = (piece * 40_000)[:40_000]
    started = time.process_time()
    scrub(text, ("abcd", "A" * 9000))
    assert time.process_time() - started < 1.5  # 0.1 s at most; the square of the length takes minutes


def test_values_that_hold_each_other_are_gone_through_once():
    started = time.process_time()
    scrub("cookie: " * 40_000)
    assert time.process_time() - started < 1.5  # some 0.05 s; the square of the length takes ten


@pytest.mark.parametrize("piece", ["E", "a@b.cd "])
def test_ten_megabytes_are_safe_within_a_moment(piece):
    text = (piece * 10_000_000)[:10_000_000]
    started = time.process_time()
    made = safe_text(text, ("E" * 10_000_000, "canary"), keep=60_000)
    assert time.process_time() - started < 2  # some 0.1 s
    assert (len(made.text) < 90_000, made.total_characters) == (True, 10_000_000)


def test_ten_hostile_megabytes_are_scrubbed_whole_in_linear_time():
    started = time.process_time()
    scrub("-----BEGIN " * 900_000, ("canary",))
    assert time.process_time() - started < 3  # some 0.2 s
