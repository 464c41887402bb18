"""One delivery of an operation, from the claim to the end that RQ is told (protocol, 1.4)."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connections

from jobs.broker import deliveries
from jobs.broker.deliveries import JobInHand
from jobs.domain.decisions import Action, Decision
from jobs.domain.literals import HiddenValues
from jobs.domain.operations import EffectStatus, ErrorKind
from jobs.domain.redaction import safe_text
from jobs.ledger import attempts, rescues
from jobs.ledger.attempts import Claim, Delivered, Failure
from jobs.ledger.database import alias
from jobs.models import Attempt, Operation
from jobs.safety import processes
from jobs.safety.calls import Call, storable
from jobs.safety.errors import (
    ArgumentsRefused,
    CancelledByOperator,
    ControlFlow,
    LeaseLost,
    MisuseError,
    PermanentError,
    RefusedDelivery,
    StopRequested,
    TransientError,
    UnfinishedEffect,
)
from jobs.safety.logs import tell, warn
from jobs.safety.operation import JobKind
from jobs.safety.points import point
from jobs.safety.setup import needing_tables

LEASE_GRACE_SECONDS = 90
"""RQ kills a horse 60 s after its time limit at the latest; half a minute more for clocks and slow kills."""
LONGEST_LINE = 400
LONGEST_MESSAGE = 100_000
"""Characters of an error's message that are looked at at all."""

_current: ContextVar[Running | None] = ContextVar("opsboard_running", default=None)


class EffectStillOpen(ControlFlow):
    """An effect was begun before, and must not be begun again now; the decision says what is to happen instead."""

    def __init__(self, decision: Decision, effect_pk: int) -> None:
        super().__init__(decision.sentence)
        self.decision, self.effect_pk = decision, effect_pk


@dataclass
class Running:
    """The attempt that runs in this context, as job code's helpers see it."""

    operation: Operation
    attempt: Attempt
    job: JobInHand
    hidden: HiddenValues = field(default=HiddenValues(), repr=False)
    """The values of the call that are none of its ids: no text about it may repeat them."""
    begun: set[tuple[str, str]] = field(default_factory=set)
    """Name and item of the effects that this attempt has asked for."""
    looked_at: float = field(default=0.0)
    """When it was last asked whether to stop (monotonic)."""
    is_to_stop: bool = False
    reported_at: float = field(default=float("-inf"))
    """When its progress was last written down (monotonic)."""
    has_reported_all: bool = False
    """What was written down then was that all is done."""

    @property
    def operation_id(self) -> str:
        return self.operation.operation_id

    @property
    def attempt_id(self) -> UUID:
        return self.attempt.pk

    def is_first_of(self, name: str, item: str) -> bool:
        """Whether it is sure, without a query, that no attempt has ever begun this effect; asked once it is no more."""
        was_asked = (name, item) in self.begun
        self.begun.add((name, item))
        return self.attempt.fence == 1 and not was_asked

    def masked(self, text: str, *, keep: int) -> str:
        """A text for the record: without what looks like a secret, and without hidden values."""
        return safe_text(text, self.hidden, keep=keep).text[: keep + 100]

    def require_lease(self) -> None:
        """Raises LeaseLost unless this attempt still holds its operation."""
        if not attempts.holds(self.operation, self.attempt):
            raise LeaseLost("Another attempt has taken the operation over.")


def current() -> Running:
    """The attempt that runs here. Raises MisuseError outside the job of an operation."""
    running = _current.get()
    if running is None:
        raise MisuseError("This works in the job of an @operation only, in the thread that RQ runs it in.")
    return running


def run_delivery(kind: JobKind, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run the job, if its operation may run now; what comes back is for RQ.

    That is what the function returned, or RQ's Retry when another attempt is due, or None for a delivery that is not
    needed. Raises what the job raised when that was its last word, so that RQ's failed registry agrees.
    """
    job = deliveries.job_in_hand()
    if _current.get() is not None:
        raise MisuseError(f"One operation can't be part of another: queue it by {kind.path}.submit(…).")
    if job is None:
        raise MisuseError(f"Queue it by {kind.path}.submit(…) or .delay(…); a test calls its .function(…).")
    if job.timeout_seconds is None:
        raise MisuseError(f"{kind.path} has no time limit, so it would never be known dead: give @job a timeout.")
    call = _bound(kind, args, kwargs, job)
    _die_with_worker(job)
    point("before_claim")
    with needing_tables():
        claim = attempts.claim(_delivered(kind, call, job))
    point("after_claim")
    with _log_context(kind, call, job, claim):
        if claim.attempt is None or claim.operation is None:
            return _turned_away(claim.decision)
        running = Running(operation=claim.operation, attempt=claim.attempt, job=job, hidden=kind.shape.hidden_in(call))
        return _attempt(kind, running, lambda: function(*args, **kwargs))


def _bound(kind: JobKind, args: tuple[Any, ...], kwargs: dict[str, Any], job: JobInHand) -> Call:
    """The call. One that does not fit is refused on its operation's record at once, and RQ files the job as failed."""
    try:
        return kind.shape.bind(args, kwargs)
    except (TypeError, ArgumentsRefused):
        known = {} if job.operation_id is None else {"operationId": job.operation_id}
        code = {"decisionCode": "signature_mismatch", "finalStatus": "refused"}
        tell("delivery turned away", jobId=job.job_id, jobType=kind.path, **known, **code)
        if job.operation_id is not None:
            _refuse_call(job.operation_id, job.job_id)
        raise


def _refuse_call(operation_id: str, job_id: str) -> None:
    try:
        rescues.refuse_call(operation_id, job_id)
    except (DatabaseError, InterfaceError) as silence:
        # The observer reads it from RQ's record.
        warn("refused, not noted", operationId=operation_id, why=type(silence).__name__)


def _delivered(kind: JobKind, call: Call, job: JobInHand) -> Delivered:
    assert job.timeout_seconds is not None
    grace = getattr(settings, "OPSBOARD_LEASE_GRACE_SECONDS", LEASE_GRACE_SECONDS)
    return Delivered(
        # The id that it was submitted under: a release may have changed how ids are made.
        operation_id=job.operation_id or call.operation_id,
        connection=deliveries.connection_name(),
        queue=job.queue,
        job_id=job.job_id,
        job_created_at=job.created_at,
        execution_id=job.execution_id,
        worker_name=job.worker_name[:200],
        job_type=kind.path,
        args=dict(call.args),
        args_fingerprint=call.fingerprint,
        entity=call.entity[:200],
        dispatch=job.dispatch.to_json(),
        policy=kind.retry.to_json(),
        declared_effects=kind.effects,
        defaults=dict(call.defaults),
        formerly=kind.formerly,
        may_run=timedelta(seconds=job.timeout_seconds + grace),
        is_submitted=job.operation_id is not None,
        was_abandoned=job.is_repeated,
        process=asdict(processes.own_identity()),
    )


def _die_with_worker(job: JobInHand) -> None:
    """A horse should not outlive its worker, where that is wanted (OPSBOARD_DIE_WITH_WORKER; protocol, Choices)."""
    if not getattr(settings, "OPSBOARD_DIE_WITH_WORKER", False):
        return
    pid = job.worker_field("pid")
    if pid is not None and pid.isdigit() and int(pid) != os.getpid():
        processes.die_with_parent(int(pid))


def _turned_away(decision: Decision) -> None:
    tell("delivery turned away", decisionCode=decision.code, finalStatus=_TURNED_AWAY.get(decision.action))
    if decision.code in _DROPPED or decision.action in (Action.SKIP_DUPLICATE, Action.WAIT):
        return
    raise RefusedDelivery(decision.sentence, code=decision.code)


_TURNED_AWAY = {
    Action.SKIP_DUPLICATE: "skipped_duplicate",
    **dict.fromkeys((Action.WAIT, Action.REFUSE, Action.FAIL, Action.REVIEW), "refused"),
}
_DROPPED = ("cancelled",)
"""Refusals after which RQ has nothing to file as failed."""


def _attempt(kind: JobKind, running: Running, body: Callable[[], Any]) -> Any:
    began = time.monotonic()
    tell("attempt begins")
    try:
        returned = _run_body(running, body)
        _require_finished(running)
        point("before_finish")
        is_mine = attempts.complete(running.operation, running.attempt)
    except BaseException as error:
        return _ended_by(error, kind, running, began)
    point("after_finish")
    _log_end("completed" if is_mine else "superseded", began)
    return returned if is_mine else None


def _run_body(running: Running, body: Callable[[], Any]) -> Any:
    token = _current.set(running)
    try:
        return body()
    finally:
        _current.reset(token)


def _require_finished(running: Running) -> None:
    """A job that returns while an effect is begun has swallowed what went wrong there (protocol, C19)."""
    if running.attempt.fence == 1 and not running.begun:
        # Nobody has asked for any, neither this attempt nor one before it.
        return
    left = running.operation.effects.filter(status__in=(EffectStatus.BEGUN, EffectStatus.UNKNOWN)).first()
    if left is not None:
        raise UnfinishedEffect(f"The job returned while “{left.name}” was begun; let the errors of once() through.")


def _ended_by(error: BaseException, kind: JobKind, running: Running, began: float) -> Any:
    """The attempt did not complete: what the ledger makes of that, and what RQ is told."""
    if isinstance(error, (DatabaseError, InterfaceError)):
        _forget_broken_connection()
    try:
        if isinstance(error, CancelledByOperator) and _cancelled(error, running):
            _log_end("cancelled", began)
            return None
        decision = attempts.fail(running.operation, running.attempt, _failure(error, kind, running), chance=_chance())
    except (DatabaseError, InterfaceError) as silence:
        # Nothing can be told to the ledger: it finds out by the lease, and RQ files the job as failed meanwhile.
        _log_end("not recorded", began)
        raise (error if isinstance(error, Exception) else silence) from None
    if decision is None:
        _log_end("superseded", began)
        return None
    point("after_failure")
    _log_end(_STATUS_AFTER.get(decision.action, "failed"), began, decision)
    if decision.action in _RUNS_AGAIN and isinstance(error, (Exception, ControlFlow)):
        return deliveries.automatic_retry(attempts.time_left(running.operation))
    if isinstance(error, ControlFlow):
        if decision.code in _DROPPED:
            return None
        raise RefusedDelivery(decision.sentence, code=decision.code) from error
    raise error


def _cancelled(error: BaseException, running: Running) -> bool:
    return attempts.cancel(running.operation, running.attempt, first_line(error))


def _forget_broken_connection() -> None:
    """So that the next statement makes a new one, if there is a database to connect to."""
    connection = connections[alias()]
    if connection.connection is not None and not connection.in_atomic_block and not connection.is_usable():
        connection.close()


def _chance() -> float:
    return random.random()  # noqa: S311  # spreads retries in time; nothing is kept secret by it


_RUNS_AGAIN = (Action.RETRY, Action.PROBE, Action.WAIT)
_STATUS_AFTER = {Action.REVIEW: "unknown"} | dict.fromkeys(_RUNS_AGAIN, "retrying")


def _failure(error: BaseException, kind: JobKind, running: Running) -> Failure:
    objection = error if isinstance(error, EffectStillOpen) else None
    cause = objection.decision.sentence if objection else first_line(error)
    is_permanent = isinstance(error, (PermanentError, *kind.bad_data))
    return Failure(
        kind=ErrorKind.PERMANENT if is_permanent else ErrorKind.TRANSIENT,
        error_class=type(error).__name__[:200],
        error_line=running.masked(cause, keep=LONGEST_LINE - 100),
        retry_after=error.retry_after if isinstance(error, TransientError) else None,
        # Without a reason for it a job could end early for ever.
        is_stopped=isinstance(error, StopRequested) and running.is_to_stop,
        is_unfinished=isinstance(error, UnfinishedEffect),
        objection=objection.decision if objection else None,
        objecting_effect=objection.effect_pk if objection else None,
    )


def first_line(error: BaseException) -> str:
    """The message's first line; a message that can't be made is no reason to lose the attempt's end."""
    try:
        return next(iter(storable(str(error), keep=LONGEST_MESSAGE).splitlines()), "")
    except Exception:
        # Whatever the job's own exception class does in its __str__.
        return "its message can't be read"


# Logs -----------------------------------------------------------------------------------------------------------------


@contextmanager
def _log_context(kind: JobKind, call: Call, job: JobInHand, claim: Claim) -> Iterator[None]:
    """On every line of the attempt, also on those that job code logs itself. No values of arguments but the ids.

    What the effects are known as on the other side is bound beside these as soon as it is known.
    """
    fields = {
        "operationId": claim.operation.operation_id if claim.operation else call.operation_id,
        "jobId": job.job_id,
        "jobType": kind.path,
        "entityId": call.entity or None,
        "attempt": claim.attempt.number if claim.attempt else None,
        "fence": claim.attempt.fence if claim.attempt else None,
    }
    with structlog.contextvars.bound_contextvars(
        **{name: value for name, value in fields.items() if value is not None}
    ):
        try:
            yield
        finally:
            # Bound by an effect on its way; the next job of this process has none of it.
            structlog.contextvars.unbind_contextvars("externalCorrelationId")


def _log_end(status: str, began: float, decision: Decision | None = None) -> None:
    code = {"decisionCode": decision.code} if decision else {}
    tell("attempt ends", finalStatus=status, duration=round(time.monotonic() - began, 3), **code)
