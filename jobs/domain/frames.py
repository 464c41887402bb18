"""The frames of a traceback: one call each, from the outermost to where the exception was raised."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, replace

from jobs.domain.excerpts import GAP_LINE

FIRST, LAST = 30, 70
"""Frames kept at either end of a longer traceback."""
CODE_LIMIT = 600
FRAME = re.compile(r'  File "(?P<file>[^\n]*?)", line (?P<line>[^,\n]{1,40})(?:, in (?P<function>.*))?')
REPEATED = re.compile(r"  \[Previous line repeated (\d{1,9}) more times?\]")
CARETS = re.compile(r"[ ^~]+")
LIBRARY = re.compile(
    r"[/\\](?:site|dist)-packages[/\\]|[/\\]lib(?:64)?[/\\]python\d(?:\.\d+t?)?[/\\]"
    r"|^<(?:frozen|attrs generated|__array_function__)|[/\\]python\d+\.zip[/\\]|[/\\]Python\d+[/\\]Lib[/\\]",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Frame:
    file: str
    line: int | None
    """None when the text does not give a number."""
    function: str
    """Empty for a syntax error, which has no function."""
    code: str = ""
    is_library: bool = False
    """Not the user's own code: an installed package or Python's own."""
    is_raising: bool = False
    """The last frame: where the exception was raised."""
    repeated: int = 0
    """How many more times Python saw this frame in a row."""
    gap_before: str = ""
    """What is missing between the frame before and this one, in words; empty when nothing is."""

    def __str__(self) -> str:
        """As Python prints it."""
        lines = [f"[… {self.gap_before} …]"] if self.gap_before else []
        place = "" if self.line is None else self.line
        lines.append(f'  File "{self.file}", line {place}' + (f", in {self.function}" if self.function else ""))
        lines += [f"    {line}" for line in self.code.split("\n") if line]
        if self.repeated:
            lines.append(f"  [Previous line repeated {self.repeated} more times]")
        return "".join(f"{line}\n" for line in lines)


def is_library_file(path: str) -> bool:
    """Whether a path as a traceback prints it belongs to an installed package or to Python itself."""
    return LIBRARY.search(path) is not None


class FrameCollector:
    """Takes the lines of a traceback one by one and keeps the first and the last frames."""

    def __init__(self) -> None:
        self.first: list[Frame] = []
        self.last: deque[Frame] = deque(maxlen=LAST)
        self.left_out = 0
        self.has_user_frames = False
        self.gap = ""

    @property
    def gap_is_open(self) -> bool:
        """Whether a gap in the text was the last thing seen."""
        return bool(self.gap)

    def takes(self, line: str) -> bool:
        """Take a line that belongs to the frames; False for the line that names the exception."""
        if not line.startswith("  "):
            return not line or self._takes_gap(line) or line.isspace()
        match = FRAME.fullmatch(line) if line.startswith("  File ") else None
        repeated = REPEATED.fullmatch(line) if line.startswith("  [") else None
        if match:
            self._add(match)
        elif repeated:
            self._change_newest(repeated=int(repeated[1]))
        else:
            self._add_code(line)
        return True

    def _takes_gap(self, line: str) -> bool:
        if not GAP_LINE.fullmatch(line):
            return False
        self.gap = line.strip("[…] ")
        return True

    def kept(self) -> tuple[Frame, ...]:
        """The frames that are kept, the raising one marked."""
        last = list(self.last)
        if self.left_out:
            note = f"{self.left_out:,} frames left out"
            last[0] = replace(last[0], gap_before=f"{note}; {last[0].gap_before}" if last[0].gap_before else note)
        frames = [*self.first, *last]
        if frames:
            frames[-1] = replace(frames[-1], is_raising=True)
        return tuple(frames)

    def _add(self, match: re.Match[str]) -> None:
        file, number = match["file"], match["line"]
        is_library = is_library_file(file)
        self.has_user_frames = self.has_user_frames or not is_library
        frame = Frame(
            file,
            int(number) if number.isdecimal() else None,
            match["function"] or "",
            is_library=is_library,
            gap_before=self.gap,
        )
        self.gap = ""
        if len(self.first) < FIRST:
            self.first.append(frame)
            return
        self.left_out += len(self.last) == LAST
        self.last.append(frame)

    def _add_code(self, line: str) -> None:
        newest = None if self.gap else self._newest()  # behind a gap it may be part of a message
        if newest is None or len(newest.code) >= CODE_LIMIT or CARETS.fullmatch(line):
            return
        code = line[:CODE_LIMIT].strip()
        self._change_newest(code=(f"{newest.code}\n{code}" if newest.code else code)[:CODE_LIMIT])

    def _newest(self) -> Frame | None:
        return self.last[-1] if self.last else self.first[-1] if self.first else None

    def _change_newest(self, **changes: object) -> None:
        frames: list[Frame] | deque[Frame] = self.last or self.first
        if frames:
            frames[-1] = replace(frames[-1], **changes)  # type: ignore[arg-type]  # by name, of any field
