"""Errors that nobody foresaw, said without what stood in a job."""

from __future__ import annotations

import traceback
from pathlib import Path


def told(error: Exception) -> str:
    """An error's class and place. Its text is left out: it may hold what stood in a job."""
    *_outer, last = traceback.extract_tb(error.__traceback__)
    return f"{type(error).__name__} in {Path(last.filename).name}, line {last.lineno}"
