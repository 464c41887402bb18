"""Makes text that came out of a job safe to show: secrets and hidden values masked first, then shortened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jobs.domain.excerpts import Excerpt, at_line_ends, end_of_line_before, gap, start_of_line_after
from jobs.domain.literals import literal_spans
from jobs.domain.secret_shapes import secret_spans
from jobs.domain.spans import HIDDEN, Span, covered, merged

MARGIN = 16 * 1024
"""Characters beyond what is kept of a very long text in which it is still looked for secrets that reach into it."""
BLANKS = " \t\n\r\"'<>,;"


@dataclass(frozen=True)
class Shortened:
    """A text with its middle left out when it was too long."""

    text: str
    total_characters: int
    shortened: bool
    is_total_exact: bool = True


def scrub(text: str, hidden: Sequence[str] = ()) -> str:
    """``text`` with everything masked that looks like a secret or equals one of the ``hidden`` values.

    The work is proportional to the length of the text. ``hidden`` may be the result of ``arguments.hidden_values``,
    which is prepared for being used often.
    """
    return covered(text, _spans(text, hidden), 0, len(text))


def shorten(text: str, *, keep: int) -> Shortened:
    """Head and tail of ``text``, ``keep`` characters together, and a line between that says how much was left out."""
    if len(text) <= keep:
        return Shortened(text, len(text), shortened=False)
    head, tail = at_line_ends(text[: keep // 2], text[len(text) - keep // 2 :])
    return Shortened(head + gap(len(text) - len(head) - len(tail)) + tail, len(text), shortened=True)


def safe_text(text: str | Excerpt, hidden: Sequence[str] = (), *, keep: int) -> Shortened:
    """``text`` masked, then shortened to about ``keep`` characters.

    Of a very long text only the two ends are gone through, each with a margin: a secret that begins or ends in the
    part left out is recognised as long as it is shorter than the margin (16 k characters), a hidden value always.
    """
    excerpt = Excerpt(text, total_characters=len(text)) if isinstance(text, str) else text
    if excerpt.tail is None and len(excerpt.head) <= keep + 2 * MARGIN:
        made = shorten(scrub(excerpt.head, hidden), keep=keep)
        return Shortened(made.text, len(excerpt.head), made.shortened)
    return _safe_ends(excerpt, hidden, keep)


def _safe_ends(excerpt: Excerpt, hidden: Sequence[str], keep: int) -> Shortened:
    room = keep // 2 + MARGIN
    whole = excerpt.head if excerpt.tail is None else None
    head, tail = excerpt.head[:room], (excerpt.head if excerpt.tail is None else excerpt.tail)[-room:]
    end = end_of_line_before(head, _kept(head, keep))
    start = start_of_line_after(tail, len(tail) - _kept(tail, keep))
    tail_spans = merged([*_spans(tail, hidden), *_run_from_before(whole, tail, start)])
    left_out = gap(excerpt.total_characters - end - (len(tail) - start), is_exact=excerpt.is_total_exact)
    return Shortened(
        covered(head, _spans(head, hidden), 0, end) + left_out + covered(tail, tail_spans, start, len(tail)),
        excerpt.total_characters,
        shortened=True,
        is_total_exact=excerpt.is_total_exact,
    )


def _kept(end: str, keep: int) -> int:
    """How much of one end is shown; the margin never is, since it may begin or end within a secret."""
    return max(0, min(keep // 2, len(end) - MARGIN))


def _run_from_before(whole: str | None, tail: str, start: int) -> list[Span]:
    """The rest of a word longer than the margin, hidden when it begins like a secret or when nobody knows how."""
    if any(blank in tail[:start] for blank in BLANKS):
        return []
    stops = (tail.find(blank, start) for blank in BLANKS)
    end = min((stop for stop in stops if stop >= 0), default=len(tail))
    if whole is not None:
        position = len(whole) - len(tail)
        begin = max(whole.rfind(blank, 0, position) for blank in BLANKS) + 1
        lead = max(0, begin - 100)
        probe = whole[lead : begin + MARGIN]
        if not any(span.end >= len(probe) for span in _spans(probe, ())):
            return []
    return [Span(0, end, HIDDEN)]


def _spans(text: str, hidden: Sequence[str]) -> list[Span]:
    return merged([*secret_spans(text), *(literal_spans(text, hidden) if hidden else ())])
