"""For processes of their own: what they write, and the step at which they are killed."""

from __future__ import annotations

import os
import signal
import sys
import uuid
from dataclasses import dataclass, field
from pathlib import Path

from jobs.safety.errors import LeaseLost

NEW = b"the new one " * 10_000


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
    if name == sys.argv[2]:
        os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    """Write the file that is named first, and die at the step that is named second."""
    # The settings of the tests have cleared the environment by now; the points are not read yet.
    os.environ["OPSBOARD_TEST_POINTS"] = "tests.safety.dying:die_at"
    from jobs.safety.files import result_file

    with result_file(Path(sys.argv[1]), attempt=Attempt()) as file:
        file.write(NEW)


if __name__ == "__main__":
    main()
