"""Exception texts made safe to show: the job's own hidden values and well-known secrets masked, then shortened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jobs.broker.records import Result
from jobs.domain.arguments import Argument, can_be_masked, hidden_values, recorded_ids, shown_arguments
from jobs.domain.calls import Call, Unreadable
from jobs.domain.excerpts import Excerpt
from jobs.domain.redaction import safe_text
from jobs.domain.tracebacks import Traceback, error_line, has_user_frames, parse_traceback, without_messages
from jobs.models import JobType

LATEST_CHARACTERS = 60_000
OLDER_CHARACTERS = 8_000


@dataclass(frozen=True, kw_only=True)
class ErrorText:
    """One run's error as a page shows it. `total_characters` is its size as stored, `is_total_exact` if counted out."""

    traceback: Traceback
    text: str
    shortened: bool
    total_characters: int
    is_total_exact: bool
    damaged: bool


@dataclass(frozen=True)
class Masks:
    """What must not be shown of one job: the values of its hidden arguments, or every message if they are unknown."""

    hidden: Sequence[str]
    are_known: bool


def masks_of(call: Call | Unreadable, job_type: JobType | None) -> Masks:
    """The masks for texts of a job with this call and this declaration."""
    if isinstance(call, Unreadable):
        return Masks((), are_known=False)
    return Masks(hidden_values(call, declared_ids(job_type)), are_known=can_be_masked(call))


def arguments_of(call: Call | Unreadable, job_type: JobType | None) -> tuple[Argument, ...]:
    """The call's arguments, ids with their value, the rest by kind and size.

    Of a call that was only partly read nothing is shown: what looks like its first argument may be the inside of one.
    """
    if isinstance(call, Unreadable) or not call.complete:
        return ()
    return shown_arguments(call, declared_ids(job_type))


def recorded_ids_of(call: Call | Unreadable, job_type: JobType | None) -> list[list[Any]]:
    """Those of `arguments_of` that are ids, as the index of failures keeps them."""
    if isinstance(call, Unreadable) or not call.complete:
        return []
    return recorded_ids(call, declared_ids(job_type))


def declared_ids(job_type: JobType | None) -> Sequence[str]:
    """The arguments that were declared to be ids."""
    return [str(name) for name in job_type.id_parameters] if job_type else []


def error_text(result: Result, masks: Masks, *, keep: int) -> ErrorText | None:
    """A result's error, masked and shortened to about `keep` characters; None when it holds none."""
    if result.error is None:
        return None
    safe = safe_text(_showable(result.error, masks), masks.hidden, keep=keep)
    return ErrorText(
        traceback=parse_traceback(safe.text),
        text=safe.text,
        shortened=safe.shortened or result.error.total_characters > 2 * keep,
        total_characters=result.error.total_characters,
        is_total_exact=result.error.is_total_exact,
        damaged=result.error.damaged,
    )


def one_line(result: Result, masks: Masks) -> str:
    """A result's error in one line for a list, masked; '' when it holds none."""
    if result.error is None:
        return ""
    shown = _showable(result.error, masks)
    return error_line(shown if isinstance(shown, str) else shown.text, hidden=masks.hidden)


def _showable(error: Excerpt, masks: Masks) -> Excerpt | str:
    """Where not all arguments are known, their values can't be found in a message either, so none is shown."""
    text = error.text
    return without_messages(text) if not masks.are_known and has_user_frames(text) else error
