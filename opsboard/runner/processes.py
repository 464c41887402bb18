"""The machine's processes, as /proc shows them; on systems without it there are none to be seen."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

PROC = Path("/proc")


class Process(NamedTuple):
    """One process that has not ended (a zombie has)."""

    pid: int
    name: str
    parent: int
    group: int
    session: int


def processes() -> list[Process]:
    """All that run now."""
    entries = PROC.iterdir() if PROC.is_dir() else []
    return [found for entry in entries if entry.name.isdigit() and (found := process(int(entry.name)))]


def process(pid: int) -> Process | None:
    """The process of that id; None when there is none, or it can't be seen."""
    try:
        text = (PROC / str(pid) / "stat").read_text()
    except OSError:
        return None
    # The name stands in brackets and may itself hold blanks and brackets.
    name, _, rest = text.partition("(")[2].rpartition(")")
    state, parent, group, session = rest.split()[:4]
    return None if state in "ZX" else Process(pid, name, int(parent), int(group), int(session))


def descendants(pid: int) -> list[Process]:
    """The children of a process, and theirs."""
    everything, found = processes(), [pid]
    for ancestor in found:
        found.extend(one.pid for one in everything if one.parent == ancestor)
    return [one for one in everything if one.pid in found[1:]]


def end_session(leader: int) -> None:
    """SIGKILL to every process of a session, work horses in process groups of their own included.

    The leader goes first: a worker that sees its horse die would still record it, as nobody does when a host is lost.
    """
    members = [one.pid for one in processes() if one.session == leader]
    for pid in sorted(members, key=lambda pid: pid != leader):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)
