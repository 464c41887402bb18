"""Single values as they may stand in Redis, good and bad."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.broker import fields


@pytest.mark.parametrize(
    ("raw", "read"),
    [
        (b"2026-10-25T00:30:00.000001Z", datetime(2026, 10, 25, 0, 30, 0, 1, tzinfo=UTC)),
        (b"2026-10-25T00:30:00Z", datetime(2026, 10, 25, 0, 30, tzinfo=UTC)),
        (b"", None),
        (None, None),
        (b"yesterday", None),
        (b"\xff\xfe", None),
        (b"9999-12-31T23:59:59Z", None),
        (b"0001-01-01T00:00:00Z", None),
    ],
)
def test_a_time_is_read_or_unknown(raw, read):
    assert fields.time(raw) == read


@pytest.mark.parametrize("raw", [None, b"x", b"nan", b"inf", float("inf"), float("nan"), 1e300, -1e300, 253402300799.0])
def test_seconds_that_are_no_usable_time_are_unknown(raw):
    assert fields.epoch(raw) is None


@pytest.mark.parametrize(("raw", "read"), [(b"180", 180), (b"-1", -1), (b"1.5", None), (b"9" * 19, None), (None, None)])
def test_a_number_is_whole_or_unknown(raw, read):
    assert fields.number(raw) == read


@pytest.mark.parametrize(
    ("raw", "read"),
    [
        (b'["a", "b"]', ("a", "b")),
        (b'{"a": 1}', ()),
        (b"[1, null]", ()),
        (b"[" * 100_000, ()),
        (None, ()),
    ],
)
def test_a_list_of_ids_is_read_or_empty(raw, read):
    assert fields.id_list(raw) == read


@given(st.binary(max_size=60))
def test_no_bytes_make_the_reader_fail(raw):
    assert isinstance(fields.text(raw), str)
    for read in (fields.time, fields.epoch, fields.number, fields.id_list, fields.stream_time):
        read(raw)
