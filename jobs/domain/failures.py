"""What the text of a failed result says about how far the run got (observed on RQ 2.12 and 3.0)."""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from jobs.domain.tracebacks import Frame, RaisedException, parse_traceback


class Reach(StrEnum):
    """How far a failed run got, as far as its text can tell."""

    NEVER_ENTERED = "never_entered"
    RAISED = "raised"
    UNKNOWN = "unknown"
    RETURNED = "returned"


@dataclass(frozen=True)
class Failure:
    """A reading of a failure's text. `is_dead`: the text itself proves that the run has ended."""

    reach: Reach
    cause: str
    is_dead: bool = True


def read_failure(text: str | None) -> Failure:
    """Classify the text of a FAILED result. Total: a text that nobody knows reads as unknown."""
    if not text:
        return Failure(Reach.UNKNOWN, "RQ recorded no error text for its last run", is_dead=False)
    for pattern, judge in _FIXED_TEXTS:
        if match := pattern.match(text[:500]):
            return judge(match)
    return _read_traceback(parse_traceback(text).exceptions)


def _read_traceback(exceptions: Sequence[RaisedException]) -> Failure:
    if any(one.kind.endswith("JobTimeoutException") for one in exceptions):
        return Failure(Reach.UNKNOWN, "it ran into its time limit and was cut off at an arbitrary point")
    frames = [frame for one in exceptions for frame in one.frames]
    if not exceptions or not frames:
        return Failure(Reach.UNKNOWN, "its last run left a text that says nothing about where it ended")
    ours = {frame.function for frame in frames if _is_rq(frame)}
    if ours & _AFTER_THE_RETURN:
        return Failure(Reach.RETURNED, "the function returned, and RQ failed only afterwards")
    return _read_entry(exceptions[-1], exceptions[0].frames or exceptions[-1].frames, ours)


def _read_entry(last: RaisedException, frames: Sequence[Frame], ours: set[str]) -> Failure:
    """Did control pass from RQ's call into the function?"""
    if "import_attribute" in ours:
        return Failure(Reach.NEVER_ENTERED, "the function was not found (code at the top of its module may have run)")
    if last.kind.endswith("DeserializationError"):
        return Failure(Reach.NEVER_ENTERED, "the worker could not read the stored arguments")
    if any(not frame.is_library for frame in frames):
        return Failure(Reach.RAISED, "the function raised an error")
    if last.kind == "TypeError" and _DOES_NOT_BIND.search(last.message):
        return Failure(Reach.NEVER_ENTERED, "the stored arguments do not fit the function")
    if "_execute" in ours:
        return Failure(Reach.RAISED, "the function raised an error")
    return Failure(Reach.UNKNOWN, "it failed inside RQ at a point that the record does not show")


def _is_rq(frame: Frame) -> bool:
    return "/rq/" in frame.file.replace("\\", "/")


_AFTER_THE_RETURN = {"execute_success_callback", "handle_job_success", "_handle_success"}
"""RQ's functions that run only once the job's function has returned."""

_DOES_NOT_BIND = re.compile(
    r"missing \d+ required (positional|keyword-only) argument|takes .{1,40} positional arguments? but"
    r"|unexpected keyword argument|multiple values for (keyword )?argument|positional-only arguments? passed as keyword"
)


def _waitpid(match: re.Match[str]) -> Failure:
    status = match[1]
    if status == "None":
        return Failure(Reach.UNKNOWN, "it ran on past its time limit and the worker killed it")
    return Failure(Reach.UNKNOWN, _exit_words(int(status)))


def _exit_words(status: int) -> str:
    """Plain words for a wait status: the low seven bits are a signal, the next byte an exit code."""
    number = status & 0x7F
    if number == signal.SIGKILL:
        return "its process was killed (signal 9; often the machine was out of memory)"
    if number == signal.SIGTERM:
        return "its process was told to end (signal 15; often a restart or a deployment)"
    if number == signal.SIGSEGV:
        return "its process crashed (signal 11, a fault in compiled code)"
    if number:
        return f"its process was ended by signal {number}"
    code = status >> 8
    if code == 1:
        return "its process ended with exit code 1 (often Redis was lost just when the result was to be written)"
    return f"its process ended by itself with exit code {code}"


def _abandoned(_: re.Match[str]) -> Failure:
    return Failure(Reach.UNKNOWN, "its worker stopped giving signs of life and RQ gave it up", is_dead=False)


def _stuck(_: re.Match[str]) -> Failure:
    # Usually it never began, but RQ's mark lives a day per job id and can be wrong (rq#2061): no proof.
    return Failure(
        Reach.UNKNOWN, "RQ found it taken from the queue and not begun, which can be mistaken", is_dead=False
    )


def _stopped(_: re.Match[str]) -> Failure:
    return Failure(Reach.UNKNOWN, "somebody stopped it while it ran")


_FIXED_TEXTS = (
    (re.compile(r"^Work-horse terminated unexpectedly; waitpid returned (None|\d{1,6})"), _waitpid),
    (re.compile(r"^Moved to FailedJobRegistry, due to AbandonedJobError"), _abandoned),
    (re.compile(r"^Job was stuck in (the )?intermediate queue"), _stuck),
    (re.compile(r"^Job stopped by user"), _stopped),
)
