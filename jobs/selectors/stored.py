"""Error texts as the observer kept them: they were masked before, so nothing has to be known to show them."""

from __future__ import annotations

import zlib

from jobs.domain.tracebacks import parse_traceback
from jobs.models import ObservedAttempt
from jobs.selectors.texts import ErrorText


def stored_error(attempt: ObservedAttempt) -> ErrorText | None:
    """The error of a run that Redis may have forgotten; None when none was kept, or what is kept is damaged."""
    try:
        text = zlib.decompress(bytes(attempt.compressed_text)).decode("utf-8", "replace")
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
