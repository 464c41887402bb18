"""Texts of a CSV file: none reads as a formula, however the file is taken apart, and each can be had back."""

from __future__ import annotations

import csv
import io
import re
import sys
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from exports.csv_cells import original_text, safe_text

TELLING = st.text(st.sampled_from("=+-@\uff1d\uff0b\u2212'\",;|\t\r\n\x0b\x00 \xa0\u200b\ufeff\u2028ax1")) | st.text()
UNSEEN = ("Cc", "Cf", "Zs", "Zl", "Zp")
"""The categories of what leaves no ink."""
ENDS = re.compile("[,;|\t\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029]")


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("", ""),
        ("Anna", "Anna"),
        ("O'Brien", "O'Brien"),
        ("SO-2025-17", "SO-2025-17"),
        ("a - b = c", "a - b = c"),
        ("mail@shop.example", "mail@shop.example"),
        ("=1+1", "'=1+1"),
        ("-Anna", "'-Anna"),
        (" =1", "' =1"),
        ('"=1"', '\'"=1"'),
        ("\uff1d1", "'\uff1d1"),
        ("\u22121", "'\u22121"),
        ("'=1", "''=1"),
        ("'s Hertogenbosch", "''s Hertogenbosch"),
        (";=1", ";'=1"),
        ("a; +49 30 1", "a;' +49 30 1"),
        ("one\r\n-two", "one\r\n'-two"),
        ("one,'two'", "one,''two'"),
        ("\t=1", "'\t'=1"),
        ("\tAnna", "'\tAnna"),
        ("\x00=1", "'\x00=1"),
        ("\u200b\ufeff@x", "'\u200b\ufeff@x"),
    ],
)
def test_an_apostrophe_stands_where_a_cell_could_begin_with_a_formula_and_nowhere_else(text, cell):
    assert safe_text(text) == cell
    assert original_text(cell) == text


@given(TELLING)
@example("'")
@example("\r\n'\r=")
def test_every_text_can_be_had_back(text):
    assert original_text(safe_text(text)) == text


@given(TELLING)
def test_no_piece_of_a_text_reads_as_a_formula_whatever_ends_a_cell(text):
    assert [piece for piece in ENDS.split(safe_text(text)) if _is_formula(piece)] == []


@given(TELLING)
def test_no_text_begins_with_a_control_character(text):
    assert not re.match("[\x00-\x1f]", safe_text(text))


@given(st.lists(TELLING, min_size=1), st.sampled_from(",;\t|"))
def test_none_does_in_a_file_that_is_taken_apart_at_another_sign(texts, delimiter):
    written = io.StringIO()
    csv.writer(written, quoting=csv.QUOTE_NONNUMERIC).writerow([safe_text(text) for text in texts])
    rows = csv.reader(io.StringIO(written.getvalue(), newline=""), delimiter=delimiter)
    assert [cell for row in rows for cell in row if _is_formula(cell)] == []


@given(st.text("".join(map(chr, range(0x20))) + "ab=;'"))
def test_a_csv_reader_gives_every_character_back(text):
    written = io.StringIO(newline="")
    csv.writer(written, quoting=csv.QUOTE_NONNUMERIC).writerow([safe_text(text)])
    assert [original_text(cell) for (cell,) in csv.reader(io.StringIO(written.getvalue(), newline=""))] == [text]


def test_nothing_that_leaves_no_ink_hides_a_formula():
    unseen = [sign for sign in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(sign) in UNSEEN]
    assert [sign for sign in unseen if safe_text(f"{sign}=1") == f"{sign}=1"] == []


def _is_formula(cell):
    """As the most generous of programs reads it: what leaves no ink is dropped, and forms of signs are made plain."""
    plain = unicodedata.normalize("NFKC", re.sub("[\u2212\u207b\u208b]", "-", cell))
    seen = "".join(one for one in plain if unicodedata.category(one) not in UNSEEN)
    return seen.lstrip('"\u00ab\u00bb\u201c\u201d\u201e\u201f').startswith(("=", "+", "-", "@"))
