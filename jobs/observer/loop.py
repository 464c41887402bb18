"""The observing process: each second it looks for new failures, and between two looks it goes through the rest."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from django.db import DatabaseError, InterfaceError, close_old_connections
from django.utils import timezone

from jobs.broker import connections
from jobs.domain.watch import WatchReport
from jobs.ledger.observing import observer_state
from jobs.observer.duties import FOR_ALL, Due
from jobs.observer.lease import Lease
from jobs.observer.trouble import told
from jobs.observer.watch import Watch

PASS_SECONDS = 1.0
TICK_SECONDS = 0.05
"""How soon the end is noticed that a signal asks for while nothing is done."""

log = logging.getLogger("opsboard.observer")
_OVER = object()


class Observer:
    """One observing process. Many may run: one leads, the others wait (jobs.observer.lease)."""

    def __init__(self, clock: Callable[[], datetime] = timezone.now) -> None:
        self._clock, self._lease = clock, Lease()
        self._watches: list[Watch] = []
        self._duties = [Due(duty) for duty in FOR_ALL]
        self._passed_at: datetime | None = None
        self._is_stopped = False
        self._is_waiting = False

    def stop(self) -> None:
        """End after the step that is being done; safe in the handler of a signal."""
        self._is_stopped = True

    def run(self) -> None:
        """Observe until `stop` is called, whatever store or database is away meanwhile."""
        while not self._is_stopped:
            until = time.monotonic() + PASS_SECONDS
            with self._enduring():
                self.do_pass(until=until)
            self._rest(until)
        with self._enduring():
            self._lease.give_back(self._said())

    def run_once(self) -> list[WatchReport] | None:
        """One pass of everything there is, and what came of it. None when another observer leads and does it anyway."""
        if not self.do_pass(until=None):
            return None
        self._lease.give_back(self._said())
        return [watch.report for watch in self._watches]

    def do_pass(self, *, until: float | None) -> bool:
        """Look at every connection, then go on with its rounds until that moment (None: until they are over).

        False when another observer leads.
        """
        if not self._is_leading():
            return False
        for watch in self._watches:
            self._go_through(watch.look())
        self._passed_at = self._clock()
        for due in self._duties:
            if due.is_due(self._clock()) and not self._is_stopped:
                due.do(self._clock())
        self._go_through(self._rounds(until))
        return True

    def _is_leading(self) -> bool:
        was_leading = self._lease.held_at is not None
        is_leading = self._lease.hold(self._clock(), self._said())
        if is_leading and not was_leading:
            self._begin()
        if not is_leading and not self._is_waiting:
            log.warning("another observer leads; this one waits until that has stopped")
        self._is_waiting = not is_leading
        return is_leading

    def _begin(self) -> None:
        state = observer_state()
        stored: dict[str, Any] = state.report if state else {}
        before = {name: WatchReport.from_json(stored.get(name, {})) for name in connections.names()}
        self._watches = [Watch(name, self._clock, report) for name, report in before.items()]
        # What this one did when it led before is not what was done last.
        self._passed_at = None

    def _go_through(self, steps: Iterable[None]) -> None:
        """All the steps, unless the end is asked for, or another observer has taken over."""
        waiting = iter(steps)
        while not self._is_stopped and self._still_leads() and next(waiting, _OVER) is not _OVER:
            pass

    def _still_leads(self) -> bool:
        return self._is_leading() if self._lease.is_due(self._clock()) else True

    def _rounds(self, until: float | None) -> Iterator[None]:
        """Steps of every connection in turn, until nothing is to be done or that moment has come."""
        is_over = False
        while not is_over:
            stepped = [watch.step() for watch in self._watches]
            yield
            is_over = not any(stepped) or (until is not None and time.monotonic() >= until)

    def _said(self) -> dict[str, Any]:
        if not self._watches:
            return {}
        report = {watch.connection: watch.report.to_json() for watch in self._watches}
        return {"report": report} | ({"last_pass_at": self._passed_at} if self._passed_at else {})

    @contextmanager
    def _enduring(self) -> Iterator[None]:
        """A database that is locked or away ends the pass, and no more: the next one does what was left."""
        try:
            close_old_connections()
            yield
        except (DatabaseError, InterfaceError) as error:
            log.warning("the database can't be used, so this pass is given up: %s", type(error).__name__)
        except Exception as error:
            log.error("an unexpected error ends this pass: %s", told(error))

    def _rest(self, until: float) -> None:
        while not self._is_stopped and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, TICK_SECONDS))
