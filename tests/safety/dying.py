"""For a process of its own: `python -m tests.safety.dying FOLDER STEP …` writes FOLDER/STEP/report.csv, and is killed.

Once for each step, in a child of its own, so that Django is loaded once.
"""

from __future__ import annotations

import os
import signal
import sys
import uuid
from dataclasses import dataclass, field
from pathlib import Path

from jobs.safety.errors import LeaseLost

OLD, NEW = b"the old one", b"the new one " * 10_000


@dataclass
class Attempt:
    """An attempt that holds its operation, or has lost it."""

    attempt_id: uuid.UUID = field(default_factory=uuid.uuid4)
    is_lost: bool = False

    def require_lease(self):
        if self.is_lost:
            raise LeaseLost


def die_at(name):
    """What the points of this process call."""
    if name == os.environ.get("DIE_AT"):
        os.kill(os.getpid(), signal.SIGKILL)


def main(folder, *steps) -> int:
    """Returns how many of the children were killed."""
    # The settings of the tests have cleared the environment by now; the points are not read yet.
    os.environ["OPSBOARD_TEST_POINTS"] = "tests.safety.dying:die_at"
    from jobs.safety.files import result_file

    killed = 0
    for step in steps:
        if (child := os.fork()) == 0:
            os.environ["DIE_AT"] = step
            with result_file(Path(folder) / step / "report.csv", attempt=Attempt()) as file:
                file.write(NEW)
            os._exit(0)
        killed += os.waitpid(child, 0)[1] == signal.SIGKILL
    return killed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
