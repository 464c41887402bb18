"""Error texts as the observer kept them: masked by what was declared then, and shown by what is declared now."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

from jobs.domain.arguments import still_shown
from jobs.domain.redaction import scrub
from jobs.domain.tracebacks import parse_traceback
from jobs.models import FailedJob, JobType, ObservedAttempt
from jobs.selectors.texts import ErrorText, declared_ids


def hidden_since(row: FailedJob, declared: JobType | None) -> list[str]:
    """The values that were ids when the texts of a failure were masked, and by today's declaration are none."""
    shown = {one.value for one in still_shown(row.ids, declared_ids(declared))}
    return [value for _name, value, *_rest in row.ids if value not in shown]


def stored_line(line: str, hidden: Sequence[str]) -> str:
    """An error in one line, with what is `hidden_since` masked as well."""
    return scrub(line, hidden) if hidden else line


def stored_error(attempt: ObservedAttempt, hidden: Sequence[str]) -> ErrorText | None:
    """The error of a run that Redis may have forgotten, with what is `hidden_since` masked as well.

    None when none was kept, or what is kept is damaged.
    """
    try:
        text = stored_line(zlib.decompress(bytes(attempt.compressed_text)).decode("utf-8", "replace"), hidden)
    except zlib.error:
        return None
    return ErrorText(
        traceback=parse_traceback(text),
        text=text,
        shortened=attempt.is_shortened,
        total_characters=len(text),
        is_total_exact=False,
        damaged=False,
    )
