"""The table taken through one world, batch by batch, and compared with what was found."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from tests.chaos.reports import Line, Report, count_ends
from tests.chaos.table import Row, rows
from tests.chaos.world import World, new_world

if TYPE_CHECKING:
    from tests.chaos.driver import Course

STAFF = {"fork": 14, "echo": 2, "mortal": 3, "simple": 3, "spawn": 2, "old_fork": 4, "old_simple": 2, "old_spawn": 2}
"""Workers of each kind: those that only wait cost next to nothing."""
SETTLE_SECONDS = 60.0
ROW_SECONDS = 1.5
"""More for each row."""


def choose(which: str, only: str, database: str) -> list[Row]:
    """The rows of a run: all, or those that show every point, every event and every ending at least once."""
    possible = [row for row in rows() if not (database == "sqlite" and "database_cut" in row.events)]
    chosen = possible if which == "full" or only else _some(possible)
    return [row for row in chosen if only in row.name]


def run_matrix(folder: Path, database_url: str, chosen: list[Row]) -> Report:
    """Take the rows through a new world. Those that empty the job store come last: that happens to everybody."""
    report = Report()
    with new_world(folder, database_url) as world:
        flushing = [row for row in chosen if "flush" in row.events]
        others = [row for row in chosen if "flush" not in row.events]
        courses = [_run_batch(world, batch, report) for batch in (others, flushing) if batch]
        _judge(world, courses, report)
    return report


# ----------------------------------------------------------------------------------------------------------------------


def _run_batch(world: World, batch: list[Row], report: Report) -> Course:
    from tests.chaos.driver import Course, found_of

    queues = {row.queue for row in batch}
    queues |= {"echo"} if any("twice" in row.events for row in batch) else set()
    course = Course(world, {queue: count for queue, count in STAFF.items() if queue in queues})
    course.begin(batch, first=len(report.lines))
    limit = SETTLE_SECONDS + ROW_SECONDS * len(batch)
    is_settled = course.go(limit) and (not course.restore() or course.go(limit))
    if not is_settled:
        report.unsettled.extend(course.unsettled())
    for case in course.cases:
        report.lines.append(Line(name=case.row.name, expected=case.row.expected, found=str(found_of(case, world))))
    return course


def _judge(world: World, courses: list[Course], report: Report) -> None:
    from tests.chaos.invariants import changes_by_pages, violations

    world.end()
    for course in courses:
        report.violations.extend(violations(course))
    report.violations.extend(changes_by_pages(courses[-1]))
    report.counts |= count_ends([line.found for line in report.lines])


def _some(possible: list[Row]) -> list[Row]:
    """Every point, every event and every kind of worker for one class, in turn; the death of the process for each."""
    chosen: list[Row] = []
    seen: set[tuple[str, ...]] = set()
    cases = groupby(possible, key=lambda row: (row.job, row.queue, row.faults))
    for number, (_case, group) in enumerate(cases):
        classes = list(group)
        one = classes[number % len(classes)]
        marks = {(one.job, one.point), (one.job, one.events[-1]), (one.queue, one.events[-1])}
        if one.events[-1] == "kill_horse" and (one.queue == "fork" or one.point == "after_call"):
            chosen.extend(classes)
        elif not marks <= seen:
            chosen.append(one)
        seen |= marks
    return chosen
