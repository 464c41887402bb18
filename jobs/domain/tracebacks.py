"""Reads the text of a Python traceback: what was raised, where, and which frames are the user's own code.

The format is that of CPython's ``traceback`` module. The text of an exception may hold anything, also what looks like
frames; so everything after the line that names an exception belongs to its message, up to the fixed sentence that
introduces the next one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from jobs.domain.frames import Frame, FrameCollector
from jobs.domain.redaction import safe_text

__all__ = ["Frame", "RaisedException", "Traceback", "error_line", "has_user_frames", "parse_traceback"]

UNMASKABLE = "[hidden: the arguments of this job cannot be read, so they cannot be masked here]"
TOO_LONG = "(too long to be shown in one line)"
FIRST, LAST = 5, 20
"""Exceptions kept at either end of a longer chain."""
FIRST_LINES = 4096
"""Characters of a message that are looked at for its first line; more than one line, since a secret may span lines."""

HEADER = "Traceback (most recent call last):"
GROUP_HEADER = "  + Exception Group Traceback (most recent call last):"
NEXT_EXCEPTION = re.compile(
    r"\n(?:(?P<cause>The above exception was the direct cause of the following exception)"
    r"|During handling of the above exception, another exception occurred):\n{1,2}"
    r"(?=Traceback \(most recent call last\):)"
)
RAISED = re.compile(r"(?P<kind>[A-Za-z_][\w.<>]{0,199})(?::(?: (?P<message>.*))?)?")
OF_RQ_ITSELF = re.compile(
    r"(?:Work-horse terminated unexpectedly; waitpid returned [\w ()]{1,40}; ?"
    r"|Job stopped by user, work-horse terminated\."
    r"|Job was stuck in intermediate queue\."
    r"|Moved to \w{1,40}, due to \w{1,40}, at [\d :.+TZ-]{1,40}"
    r"|Task exceeded maximum timeout value \(\d{1,12} seconds\))\s*"
)
"""What RQ writes about a job without knowing its arguments (2.12 and 3.0)."""


@dataclass(frozen=True)
class RaisedException:
    """One exception of a chain."""

    kind: str
    """Dotted name of its class as printed, e.g. "ValueError"; empty when the text is no traceback."""
    message: str
    frames: tuple[Frame, ...] = ()
    """From the outermost call to where it was raised; of very many only the first and the last ones."""
    relation: str = ""
    """"" for the first one, "cause" when it was raised from the one before, "context" when while handling it."""
    has_user_frames: bool = False
    """Whether any frame, also one left out, is outside the libraries."""
    is_cut: bool = False
    """The text was shortened just here: ``message`` begins somewhere, and ``kind`` is not known."""
    left_out_before: int = 0
    """How many exceptions between the one before and this one are not given, of a very long chain."""


@dataclass(frozen=True)
class Traceback:
    exceptions: tuple[RaisedException, ...]
    """Oldest first; the last one is the one that ended the job. Never empty."""


@lru_cache(maxsize=4)  # a row's text is read for its finding, then for its line
def parse_traceback(text: str) -> Traceback:
    """What ``text`` says. A text that is no traceback gives one exception without kind, with the text as message."""
    return Traceback(tuple(_ends(list(_chain(text)))) or (RaisedException("", ""),))


def error_line(text: str, *, limit: int = 200, hidden: Sequence[str] = ()) -> str:
    """The one line that stands for ``text`` in a list, e.g. "ValueError: boom 7"; masked, at most ``limit`` characters.

    The text may be raw: masking something masked already changes nothing.
    """
    last = parse_traceback(text).exceptions[-1]
    if last.is_cut:  # the message may begin within a value that can no longer be told
        return TOO_LONG
    message = safe_text(last.message.lstrip()[:FIRST_LINES], hidden, keep=FIRST_LINES).text
    first = message.split("\n", 1)[0].strip()
    line = f"{last.kind}: {first}" if last.kind and first else last.kind or first
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def has_user_frames(text: str) -> bool:
    """Whether code outside the libraries was running when any of the exceptions was raised."""
    return any(raised.has_user_frames for raised in _chain(text))


def without_messages(text: str) -> str:
    """``text`` with types and frames only, for a job whose arguments are unknown and may stand in any message.

    What RQ itself writes about a job (killed, stopped, abandoned, timed out) is kept: it has no arguments in it.
    """
    return "".join(_printed(raised) for raised in parse_traceback(text).exceptions)


def _chain(text: str) -> Iterator[RaisedException]:
    whole = _without_group_margin(text) if GROUP_HEADER in text else text
    relation, position = "", 0
    for link in NEXT_EXCEPTION.finditer(whole):
        yield from _exceptions(whole[position : link.start()], relation)
        relation, position = ("cause" if link["cause"] else "context"), link.end()
    yield from _exceptions(whole[position:], relation)


def _ends(exceptions: list[RaisedException]) -> list[RaisedException]:
    left_out = len(exceptions) - FIRST - LAST
    if left_out <= 0:
        return exceptions
    return [*exceptions[:FIRST], replace(exceptions[-LAST], left_out_before=left_out), *exceptions[1 - LAST :]]


def _exceptions(block: str, relation: str) -> Iterator[RaisedException]:
    """The exception of one block, and what stands before its header, if anything does."""
    start = 0 if block.startswith(HEADER) else block.find("\n" + HEADER) + 1
    if not start and not block.startswith(HEADER):
        if block.strip():
            yield RaisedException("", block.strip("\n"), relation=relation)
        return
    if block[:start].strip():
        yield RaisedException("", block[:start].strip("\n"), relation=relation)
    yield _raised(block[start + len(HEADER) :], relation)


def _raised(body: str, relation: str) -> RaisedException:
    frames = FrameCollector()
    position = 1 if body.startswith("\n") else 0
    while position < len(body):
        end = body.find("\n", position)
        end = len(body) if end < 0 else end
        if not frames.takes(body[position:end]):
            break
        position = end + 1
    kind, message = _kind_and_message(body[position:], after_gap=frames.gap_is_open)
    return RaisedException(kind, message, frames.kept(), relation, frames.has_user_frames, frames.gap_is_open)


def _kind_and_message(text: str, *, after_gap: bool) -> tuple[str, str]:
    """Right behind a gap in the text nobody knows whether the line names the exception or is part of its message."""
    first, _, rest = text.partition("\n")
    match = None if after_gap else RAISED.fullmatch(first)
    if match is None:
        return "", text.rstrip("\n")
    message = match["message"] or ""
    return match["kind"], (f"{message}\n{rest}" if rest.strip() else message).rstrip("\n")


def _without_group_margin(text: str) -> str:
    """The outermost exception group without the margin drawn beside it; its members stay part of its message."""
    lines = text.split("\n")
    return "\n".join(HEADER if line == GROUP_HEADER else _without_margin(line) for line in lines)


def _without_margin(line: str) -> str:
    return "" if line == "  |" else line.removeprefix("  | ")


def _printed(raised: RaisedException) -> str:
    relation = {
        "": "",
        "cause": "\nThe above exception was the direct cause of the following exception:\n\n",
        "context": "\nDuring handling of the above exception, another exception occurred:\n\n",
    }[raised.relation]
    message = raised.message if OF_RQ_ITSELF.fullmatch(raised.message) else UNMASKABLE if raised.message else ""
    if not raised.frames and not raised.kind:
        return f"{relation}{message}\n"
    frames = "".join(map(str, raised.frames))
    named = f"{raised.kind}: {message}" if raised.kind and message else raised.kind or message
    return f"{relation}{HEADER}\n{frames}{named}\n"
