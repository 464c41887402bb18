"""Exception texts made safe to show: the job's own hidden values and well-known secrets masked, then shortened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jobs.broker.records import Result
from jobs.domain.arguments import Argument, hidden_values, shown_arguments
from jobs.domain.calls import Call, Unreadable
from jobs.domain.redaction import safe_text, scrub
from jobs.domain.tracebacks import Traceback, error_line, has_user_frames, parse_traceback, without_messages
from jobs.models import JobType

LATEST_CHARACTERS = 60_000
OLDER_CHARACTERS = 8_000
LINE_SOURCE_CHARACTERS = 20_000


@dataclass(frozen=True, kw_only=True)
class ErrorText:
    """One run's error as a page shows it. `stored_bytes` is its size in Redis before masking and shortening."""

    traceback: Traceback
    text: str
    shortened: bool
    stored_bytes: int
    damage: str


@dataclass(frozen=True)
class Masks:
    """What must not be shown of one job: the values of its hidden arguments, or every message if they are unknown."""

    hidden: Sequence[str]
    are_known: bool


def masks_of(call: Call | Unreadable, job_type: JobType | None) -> Masks:
    """The masks for texts of a job with this call and this declaration."""
    if isinstance(call, Unreadable):
        return Masks((), are_known=False)
    return Masks(hidden_values(call, declared_ids(job_type)), are_known=call.complete)


def arguments_of(call: Call | Unreadable, job_type: JobType | None) -> tuple[Argument, ...]:
    """The call's arguments, ids with their value, the rest by kind and size."""
    return () if isinstance(call, Unreadable) else shown_arguments(call, declared_ids(job_type))


def declared_ids(job_type: JobType | None) -> Sequence[str]:
    """The arguments that were declared to be ids."""
    return [str(name) for name in job_type.id_parameters] if job_type else []


def error_text(result: Result, masks: Masks, *, keep: int) -> ErrorText | None:
    """A result's error, masked and shortened to about `keep` characters; None when it holds none."""
    if result.text is None:
        return None
    safe = safe_text(_with_masks(result.text, masks), masks.hidden, keep)
    return ErrorText(
        traceback=parse_traceback(safe.text),
        text=safe.text,
        shortened=safe.shortened or result.text_bytes > 4 * keep,
        stored_bytes=result.text_bytes,
        damage=result.damage,
    )


def one_line(result: Result, masks: Masks) -> str:
    """A result's error in one line for a list, masked; '' when it holds none."""
    if result.text is None:
        return ""
    text = _with_masks(result.text, masks)
    return error_line(scrub(text if len(text) < LINE_SOURCE_CHARACTERS else _ends(text), masks.hidden))


def _with_masks(text: str, masks: Masks) -> str:
    """Where the arguments can't be read, their values can't be found in a message either, so none is shown."""
    return without_messages(text) if not masks.are_known and has_user_frames(text) else text


def _ends(text: str) -> str:
    half = LINE_SOURCE_CHARACTERS // 2
    return f"{text[:half]}\n{text[-half:]}"
