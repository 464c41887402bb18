"""Dotted paths of functions, which name job types."""

from __future__ import annotations

import re

LONGEST = 512
"""Characters, as in the columns that hold a path."""
_DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)+")


def is_dotted_path(text: str) -> bool:
    """Whether a text can name a job type, as `shop.tasks.send_invoice` does; RQ itself takes any text."""
    return len(text) <= LONGEST and bool(_DOTTED.fullmatch(text))
