"""What job code does outside: `once`, the explicit `effect`, and `atomic_effect` for our own database (protocol, 3).

once("send-invoice", lambda e: gateway.send(invoice_id, idempotency_key=e.key).id, safety=Keyed(hours(24)))
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid5

import structlog
from django.conf import settings

from jobs.domain.decisions import Action
from jobs.domain.operations import EffectStatus
from jobs.ledger import effects as ledger
from jobs.ledger.database import same_transaction
from jobs.ledger.effects import Cancelled, Fenced, Plan, StillOpen
from jobs.ledger.snapshots import call_timeout as default_call_timeout
from jobs.models import Effect
from jobs.safety.calls import fingerprint, storable
from jobs.safety.errors import CancelledByOperator, LeaseLost, MisuseError, NotPerformed, PermanentError, TransientError
from jobs.safety.logs import tell
from jobs.safety.points import point
from jobs.safety.promises import Absent, Answer, Checkable, Found, Inconclusive, Keyed, Safety
from jobs.safety.running import EffectStillOpen, Running, current, first_line

_KEYS = UUID("7a0b6a5e-3c1c-5d0e-9a57-6f1f0b4a9a11")
"""The root of all idempotency keys. Never to be changed: a key must come out the same for ever (protocol, I8)."""

LARGEST_RESULT = 16_000
"""Bytes: of what a call returned its id is wanted, not its whole answer."""


class EffectHandle:
    """One effect of the operation that runs: what is known of it, and the steps around its call."""

    def __init__(
        self, running: Running, name: str, safety: Safety, *, item: str, request: Any, call_timeout: timedelta | None
    ) -> None:
        self._running, self.name, self.item, self._safety = running, name, item, safety
        self._is_first = running.is_first_of(name, item)
        self._row = None if self._is_first else ledger.find(running.operation, name, item)
        self._plan = self._planned(request, call_timeout)
        self._is_repeat = False

    @property
    def key(self) -> str:
        """The idempotency key: that of the first call, and the same for ever."""
        return self._row.idempotency_key if self._row else self._plan.key

    @property
    def operation_id(self) -> str:
        return self._running.operation_id

    @property
    def completed(self) -> bool:
        """Whether it happened, be it in an earlier attempt."""
        return self._row is not None and self._row.status == EffectStatus.COMPLETED

    @property
    def result(self) -> Any:
        """What its call returned, if it happened and that is known.

        Where only somebody else knew that it happened (a probe, a person), that is what it is known as there, as text.
        """
        if self._row is None:
            return None
        is_hearsay = self.completed and self._row.source in (Effect.Source.PROBE, Effect.Source.HUMAN)
        return self._row.external_id or None if self._row.result is None and is_hearsay else self._row.result

    @property
    def external_id(self) -> str:
        """What it is known as on the other side; '' while nobody knows."""
        return self._row.external_id if self._row else ""

    @property
    def begun_at(self) -> datetime | None:
        """When its call was last begun."""
        return self._row.begun_at if self._row else None

    def begin(self) -> None:
        """Commit that the call is about to be made. Raises what ends the attempt when it must not be made (W4)."""
        if self.completed:
            raise MisuseError(f"“{self.name}” is completed: look at .completed before .begin().")
        self._is_repeat = self._row is not None and self._row.status == EffectStatus.BEGUN
        is_first, self._is_first = self._is_first, False
        try:
            self._row = ledger.begin(self._running.operation, self._running.attempt, self._plan, is_first=is_first)
        except Fenced:
            raise LeaseLost(f"“{self.name}” was not begun: another attempt has the operation, or time is up.") from None
        except Cancelled:
            raise CancelledByOperator("It was cancelled before anything left the system.") from None
        except StillOpen as objection:
            raise EffectStillOpen(objection.decision, objection.effect_pk) from None
        except RuntimeError as error:
            raise _inside_transaction(self.name) from error
        if self.completed:
            # An attempt that was taken over has reported its success just now.
            raise TransientError(f"“{self.name}” has turned out to have happened: the job goes on from there.")
        tell("effect begun", effect=self.name)

    def complete(self, result: Any = None, *, external_id: str = "") -> None:
        """Record that the call succeeded; `result` (small JSON) is what a later attempt gets in its stead (W5)."""
        row = self._begun_row()
        known_as = storable(external_id or _id_in(result))
        is_kept = _is_json(result)
        # Before it is written: if that fails, the log is the only place that has it.
        _bind_external_id(known_as)
        ledger.complete(row, self._running.attempt, external_id=known_as, result=result if is_kept else None)
        tell("effect completed", effect=self.name)
        if not is_kept:
            raise MisuseError(f"“{self.name}” is done, and what it returned is no small JSON: return its id.")

    def release(self, why: str) -> None:
        """Record that the call was provably not made, so that it may be made again.

        Of a repeat that proves nothing: the call before it, under the same key, may have taken effect. It stays begun.
        """
        if self._is_repeat:
            tell("effect left begun: a repeat was refused", effect=self.name)
            return
        text = self._running.masked(why, keep=300)
        row = self._begun_row()
        if ledger.release(row, self._running.attempt, code="not_performed", text=text):
            tell("effect released", effect=self.name)

    def settle_error(self, error: BaseException) -> None:
        """What an error during the call says of it: only one that proves that nothing happened releases it (C11)."""
        if isinstance(error, (NotPerformed, PermanentError)):
            self.release(f"{type(error).__name__}: {first_line(error)}")

    def ask_if_left_open(self) -> None:
        """Ask the other side about a call that an earlier attempt has left open. Raises what ends the attempt."""
        if self._is_left_open():
            self._probe()

    def _is_left_open(self) -> bool:
        """An earlier attempt began it, the other side can be asked, and nobody has said yet what became of it."""
        return (
            self._row is not None
            and self._row.status == EffectStatus.BEGUN
            and self._row.begun_by_id != self._running.attempt.pk
            and isinstance(self._safety, Checkable)
        )

    def _probe(self) -> None:
        """Ask the other side, once the rules say that its answer counts (R12, R13)."""
        assert self._row is not None
        assert isinstance(self._safety, Checkable)
        decision = ledger.decision_now(self._running.operation, self._row, self._plan)
        if decision.action is not Action.PROBE:
            raise EffectStillOpen(decision, self._row.pk)
        point("before_probe")
        answer = _asked(self._safety, self)
        point("after_probe")
        try:
            ledger.note_probe(self._row, self._running.attempt, **_as_noted(answer, self._running))
        except Fenced:
            raise LeaseLost(f"The answer about “{self.name}” came too late to count.") from None
        except RuntimeError as error:
            raise _inside_transaction(self.name) from error
        tell("effect checked", effect=self.name, answer=type(answer).__name__)
        if isinstance(answer, Inconclusive):
            raise EffectStillOpen(ledger.decision_now(self._running.operation, self._row, self._plan), self._row.pk)

    def _begun_row(self) -> Effect:
        if self._row is None or self._row.begun_by_id != self._running.attempt.pk:
            raise MisuseError(f"“{self.name}” was not begun here: call .begin() before the call is made.")
        return self._row

    def _planned(self, request: Any, call_timeout: timedelta | None) -> Plan:
        safety = self._safety
        return Plan(
            name=self.name,
            item=self.item,
            idempotency=safety.idempotency,
            key=_key(self._running.operation_id, self.name, self.item),
            request_fingerprint=fingerprint(request) if request is not None else "",
            remembered_for=safety.remembered_for if isinstance(safety, Keyed) else None,
            settles_in=safety.settles_in if isinstance(safety, Checkable) else None,
            has_probe=isinstance(safety, Checkable),
            call_timeout=call_timeout or default_call_timeout(),
        )


def once(
    name: str,
    call: Callable[..., Any],
    *,
    safety: Safety,
    item: str = "",
    request: Mapping[str, Any] | None = None,
    call_timeout: timedelta | None = None,
) -> Any:
    """Do something outside at most once for this operation, and return what it returned then.

    `call` is given the EffectHandle if it takes an argument (`lambda e: … e.key`). What it returns (small JSON: best
    the id on the other side) is kept, and given back by later attempts in place of the call. `item`: which of many.
    `request`: what is sent, for keyed effects; a repeat with other content goes to review instead (R10).
    `call_timeout`: how long the call may take; nothing is begun with less time left.

    Raises what `call` raises; and what ends the attempt when the effect must not be begun now.
    """
    handle = effect(name, safety, item=item, request=request, call_timeout=call_timeout)
    if handle.completed:
        _bind_external_id(handle.external_id)
        tell("effect known", effect=name)
        return handle.result
    handle.begin()
    point("after_intent")
    try:
        result = call(handle) if _takes_handle(call) else call()
    except BaseException as error:
        handle.settle_error(error)
        raise
    point("after_call")
    handle.complete(result)
    point("after_complete")
    return result


def effect(
    name: str,
    safety: Safety,
    *,
    item: str = "",
    request: Mapping[str, Any] | None = None,
    call_timeout: timedelta | None = None,
) -> EffectHandle:
    """The explicit form: look at `.completed`, then `.begin()`, make the call, `.complete(external_id=…)`.

    Of a call that an earlier attempt has left open the other side is asked here, so that `.completed` is the truth.
    """
    if not isinstance(safety, Safety):
        raise MisuseError(f"Say of “{name}” what a repeat does: Repeatable(), Keyed(…), Checkable(…) or Unsafe().")
    handle = EffectHandle(current(), name, safety, item=str(item), request=request, call_timeout=call_timeout)
    handle.ask_if_left_open()
    return handle


class AtomicEffect:
    """Work in our own database, done once: `completed` tells whether an earlier attempt has done it."""

    def __init__(self, row: Effect | None) -> None:
        if row is not None and row.status != EffectStatus.COMPLETED:
            raise MisuseError(f"“{row.name}” is {row.status} outside: name the work in the database otherwise.")
        self.completed = row is not None
        self.result: Any = row.result if row else None
        """Set it to small JSON that later attempts are to be given."""


@contextmanager
def atomic_effect(name: str, *, item: str = "") -> Iterator[AtomicEffect]:
    """A transaction in which a change of our own database and the fact that it was made are committed together.

        with atomic_effect("close-request") as done:
            if not done.completed:
                Request.objects.filter(pk=request_id).update(is_closed=True)
                send_mail.submit(request_id)

    Raises LeaseLost, and nothing is changed, when another attempt has the operation; CancelledByOperator when that is
    wanted and nothing was done yet.
    """
    running = current()
    with same_transaction():
        try:
            ledger.hold_within(running.operation, running.attempt)
        except Fenced:
            raise LeaseLost(f"“{name}” was not done: another attempt has the operation.") from None
        except Cancelled:
            raise CancelledByOperator("It was cancelled before anything was done.") from None
        running.begun.add((name, str(item)))
        done = AtomicEffect(ledger.find(running.operation, name, str(item)))
        was_completed = done.completed
        yield done
        if not was_completed:
            ledger.record_within(running.operation, running.attempt, name, str(item), done.result)
        point("before_atomic_commit")


# ----------------------------------------------------------------------------------------------------------------------


def _key(operation_id: str, name: str, item: str) -> str:
    """Stable for this installation: staging must not send production's keys to the same provider."""
    namespace = getattr(settings, "OPSBOARD_NAMESPACE", "") or getattr(settings, "OPSBOARD_ENVIRONMENT", "")
    return str(uuid5(_KEYS, json.dumps([namespace, operation_id, name, item])))


def _asked(safety: Checkable, handle: EffectHandle) -> Answer:
    """What the other side says; a probe that fails proves nothing."""
    try:
        answer: Any = safety.probe(handle)
    except Exception as error:
        # Whatever keeps the other side from answering.
        return Inconclusive(f"{type(error).__name__}: {first_line(error)}")
    if not isinstance(answer, Answer):
        return Inconclusive("the probe returned neither Found, Absent nor Inconclusive")
    return answer


def _as_noted(answer: Answer, running: Running) -> dict[str, Any]:
    text = running.masked(storable(answer.why), keep=300) if isinstance(answer, Inconclusive) else ""
    return {
        "is_found": isinstance(answer, Found),
        "is_absent": isinstance(answer, Absent),
        "external_id": storable(answer.external_id) if isinstance(answer, Found) else "",
        "text": text,
    }


def _takes_handle(call: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(call).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in parameters)


def _id_in(result: Any) -> str:
    """A text or number that a call returned is taken for its id on the other side."""
    return str(result) if isinstance(result, (str, int)) and not isinstance(result, bool) else ""


def _bind_external_id(known_as: str) -> None:
    """On every line of the attempt from here on (running._log_context takes it off)."""
    if known_as:
        structlog.contextvars.bind_contextvars(externalCorrelationId=known_as)


def _is_json(result: Any) -> bool:
    """Whether the databases keep it: PostgreSQL knows no NaN, no NUL and no half of a surrogate pair."""
    try:
        text = json.dumps(result, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError):
        return False
    return len(text) <= LARGEST_RESULT and b"\\u0000" not in text


def _inside_transaction(name: str) -> MisuseError:
    return MisuseError(
        f"“{name}” was begun inside a transaction, whose end could take the record of it back: leave atomic() first, "
        "or use atomic_effect() for work in the database alone."
    )
