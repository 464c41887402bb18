"""Finding known values in a text: in full, cut short, many at a time."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.domain.literals import HiddenValues, literal_spans
from jobs.domain.spans import covered, merged

LONG = "a-rather-long-value-with-number-1234567890"


def masked(text, *hidden):
    return covered(text, merged(literal_spans(text, hidden)), 0, len(text))


@pytest.mark.parametrize(
    ("text", "result"),
    [
        (f"x{LONG}y", "x[hidden]y"),
        (f"bad: '{LONG[:24]}...'", "bad: '[hidden]...'"),
        (f"bad: '{LONG[:24]}…'", "bad: '[hidden]…'"),
        (f"input_value='{LONG[:20]}...{LONG[-18:]}'", "input_value='[hidden]...[hidden]'"),
        (f"cut at the end: {LONG[:30]}", "cut at the end: [hidden]"),
        (f"{LONG[:30]}\nnext", "[hidden]\nnext"),
        (f"{LONG[:30]} is something else", f"{LONG[:30]} is something else"),
        (f"'{LONG[:10]}...'", f"'{LONG[:10]}...'"),
    ],
)
def test_a_longer_value_is_found_in_full_and_where_it_was_cut_short(text, result):
    assert masked(text, LONG) == result


def test_of_values_with_the_same_beginning_the_longest_that_fits_is_found():
    values = [f"https://example.org/{'a' * n}" for n in range(60)]
    assert masked(f"<{values[40]}b>", *values) == "<[hidden]b>"


def test_a_shorter_value_is_found_though_a_longer_one_almost_fits():
    base = "https://example.org/"
    assert masked(f"<{base}abz>", base + "ab", base + "abx-long", base + "a") == "<[hidden]z>"


def test_a_long_piece_of_a_very_long_value_is_found_from_its_middle():
    value = "".join(f"{n:06}" for n in range(10_000))
    assert "000" not in masked(value[20_000:40_000], value)[600:]


def test_many_values_are_found_in_one_pass():
    values = HiddenValues(f"value-{n}" for n in range(50_000))
    started = time.process_time()
    text = " ".join(f"value-{n}" for n in range(0, 50_000, 10))
    assert set(covered(text, merged(literal_spans(text, values)), 0, len(text)).split()) == {"[hidden]"}
    assert time.process_time() - started < 2  # some 0.15 s; one search per value takes half a minute


@settings(max_examples=40, deadline=None, database=None)
@given(
    st.text("ab", min_size=30, max_size=120),
    st.lists(st.text("ab", min_size=4, max_size=40), min_size=1, max_size=4),
)
def test_every_full_occurrence_is_covered(text, hidden):
    spans = merged(literal_spans(text, hidden))
    for value in hidden:
        for place in (at for at in range(len(text)) if text.startswith(value, at)):
            assert any(span.start <= place and place + len(value) <= span.end for span in spans)
