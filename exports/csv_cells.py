"""Texts in a CSV file that no spreadsheet takes for formulas, by a rule that can be undone.

The rule: a text that could be taken for one gets an apostrophe before it, and so does a text that begins with an
apostrophe. To get the original back, take one apostrophe off wherever a text begins with one. Texts are in quotation
marks, always, and numbers never: so an amount of -12.50 stays a number, and a program that takes semicolons for the
ends of cells can't find a formula behind one.
"""

from __future__ import annotations

import re

_COULD_BE_A_FORMULA = re.compile(r"[\s\x00-\x1f\"';,|\u200b\ufeff]*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n\x00']")
"""What programs skip before they look for the sign of a formula, and that sign, also in full width."""


def safe_text(text: str) -> str:
    """The text as it goes into the file."""
    return f"'{text}" if _COULD_BE_A_FORMULA.match(text) else text


def original_text(cell: str) -> str:
    """The text that a cell of the file was made of."""
    return cell.removeprefix("'")
