"""The same world at random: any job meets any harm, and everything around it is killed now and then.

What a seed decides is what is submitted and what is done; when exactly it strikes is up to the machine. A person who
knows the truth, from the oracle's book, answers the reviews. There is no table here: the invariants have to hold.
"""

from __future__ import annotations

import os
import random
import secrets
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.chaos.reports import Report
from tests.chaos.table import Row
from tests.chaos.world import World, new_world

if TYPE_CHECKING:
    from tests.chaos.driver import Course

STAFF = {"fork": 8, "echo": 2, "mortal": 3, "simple": 2, "old_fork": 3}
WAVE = 120
"""Operations of one wave: they are submitted, come to rest, and are looked at."""
SETTLE_SECONDS = 240.0
POINTS = ["before_claim", "after_claim", "before_finish", "after_finish", "after_failure"]
CALLING = [*POINTS, "after_intent", "in_call", "after_call", "after_complete"]
OF_JOB = {
    "act": CALLING,
    "act_declared": CALLING,
    "swallow": CALLING,
    "write_down": [*POINTS, "before_atomic_commit"],
    "export": [*POINTS, "in_file", "before_rename", "after_rename"],
}
HARMS = ["kill_horse", "kill_worker", "kill_both", "timeout", "raise", "no_database", "twice", "observer"]
FORKED = [*HARMS, "stop", "freeze", "freeze_with_alarm"]
ANSWERS = ["drop_request", "drop_answer", "error_after", "error_before", "too_many", "refused"]


def run_storm(folder: Path, url: str, *, minutes: float, seed: int) -> Report:
    """Wave after wave until the time is over. Says the seed first: with it the same waves come again."""
    seed = seed or secrets.randbelow(10**9)
    _say(f"seed {seed}")
    report = Report(counts={"seed": seed})
    until = time.monotonic() + 60 * minutes
    with new_world(folder, url) as world:
        storm = Storm(world, random.Random(seed), report)
        while time.monotonic() < until and report.is_clean:
            storm.raise_wave()
        storm.calm()
    return report


@dataclass
class Storm:
    """Waves of operations in one world, each with what its dice say."""

    world: World
    dice: random.Random
    report: Report
    submitted: int = 0
    waves: int = 0
    next_blow_at: float = 0.0
    last: Course | None = None

    def raise_wave(self) -> None:
        """Submit a wave, strike meanwhile, answer what is asked, and look whether everything holds."""
        from tests.chaos.driver import Course
        from tests.chaos.invariants import violations

        course = self.last = Course(self.world, STAFF)
        course.begin([self._row() for _ in range(WAVE)], first=self.submitted)
        is_settled = course.go(SETTLE_SECONDS, self._strike)
        while is_settled and _answer_reviews(course):
            is_settled = course.go(SETTLE_SECONDS)
        if not is_settled:
            self.report.unsettled.extend(course.unsettled())
        self.report.violations.extend(violations(course))
        self.submitted += WAVE
        self.waves += 1
        self._count(course)

    def calm(self) -> None:
        """End everybody, and look whether pages change anything."""
        from tests.chaos.invariants import changes_by_pages

        self.world.end()
        if self.last is not None:
            self.report.violations.extend(changes_by_pages(self.last))

    # ------------------------------------------------------------------------------------------------------------------

    def _row(self) -> Row:
        job = self.dice.choice(["act"] * 6 + ["act_declared", "swallow", "write_down", "export"])
        kinds = {"write_down": ["local"], "export": ["file"]}
        kind = self.dice.choice(kinds.get(job, ["repeatable", "keyed", "checkable", "unsafe"]))
        queue = self.dice.choice(["fork"] * 5 + ["mortal", "simple", "old_fork"])
        faults = [self._fault(job, queue) for _ in range(self.dice.choice([0, 1, 1, 2, 2, 3]))]
        return Row(job=job, queue=queue, kind=kind, faults="+".join(faults) or "none", expected="")

    def _fault(self, job: str, queue: str) -> str:
        if job in ("act", "act_declared", "swallow") and self.dice.random() < 0.2:
            return f"call.{self.dice.choice(ANSWERS)}"
        point = self.dice.choice(OF_JOB[job])
        # One that stands still within a transaction keeps everybody from the database: that is no crash.
        harms = HARMS if queue == "simple" or point == "before_atomic_commit" else FORKED
        harms = [one for one in harms if queue != "simple" or one in ("kill_horse", "timeout", "raise", "twice")]
        return f"{point}.{self.dice.choice(harms)}"

    def _strike(self) -> None:
        if time.monotonic() < self.next_blow_at:
            return
        blows: list[Callable[[], None]] = [self._kill_worker] * 3 + [self._kill_horse] * 3
        self.dice.choice([*blows, self._stop_worker, self._kill_observer, self._cut_sessions, self._flush])()
        self.next_blow_at = time.monotonic() + self.dice.uniform(0.5, 3)

    def _kill_worker(self) -> None:
        _kill(self._one_of([pid for pid, _queue in self.world.workers.values()]))

    def _kill_horse(self) -> None:
        _kill(self._one_of(self.world.horses()))

    def _stop_worker(self) -> None:
        _kill(self._one_of([pid for pid, _queue in self.world.workers.values()]), signal.SIGTERM)

    def _kill_observer(self) -> None:
        _kill(self.world.observer.pid if self.world.observer else None)

    def _flush(self) -> None:
        if self.dice.random() < 0.3:
            self.world.redis.flushdb()

    def _cut_sessions(self) -> None:
        from django.db import connection

        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )

    def _one_of(self, pids: list[int]) -> int | None:
        return self.dice.choice(sorted(pids)) if pids else None

    def _count(self, course: Course) -> None:
        from jobs.models import Attempt, Operation, OperationEvent, Resolution
        from tests.oracle import client as oracle

        counts, effects = self.report.counts, oracle.counts(self.world.oracle)
        counts["operations"] = Operation.objects.exclude(origin="plain").count()
        counts["attempts"] = Attempt.objects.filter(number__gt=0).count()
        counts["effects"] = sum(effects.values())
        counts["repeated by those that may"] = sum(count > 1 for key, count in effects.items() if "~repeatable~" in key)
        may_not = {key: count for key, count in effects.items() if "~repeatable~" not in key}
        counts["duplicates"] = sum(count > 1 for count in may_not.values())
        counts["duplicates not on record"] = sum(line.startswith("I1") for line in self.report.violations)
        counts["lost"] = sum(line.startswith("I5") for line in self.report.violations)
        counts["skipped"] = OperationEvent.objects.filter(kind="dedup").count()
        counts["late evidence"] = OperationEvent.objects.filter(kind="late_evidence").count()
        counts["incidents"] = OperationEvent.objects.filter(kind="contradiction").count()
        counts["reviews answered"] = Resolution.objects.count()
        _say(f"wave {self.waves}: " + ", ".join(f"{name} {count}" for name, count in counts.items()))


# ----------------------------------------------------------------------------------------------------------------------


def _answer_reviews(course: Course) -> bool:
    """Say of every open review what the oracle's book says; whether any was answered."""
    from django.contrib.auth.models import User
    from django.utils import timezone

    from jobs.actions.reviews import Saying, claim, resolve
    from jobs.domain.verdicts import Verdict
    from jobs.models import Review
    from tests.chaos.driver import effects_of
    from tests.support.reviews import GIVEN

    # What was on its way when its sender died has arrived by then.
    time.sleep(1)
    person = User.objects.filter(username="tess").first() or User.objects.create_superuser("tess")
    cases = {case.key: case for case in course.cases}
    answered = False
    for review in Review.objects.filter(closed_at=None, operation__entity__in=cases).select_related("operation"):
        happened = effects_of(cases[review.operation.entity], course.world) > 0
        verdict = Verdict.HAPPENED if happened else Verdict.DID_NOT_HAPPEN
        claim(person, review.pk, timezone.now())
        review.refresh_from_db()
        known: dict[str, Any] = {"version": review.version, "given": GIVEN[verdict], "now": timezone.now()}
        answered |= resolve(Saying(actor=person, review_id=review.pk, verdict=verdict, **known)).is_done
    return answered


def _kill(pid: int | None, number: signal.Signals = signal.SIGKILL) -> None:
    if pid is not None:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
