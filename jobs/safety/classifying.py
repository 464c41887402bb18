"""What the translators of library errors share: the block around a call, and what a traceback proves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from traceback import walk_tb
from types import FrameType

from jobs.safety.errors import OutcomeUnknown, PermanentError, SafetyError, TransientError

_OURS = (PermanentError, TransientError, OutcomeUnknown, SafetyError)
JOB_TIMEOUT = ("rq", "BaseTimeoutException")
"""RQ's, by name: only jobs.broker knows RQ."""


@contextmanager
def translating(judge: Callable[[Exception], Exception]) -> Iterator[None]:
    """Raise what `judge` makes of an error in the block.

    What speaks our language already passes, and so does RQ's time-out of the job, which is not the library's.
    The original is left out of what is printed and stored, since its text holds addresses, queries and answers;
    it stays reachable as `__context__`.
    """
    try:
        yield
    except Exception as error:
        if is_settled(error):
            raise
        raise judge(error) from None


def is_settled(error: Exception) -> bool:
    """Whether an error needs no translation."""
    return isinstance(error, _OURS) or JOB_TIMEOUT in ancestry(error)


def ancestry(error: BaseException) -> set[tuple[str, str]]:
    """The classes of an error by package and name, so that no library need be imported to know its errors."""
    return {(cls.__module__.partition(".")[0], cls.__name__) for cls in type(error).__mro__}


def frames(error: BaseException) -> Iterator[FrameType]:
    """The calls that an error came through, the outermost first."""
    return (frame for frame, _line in walk_tb(error.__traceback__))


def is_within(frame: FrameType, function: str, file: str) -> bool:
    """Whether this is a call of `function` in a file whose path ends so."""
    return frame.f_code.co_name == function and frame.f_code.co_filename.endswith(file)
