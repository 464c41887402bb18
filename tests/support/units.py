"""The units of systemd as a server would get them: rendered for this checkout, and read as systemd reads them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from deploy.render import Installation, write_units
from tests.support.real_rq import ROOT

FOR_ALL = "opsboard-.service.d"
"""The folder of what systemd adds to every service whose name begins with opsboard-."""


@dataclass(frozen=True)
class Unit:
    """One unit with its drop-ins: what is set, in the order in which it was."""

    path: Path
    settings: tuple[tuple[str, str], ...]

    def every(self, name: str) -> list[str]:
        """All values of a setting that adds up. An empty one takes back those before it, as in systemd."""
        values: list[str] = []
        for key, value in self.settings:
            if key == name:
                values = [*values, value] if value else []
        return values

    def one(self, name: str) -> str | None:
        """The value that counts of a setting that has one; None when it is left to systemd."""
        return next((value for key, value in reversed(self.settings) if key == name), None)

    def seconds(self, name: str) -> float:
        """A time span, of the few forms that our units use."""
        spans = re.findall(r"(\d+) ?(s|min|h)?\b", self.one(name) or "")
        return sum(int(number) * {"": 1, "s": 1, "min": 60, "h": 3600}[unit] for number, unit in spans)

    @property
    def command(self) -> list[str]:
        """What is started: the words of ExecStart."""
        (line,) = self.every("ExecStart")
        return shlex.split(line)

    @property
    def environment(self) -> dict[str, str]:
        """What the unit itself sets, without its environment files."""
        words = [word for line in self.every("Environment") for word in shlex.split(line)]
        return dict(word.split("=", 1) for word in words)


def render(folder: Path, root: Path = ROOT) -> dict[str, Unit]:
    """Write all units into `folder`, and return them by their file names."""
    written = write_units(Installation(root=root), folder)
    return {path.name: _read(path) for path in written if path.suffix != ".conf"}


def worker_command(folder: Path) -> tuple[list[str], dict[str, str]]:
    """How the shipped unit starts a worker: the words of its command, and the environment that the unit sets."""
    worker = render(folder)["opsboard-worker@.service"]
    return worker.command, worker.environment


def _read(path: Path) -> Unit:
    added: Sequence[Path] = sorted((path.parent / FOR_ALL).glob("*.conf")) if path.suffix == ".service" else ()
    lines = [line for file in (path, *added) for line in file.read_text().splitlines()]
    settings = [line.split("=", 1) for line in lines if line and line[0] not in "#;["]
    return Unit(path, tuple((key.strip(), value.strip()) for key, value in settings))
