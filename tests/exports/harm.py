"""What is done to a worker at a point of an export's build, once: the services name `at` in OPSBOARD_TEST_POINTS.

What is to happen to an export stands in a file of its number, as `point.event`. Besides the points of jobs.safety there
is one after each stage of writing: `stage_1` and so on.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import rq

FOLDER = "EXPORTS_HARM"
POINTS = "tests.exports.harm:at"


def plan(folder: Path, export_id: int, harm: str, job: str = "build_export") -> None:
    """At this point, do that: in the job of that name."""
    (folder / f"{job}-{export_id}").write_text(harm)


def has_happened(folder: Path, export_id: int, job: str = "build_export") -> bool:
    """Whether it was done."""
    return (folder / f"{job}-{export_id}.done").exists()


def at(point: str) -> None:
    """Do what is planned for this point of the job in hand; nothing the second time."""
    job = rq.get_current_job()
    if job is None:
        return
    if point == "file_opened":
        _name_the_stages()
    planned = Path(os.environ[FOLDER]) / f"{str(job.func_name).rpartition('.')[2]}-{job.kwargs['export_id']}"
    if planned.exists():
        where, _, event = planned.read_text().partition(".")
        if where == point:
            planned.rename(planned.with_name(f"{planned.name}.done"))
            _EVENTS[event]()


# ----------------------------------------------------------------------------------------------------------------------


def _name_the_stages() -> None:
    """A point after each stage, in this process alone, which runs one job."""
    from exports import writing

    look_up = writing._look_up

    def look_up_at_point(done: int, total: int) -> None:
        look_up(done, total)
        at(f"stage_{-(-done // writing.ROWS_PER_STAGE)}")

    writing._look_up = look_up_at_point


def _kill_horse() -> None:
    """The process that runs the job; its worker sees it die."""
    os.kill(os.getpid(), signal.SIGKILL)


def _kill_both() -> None:
    """Worker and horse, as when a host is lost."""
    os.kill(os.getppid(), signal.SIGKILL)
    _kill_horse()


_EVENTS = {"kill_horse": _kill_horse, "kill_both": _kill_both}
