"""A long text of which only both ends are at hand, and the line that stands where the rest was."""

from __future__ import annotations

import re
from dataclasses import dataclass

GAP_LINE = re.compile(r"\[… at least [\d,]+ characters left out …\]|\[… [\d,]+ characters left out …\]")
LOOK_BACK = 400
"""Characters within which a cut is moved to the end of a line, so that no half line is shown."""


@dataclass(frozen=True)
class Excerpt:
    """Head and tail of a text, as a reader kept them. Not yet safe to show: see ``redaction.safe_text``."""

    head: str
    """The whole text when ``tail`` is None."""
    tail: str | None = None
    total_characters: int = 0
    """Length of the whole text."""
    is_total_exact: bool = True
    """False when the reader stopped counting; there are at least that many."""
    damaged: bool = False
    """The stored bytes are broken; this is what could be read."""

    @property
    def text(self) -> str:
        """Head, a line saying how much is missing, and tail."""
        if self.tail is None:
            return self.head
        head, tail = at_line_ends(self.head, self.tail)
        return head + gap(self.total_characters - len(head) - len(tail), is_exact=self.is_total_exact) + tail


def gap(characters: int, *, is_exact: bool = True) -> str:
    """The line that stands for what was left out, with the line breaks around it."""
    at_least = "" if is_exact else "at least "
    return f"\n[… {at_least}{characters:,} characters left out …]\n"


def at_line_ends(head: str, tail: str) -> tuple[str, str]:
    """Trim both sides of a cut to whole lines, where a line ends nearby."""
    return head[: end_of_line_before(head, len(head))], tail[start_of_line_after(tail, 0) :]


def end_of_line_before(text: str, position: int) -> int:
    """The last line break shortly before ``position``, or ``position``."""
    found = text.rfind("\n", max(0, position - LOOK_BACK), position)
    return found if found > 0 else position


def start_of_line_after(text: str, position: int) -> int:
    """The start of the next line if that is near, or ``position``."""
    return text.find("\n", position, position + LOOK_BACK) + 1 or position
