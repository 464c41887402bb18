"""The machine's processes, as /proc shows them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class Process(NamedTuple):
    """One process that has not ended (a zombie has)."""

    pid: int
    name: str
    parent: int
    group: int
    session: int


def processes() -> list[Process]:
    """All that run now."""
    return [found for entry in Path("/proc").iterdir() if entry.name.isdigit() and (found := _read(entry))]


def descendants(pid: int) -> list[Process]:
    """The children of a process, and theirs."""
    everything, found = processes(), [pid]
    for ancestor in found:
        found.extend(one.pid for one in everything if one.parent == ancestor)
    return [one for one in everything if one.pid in found[1:]]


def _read(entry: Path) -> Process | None:
    try:
        text = (entry / "stat").read_text()
    except OSError:
        return None
    # The name stands in brackets and may itself hold blanks and brackets.
    name, _, rest = text.partition("(")[2].rpartition(")")
    state, parent, group, session = rest.split()[:4]
    return None if state in "ZX" else Process(int(entry.name), name, int(parent), int(group), int(session))
