"""The world around the ledger, in one process: a service that counts, a queue that loses, workers that die."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, cast

from jobs.domain.decisions import Decision
from jobs.domain.operations import ErrorKind
from jobs.ledger import attempts
from jobs.ledger.attempts import Failure
from jobs.models import Attempt, Operation
from jobs.safety.effects import EffectHandle
from jobs.safety.errors import CancelledByOperator, ControlFlow
from jobs.safety.promises import Absent, Answer, Checkable, Found, Inconclusive, Keyed, Repeatable, Safety, Unsafe
from jobs.safety.running import EffectStillOpen, Running

HORIZON = timedelta(hours=24)
LAG = timedelta(seconds=30)
CALL = timedelta(seconds=10)


@dataclass
class Service:
    """The other side. It alone knows what really happened: how often each effect did, and when."""

    clock: Callable[[], datetime]
    book: dict[str, list[datetime]] = field(default_factory=dict)
    keys: dict[str, datetime] = field(default_factory=dict)
    is_silent: bool = False

    def act(self, name: str, key: str, *, is_keyed: bool) -> None:
        """A keyed repeat within the horizon is recognised; everything else is done."""
        now = self.clock()
        if is_keyed and key in self.keys and now < self.keys[key] + HORIZON:
            return
        self.keys[key] = now
        self.book.setdefault(name, []).append(now)

    def count(self, name: str) -> int:
        return len(self.book.get(name, []))

    def answer(self, handle: EffectHandle) -> Answer:
        """What a probe is told: the truth of LAG ago."""
        if self.is_silent:
            return Inconclusive("silent")
        known = [at for at in self.book.get(handle.name, []) if at + LAG <= self.clock()]
        return Found(f"id-{handle.name}") if known else Absent()

    def safety(self, kind: str) -> Safety:
        """The promise that this service keeps of such an effect."""
        made: dict[str, Safety] = {
            "repeatable": Repeatable(),
            "keyed": Keyed(HORIZON),
            "checkable": Checkable(self.answer, settles_in=LAG),
            "unsafe": Unsafe(),
        }
        return made[kind]


@dataclass
class Process:
    """A worker's process in the middle of the job: it does its effects in order, one step at a time."""

    operation: Operation
    attempt: Attempt
    service: Service
    kinds: dict[str, str]
    handle: EffectHandle | None = None
    has_called: bool = False

    @property
    def can_call(self) -> bool:
        """Between intent and call, which is made within its own time or never."""
        begun_at = self.handle.begun_at if self.handle else None
        return begun_at is not None and not self.has_called and self.service.clock() < begun_at + CALL

    def begin_next(self) -> str:
        """Begin its next effect: "begun", or "done" when all have happened. Raises what ends the attempt."""
        running = Running(operation=self.operation, attempt=self.attempt, job=cast(Any, None))
        for name, kind in self.kinds.items():
            safety = self.service.safety(kind)
            handle = EffectHandle(running, name, safety, item="", request=None, call_timeout=CALL)
            handle.ask_if_left_open()
            if not handle.completed:
                handle.begin()
                self.handle, self.has_called = handle, False
                return "begun"
        return "done"

    def call(self) -> None:
        assert self.handle is not None
        name = self.handle.name
        self.service.act(name, self.handle.key, is_keyed=self.kinds[name] == "keyed")
        self.has_called = True

    def record(self) -> None:
        """W5; it may come late."""
        assert self.handle is not None
        self.handle.complete(external_id=f"id-{self.handle.name}")
        self.handle, self.has_called = None, False

    def raise_(self, error: BaseException, kind: ErrorKind = ErrorKind.TRANSIENT) -> Decision | None:
        """The job's function ends with this; what the runtime then tells the ledger."""
        if isinstance(error, CancelledByOperator) and attempts.cancel(self.operation, self.attempt, ""):
            return None
        objection = error if isinstance(error, EffectStillOpen) else None
        failure = Failure(
            kind=kind,
            error_class=type(error).__name__,
            error_line="",
            objection=objection.decision if objection else None,
            objecting_effect=objection.effect_pk if objection else None,
        )
        return attempts.fail(self.operation, self.attempt, failure, chance=0.5)


ENDS = ControlFlow
"""What the layer raises to end an attempt."""
