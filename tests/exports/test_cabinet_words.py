"""The words, icons and numbers of the cabinet."""

from __future__ import annotations

import pytest

from exports.mail_states import MailState
from exports.states import ExportState
from exports.templatetags.exports import export_badge, file_size, how_far, mail_badge, row_count
from exports.words import EXPORT_WORDS, MAIL_WORDS
from tests.templates.files import ICONS


def test_every_state_has_a_word_and_no_two_look_alike():
    assert set(EXPORT_WORDS) == set(ExportState)
    assert set(MAIL_WORDS) == set(MailState) - {MailState.NONE}
    for words in (EXPORT_WORDS, MAIL_WORDS):
        assert len({(one.look, one.icon) for one in words.values()}) == len({one.word for one in words.values()})
        assert len({one.word for one in words.values()}) == len(words)


def test_every_icon_is_drawn():
    drawn = {path.stem for path in ICONS}
    assert {one.icon for words in (EXPORT_WORDS, MAIL_WORDS) for one in words.values()} <= drawn


def test_a_badge_has_icon_word_and_colour():
    assert export_badge(ExportState.READY) == '<span class="state state--done">ready</span>'
    assert export_badge(ExportState.EXPIRED) == '<span class="state state--skipped icon--gone">expired</span>'
    assert mail_badge(MailState.UNKNOWN) == '<span class="state state--review">may have been sent</span>'


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (None, "unknown"),
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (83_912, "83.9 kB"),
        (1_000_000, "1.0 MB"),
        (2_500_000_000, "2.5 GB"),
        (7 * 10**15, "7000.0 TB"),
    ],
)
def test_the_size_of_a_file(size, text):
    assert file_size(size) == text


def test_numbers_of_rows():
    space = "\N{NARROW NO-BREAK SPACE}"
    assert (row_count(0), row_count(1), row_count(40_000)) == ("0 rows", "1 row", f"40{space}000 rows")
    assert how_far(12_000, 40_000) == f"12{space}000 of 40{space}000 rows"
