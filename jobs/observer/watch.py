"""One connection as the observer watches it: what is due there, what it remembers, and what it has to report."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from jobs.broker.errors import BrokerUnavailable, ScanNotAllowed
from jobs.domain.watch import WatchReport
from jobs.observer.departures import walk
from jobs.observer.duties import PER_CONNECTION, Due
from jobs.observer.failures import Memory, Progress, newest, sweep
from jobs.observer.rounds import Round
from jobs.observer.trouble import is_of_all, told

SILENT = timedelta(seconds=5)
"""A store that gave no answer is asked again after this time, since each try costs the others their seconds."""


log = logging.getLogger("opsboard.observer")


class Watch:
    """Everything that is done about one connection. A store that does not answer is reported, and asked again later."""

    def __init__(self, connection: str, clock: Callable[[], datetime], before: WatchReport) -> None:
        self.connection, self._clock = connection, clock
        self._memory, self._progress = Memory(), Progress()
        self._passed_at = before.passed_at
        self._sweep = Round(self._begin_sweep, ended_at=before.swept_at, seconds=before.sweep_seconds)
        self._rounds = {"sweep": self._sweep, "departures": Round(self._begin_walk)}
        self._duties = [Due(duty) for duty in PER_CONNECTION]
        self._errors: dict[str, str] = {}
        self._silent_until: datetime | None = None

    @property
    def report(self) -> WatchReport:
        """What there is to say of it now."""
        return WatchReport(
            passed_at=self._passed_at,
            swept_at=self._sweep.ended_at,
            sweep_seconds=self._sweep.seconds,
            done=self._progress.done,
            total=self._progress.total,
            error=next(iter(self._errors.values()), ""),
        )

    def look(self) -> Iterator[None]:
        """Index what failed since the last look, and do what else is due; yields between the steps."""
        now = self._clock()
        if self._is_silent(now):
            return
        with self._noting_silence("newest"):
            for _indexed in newest(self.connection, now, self._memory):
                yield
            self._passed_at = now
        for due in self._duties:
            if due.is_due(now) and not self._is_silent(now):
                with self._noting_silence(due.duty.name):
                    due.do(self.connection, now)
                yield

    def step(self) -> bool:
        """Go one step on with what goes through everything. False when nothing of it is to be done now."""
        stepped = [self._step(name, one) for name, one in self._rounds.items()]
        return any(stepped)

    def _step(self, name: str, one: Round) -> bool:
        now = self._clock()
        if self._is_silent(now) or not one.is_due(now):
            return False
        with self._noting_silence(name):
            one.step(self._clock)
        return True

    @contextmanager
    def _noting_silence(self, part: str) -> Iterator[None]:
        try:
            yield
        except BrokerUnavailable as silence:
            self._errors[part] = str(silence)
            if not isinstance(silence, ScanNotAllowed):
                self._silent_until = self._clock() + SILENT
        except Exception as error:
            if is_of_all(error):
                raise
            # A flaw of ours, or data that nobody thought of: the other parts and connections go on.
            log.error("an unexpected error ends %s of %s: %s", part, self.connection, told(error))
            self._errors[part] = (
                f"An unexpected error ended its last pass; the observer's log says more: {told(error)}."
            )
        else:
            self._errors.pop(part, None)

    def _is_silent(self, now: datetime) -> bool:
        return self._silent_until is not None and now < self._silent_until

    def _begin_sweep(self) -> Iterator[int]:
        self._progress = Progress()
        return sweep(self.connection, self._clock, self._memory, self._progress)

    def _begin_walk(self) -> Iterator[int]:
        return walk(self.connection, self._clock())
