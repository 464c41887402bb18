"""How an attempt ends: what is told of it, once, and what that means for the next one (protocol, W6)."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.db.models import F

from jobs.domain.backoff import LONGEST_SECONDS, Backoff
from jobs.domain.decisions import Action, Decision
from jobs.domain.idempotency import Idempotency
from jobs.domain.operation_rules import decide
from jobs.domain.operations import AskedBy, AttemptOutcome, EffectStatus, Snapshot
from jobs.domain.operations import OperationStatus as Status
from jobs.ledger import events
from jobs.models import Attempt, Operation

if TYPE_CHECKING:
    from jobs.ledger.attempts import Failure


def end(attempt: Attempt, now: datetime, outcome: str, failure: Failure | None = None) -> bool:
    """The attempt's own end, told once. One that was taken over and reports after all is not lost but superseded."""
    texts = {}
    if failure is not None:
        texts = {
            "error_kind": failure.kind,
            "error_class": failure.error_class,
            "error_line": failure.error_line,
        }
    untold = ("", AttemptOutcome.LOST) if outcome == AttemptOutcome.SUPERSEDED else ("",)
    ended = Attempt.objects.filter(pk=attempt.pk, outcome__in=untold)
    return bool(ended.update(ended_at=now, outcome=outcome, **texts))


def supersede(operation: Operation, attempt: Attempt, now: datetime, failure: Failure | None = None) -> None:
    """It was taken over, and reports after all. An end that was committed, though nobody heard so, stays as it is."""
    is_told = end(attempt, now, AttemptOutcome.SUPERSEDED, failure)
    if is_told and operation.effects.filter(begun_by=attempt, status=EffectStatus.COMPLETED).exists():
        text = "An attempt that had been taken over reported its end; its call had succeeded."
        events.note(operation, events.Kind.LATE_EVIDENCE, now=now, text=text, attempt=attempt)


def columns_after(failure: Failure) -> dict[str, Any]:
    """What an ended attempt changes of its operation; one that was asked to stop is not counted."""
    if failure.is_stopped:
        return {"max_attempts": F("max_attempts") + 1}
    return {"last_error": failure.kind}


def decide_after(failure: Failure, snapshot: Snapshot, now: datetime) -> Decision:
    """What the rows say; but what an effect wants for what only its call shows (R10, R16) goes before a repeat."""
    decision, objection = decide(snapshot, now, AskedBy.AUTO), failure.objection
    if objection is None or objection.action not in (Action.REVIEW, Action.FAIL):
        return decision
    goes_on = decision.action in (Action.RETRY, Action.PROBE, Action.WAIT)
    return objection if goes_on or decision.action is objection.action is Action.FAIL else decision


def delay_after(operation: Operation, failure: Failure, chance: float) -> timedelta:
    """How long to wait before the next attempt: by the policy on record, longer where the other side asked for it."""
    if failure.is_stopped:
        return timedelta()
    policy = Backoff.from_json(operation.policy)
    own = policy.delay(operation.attempts_used, chance=chance)
    return max(own, min(failure.retry_after or timedelta(), timedelta(seconds=LONGEST_SECONDS)))


def outcome_of(operation: Operation, failure: Failure) -> AttemptOutcome:
    """What the attempt was, told by where its operation has gone."""
    if operation.status == Status.UNKNOWN or failure.is_unfinished:
        return AttemptOutcome.UNKNOWN
    if operation.status == Status.RETRY_WAIT:
        return AttemptOutcome.RETRYING
    return AttemptOutcome.CANCELLED if operation.status == Status.CANCELLED else AttemptOutcome.FAILED


def count_missed_probes(operation: Operation, attempt: Attempt) -> None:
    """An attempt that was to ask the other side and ended before counts as one that got no answer.

    Otherwise a job that fails each time before it asks would be tried for ever: R13 stands above R17 and R18.
    """
    if attempt.decision_code != "probe":
        return
    asked = operation.events.filter(attempt=attempt, kind=events.Kind.PROBED).values("effect")
    unasked = operation.effects.filter(status=EffectStatus.BEGUN, idempotency=Idempotency.CHECKABLE)
    unasked.exclude(begun_by=attempt).exclude(pk__in=asked).update(probes_made=F("probes_made") + 1)
