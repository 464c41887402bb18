"""What the text of a failed result says about how far the run got (observed on RQ 2.12 and 3.0)."""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import dropwhile, takewhile

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
    """Read the one exception of the chain that came out where RQ had called the function.

    Those before it were caught within the function, one behind it was raised by the failure callback. The function may
    itself use RQ, and a message may quote a traceback; so what counts is the path from RQ's call, not a name anywhere.
    """
    came_out = [at for at, one in enumerate(exceptions) if _is_from_the_run(_path(one))]
    if len(came_out) != 1:
        return _read_without_path(exceptions)
    path, run = _path(exceptions[came_out[0]]), exceptions[: came_out[0] + 1]
    if _AFTER_THE_RETURN.intersection(path):
        return Failure(Reach.RETURNED, "the function returned, and RQ failed only afterwards")
    return _cut_off(run) or _read_path(path, run[-1])


def _path(raised: RaisedException) -> list[str]:
    """RQ's own functions that led to the exception, up to the first frame that is not RQ's."""
    return [frame.function for frame in takewhile(_is_rq, raised.frames)]


def _is_rq(frame: Frame) -> bool:
    return _RQ_MODULES.search(frame.file) is not None


def _is_from_the_run(path: Sequence[str]) -> bool:
    return bool(path) and path[0] in _CALLERS and "execute_failure_callback" not in path


def _cut_off(run: Sequence[RaisedException]) -> Failure | None:
    # A group holds its members in its message.
    if any(one.kind.endswith("JobTimeoutException") or "JobTimeoutException: Task" in one.message for one in run):
        return Failure(Reach.UNKNOWN, "it ran into its time limit and was cut off at an arbitrary point")
    return None


def _read_path(path: Sequence[str], raised: RaisedException) -> Failure:
    """Did control pass from RQ's call into the function?"""
    if "_execute" not in path:
        if "prepare_job_execution" in path:
            return Failure(Reach.NEVER_ENTERED, _BEFORE_THE_CALL.get(raised.kind, "RQ failed before it called it"))
        return Failure(Reach.UNKNOWN, "it failed inside RQ at a point that the record does not show")
    if set(path[path.index("_execute") + 1 :][:1]) & _OPERANDS:
        return Failure(Reach.NEVER_ENTERED, _BEFORE_THE_CALL.get(raised.kind, NOT_FOUND))
    if _is_refused_by_the_layer(raised):
        return Failure(Reach.NEVER_ENTERED, DOES_NOT_FIT)
    last = raised.frames[-1]
    is_at_the_call = _is_rq(last) and last.function == "_execute"
    if is_at_the_call and raised.kind == "TypeError" and _DOES_NOT_BIND.search(raised.message):
        return Failure(Reach.NEVER_ENTERED, DOES_NOT_FIT)
    return Failure(Reach.RAISED, "the function raised an error")


def _is_refused_by_the_layer(raised: RaisedException) -> bool:
    """Whether our own decorator could not bind the call to the function: it does so before anything of the job runs."""
    beyond = dropwhile(_is_rq, raised.frames)
    own = [frame.function for frame in takewhile(_is_layer, beyond)]
    return "bind" in own and not _LETS_IT_RUN.intersection(own)


def _is_layer(frame: Frame) -> bool:
    return _LAYER_MODULES.search(frame.file) is not None


def _read_without_path(exceptions: Sequence[RaisedException]) -> Failure:
    """Of a text that RQ's worker did not write, or that was cut: nothing bolder than that user code raised."""
    if timeout := _cut_off(exceptions):
        return timeout
    if any("execute_failure_callback" in _path(one) for one in exceptions):
        return Failure(Reach.UNKNOWN, "its failure callback failed too, and its error hides how the run ended")
    if any(one.has_user_frames for one in exceptions):
        return Failure(Reach.RAISED, "the function raised an error")
    return Failure(Reach.UNKNOWN, "its last run left a text that says nothing about where it ended", is_dead=False)


_RQ_MODULES = re.compile(r"[/\\]rq[/\\](?:job|callbacks|utils|queue|timeouts|serializers|worker[/\\]\w+)\.py$")

_LAYER_MODULES = re.compile(r"[/\\]jobs[/\\]safety[/\\](?:operation|running|calls)\.py$")
_LETS_IT_RUN = {"_attempt", "_submit"}
"""The layer's functions through which the job's own code is run, and one that this code calls."""

_CALLERS = {"perform_job", "run_sync"}
"""Where RQ catches what a run raises: a traceback of a run begins there."""

_AFTER_THE_RETURN = {"execute_success_callback", "handle_job_success", "_handle_success"}
"""RQ's functions that run only once the job's function has returned."""

_OPERANDS = {"func", "func_name", "instance", "args", "kwargs"}
"""What RQ looks up, imports or deserialises within the line that calls the function, before the call."""

NOT_FOUND = "the function was not found (code at the top of its module may have run)"
DOES_NOT_FIT = "the stored arguments do not fit the function"
UNREADABLE = "the worker could not read the stored arguments"
"""Causes of a run that never entered its function, for which another release is wanted."""

_BEFORE_THE_CALL = {"rq.exceptions.DeserializationError": UNREADABLE}

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
    if number:
        return _SIGNALS.get(number, f"its process was ended by signal {number}")
    code = status >> 8
    if code == 1:
        return "its process ended with exit code 1 (often Redis was lost just when the result was to be written)"
    return f"its process ended by itself with exit code {code}"


# Numbers that are the same wherever RQ runs.
_SIGNALS: dict[int, str] = {
    signal.SIGHUP: "its process was told to end (signal 1; often its terminal was closed)",
    signal.SIGINT: "its process was interrupted (signal 2, as by Ctrl-C)",
    signal.SIGILL: "its process crashed (signal 4, an instruction that its processor does not know)",
    signal.SIGABRT: "its process gave itself up (signal 6; often a failed check in compiled code)",
    signal.SIGFPE: "its process crashed (signal 8, a calculation in compiled code)",
    signal.SIGKILL: "its process was killed (signal 9; often the machine was out of memory)",
    signal.SIGSEGV: "its process crashed (signal 11, a fault in compiled code)",
    signal.SIGTERM: "its process was told to end (signal 15; often a restart or a deployment)",
}


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
