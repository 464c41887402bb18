"""Unpacking what RQ compressed: bounded, and never raising."""

from __future__ import annotations

import base64
import tracemalloc
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.broker.inflate import MAX_TOTAL, inflate, read_exc_string

BOMB = zlib.compress(b"\0" * 50_000_000)


def exc_string(text):
    return base64.b64encode(zlib.compress(text.encode()))


@pytest.mark.parametrize("size", [0, 1, 99, 100])
def test_what_fits_is_unpacked_whole(size):
    made = inflate(zlib.compress(b"x" * size), max_bytes=100)
    assert (made.data, made.total, made.complete, made.damaged) == (b"x" * size, size, True, False)


def test_what_does_not_fit_is_cut():
    made = inflate(zlib.compress(b"x" * 101), max_bytes=100)
    assert (made.data, made.total, made.complete, made.damaged) == (b"x" * 100, None, False, False)


def test_a_broken_stream_gives_what_came_before():
    packed = zlib.compress(bytes(range(256)) * 400)
    made = inflate(packed[: len(packed) // 2], max_bytes=10**6)
    assert (made.complete, made.damaged, made.total) == (False, True, None)
    assert (bytes(range(256)) * 400).startswith(made.data)


def test_what_is_not_compressed_is_damaged_and_empty():
    made = inflate(b"\x80\x05K\x01.", max_bytes=100)
    assert (made.data, made.damaged) == (b"", True)


def test_a_bomb_is_never_unpacked_whole():
    tracemalloc.start()
    inflate(BOMB, max_bytes=100_000)
    assert tracemalloc.get_traced_memory()[1] < 2_000_000
    tracemalloc.stop()


def test_unpacking_stops_when_enough_is_there(monkeypatch):
    taken = []
    pieces = (taken.append(1) or b"x" * 10 for _ in range(1000))
    monkeypatch.setattr("jobs.broker.inflate._stream", lambda _: pieces)
    assert (inflate(b"", max_bytes=25).data, len(taken)) == (b"x" * 25, 3)


def test_a_short_traceback_is_read_whole():
    made = read_exc_string(exc_string("Grüße\n"), max_bytes=1000)
    assert (made.text, made.tail, made.total_characters, made.damaged) == ("Grüße\n", None, 6, False)


def test_of_a_long_traceback_both_ends_are_kept_and_all_is_counted():
    lines = [f"line {n:07}\n" for n in range(500_000)]
    made = read_exc_string(exc_string("".join(lines)), max_bytes=2000)
    assert (made.head, made.tail) == ("".join(lines)[:1000], "".join(lines)[-1000:])
    assert (made.total_characters, made.is_total_exact) == (6_500_000, True)
    assert made.text.startswith("line 0000000\n")
    assert "\n[… 6,498," in made.text


def test_a_long_traceback_is_not_held_whole():
    stored = exc_string("E" * 50_000_000)
    tracemalloc.start()
    read_exc_string(stored, max_bytes=200_000)
    assert tracemalloc.get_traced_memory()[1] < 5_000_000
    tracemalloc.stop()


def test_counting_stops_at_a_limit():
    made = read_exc_string(base64.b64encode(zlib.compress(b"E" * (MAX_TOTAL + 10**6))), max_bytes=1000)
    assert (made.is_total_exact, "at least" in made.text) == (False, True)


@pytest.mark.parametrize(
    ("stored", "text", "damaged"),
    [
        (zlib.compress(b"old exc_info"), "old exc_info", False),
        (base64.b64encode(zlib.compress(b"\xff\xfeabc")), "\ufffd\ufffdabc", False),
        (base64.b64encode(zlib.compress("ü".encode()[:1])), "\ufffd", False),
        (base64.encodebytes(zlib.compress(b"x" * 300 + bytes(range(97, 123)))), "x" * 300 + "abc", False),
        (b"no base64 at all!", "", True),
        (b"\xff\xfe\x00", "", True),
        (b"", "", False),
        (None, "", False),
        (base64.b64encode(b"base64, but not compressed"), "", True),
    ],
)
def test_odd_and_broken_texts_are_read_as_far_as_they_go(stored, text, damaged):
    made = read_exc_string(stored, max_bytes=1000)
    assert (made.text.startswith(text), made.damaged) == (True, damaged)


def test_a_traceback_cut_off_in_storage_is_marked():
    text = "".join(f"line {n * n}\n" for n in range(3000))
    made = read_exc_string(exc_string(text)[:2001], max_bytes=10**6)
    assert (made.damaged, text.startswith(made.text), len(made.text) > 500) == (True, True, True)


@settings(max_examples=60, deadline=None, database=None)
@given(st.binary(max_size=200), st.binary(max_size=200), st.integers(0, 300))
def test_nothing_that_is_stored_makes_it_raise(raw, text, cut):
    packed = zlib.compress(text)
    for stored in (raw, packed[:cut], packed + raw, base64.b64encode(packed)[:cut] + raw):
        inflate(stored, max_bytes=50)
        read_exc_string(stored, max_bytes=50)
