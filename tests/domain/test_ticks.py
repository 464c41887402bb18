"""A ticked row comes back as the job that it was, whatever its names hold."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.domain.ticks import BadTick, Tick, decode

ODD = ["order/42", "order%2F42", "order 42", "a&b=c", "two\nlines", "ünï", "<b>'\"", "x" * 300, "a:b", "+", "%", "~"]
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=60)


@pytest.mark.parametrize("name", ODD)
def test_odd_names_come_back(name):
    tick = Tick(name, name, "started@2026-01-01T00:00:00Z/", "repeatable")
    assert decode(tick.encode(), longest=512) == tick
    assert tick.encode().isascii() and tick.encode().isprintable() and " " not in tick.encode()


@settings(max_examples=200)
@given(TEXT, TEXT.filter(bool), TEXT, TEXT)
def test_any_names_come_back(queue, job_id, seen, confirmed):
    tick = Tick(queue, job_id, seen, confirmed)
    assert decode(tick.encode(), longest=512) == tick


def test_no_two_jobs_are_one_text():
    ticks = [Tick(queue, job_id, "1-0") for queue in ODD for job_id in ODD]
    assert len({tick.encode() for tick in ticks}) == len(ticks)


@pytest.mark.parametrize(
    "text", ["", "orders", "orders/", "a/b/c/d/e", "orders/%FF/1-0", "orders/a\0b/1-0", "orders/a%00b/1-0"]
)
def test_a_text_that_no_list_would_send_is_none(text):
    with pytest.raises(BadTick):
        decode(text, longest=512)


@pytest.mark.parametrize("text", [f"orders/{'x' * 513}/1-0", f"{'x' * 513}/a/1-0"])
def test_a_name_that_is_too_long_for_the_record_is_never_acted_on(text):
    with pytest.raises(BadTick):
        decode(text, longest=512)
