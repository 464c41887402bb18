"""Effects of operations: *begun* is committed before the call, *completed* after it (protocol, W4 and W5).

Beginning is fenced; what is known of a call that was made is a fact, and is stored whoever holds the operation now.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError
from django.db.models import F, QuerySet

from jobs.domain.decisions import Action, Decision
from jobs.domain.idempotency import Idempotency, doubtful_class
from jobs.domain.operation_rules import decide
from jobs.domain.operations import AskedBy, EffectState, EffectStatus
from jobs.domain.operations import OperationStatus as Status
from jobs.ledger import events
from jobs.ledger.database import now as database_now
from jobs.ledger.database import outlasting_locks, own_transaction
from jobs.ledger.late_evidence import take_late_evidence
from jobs.ledger.snapshots import effect_state, only, snapshot_of
from jobs.models import Attempt, Effect, Operation

Source = Effect.Source


class Fenced(Exception):
    """This attempt holds its operation no more, or too little time is left for a call: nothing may be begun."""


class Cancelled(Exception):
    """An operator wants it cancelled, and nothing has left the system yet."""


class StillOpen(Exception):
    """It was begun before, and may not be begun again now; `decision` says why (R8 to R18)."""

    def __init__(self, decision: Decision, effect: Effect) -> None:
        super().__init__(decision.sentence)
        self.decision, self.effect_pk = decision, effect.pk


@dataclass(frozen=True, kw_only=True)
class Plan:
    """An effect as the code that runs now wants it. `key`: that of its first call, if it was begun before."""

    name: str
    item: str
    idempotency: Idempotency
    key: str
    request_fingerprint: str = ""
    remembered_for: timedelta | None = None
    settles_in: timedelta | None = None
    has_probe: bool = False
    call_timeout: timedelta


def find(operation: Operation, name: str, item: str) -> Effect | None:
    """The effect's row; None while it was never begun."""
    return operation.effects.select_related("begun_by").filter(name=name, item=item).first()


@outlasting_locks
def begin(operation: Operation, attempt: Attempt, plan: Plan, *, is_first: bool = False) -> Effect:
    """Commit that the call is about to be made (W4). Returns the row as it is now: a completed one is not begun again.

    `is_first`: no attempt has ever begun it, which none but the holder of the operation could have changed since.
    Raises Fenced, Cancelled, StillOpen, and RuntimeError inside a transaction, which could take the intent back (C14).
    """
    with own_transaction():
        now = database_now()
        _hold_uncancelled(operation, attempt, now + plan.call_timeout)
        effect = None if is_first else find(operation, plan.name, plan.item)
        if effect is None:
            return _create(operation, attempt, plan, now)
        if effect.status == EffectStatus.COMPLETED:
            return effect
        if effect.status == EffectStatus.RELEASED:
            _require_attempts_left(operation, attempt, effect, now)
        else:
            _require_repeat(operation, attempt, effect, plan, now)
        return _begin_again(attempt, effect, plan, now)


@outlasting_locks
def complete(
    effect: Effect, attempt: Attempt, *, external_id: str = "", result: Any = None, source: str = Source.JOB
) -> None:
    """The call succeeded, and this is what it is known as (W5). Not fenced: it is a fact, however late it comes."""
    with own_transaction():
        now = database_now()
        facts: dict[str, Any] = {
            "status": EffectStatus.COMPLETED,
            "completed_at": now,
            "external_id": external_id,
            "result": result,
            "source": source,
        }
        if Effect.objects.filter(pk=effect.pk, status=EffectStatus.BEGUN, begun_by=attempt).update(**facts):
            for name, value in facts.items():
                setattr(effect, name, value)
            return
        take_late_evidence(effect, attempt, external_id=external_id, result=result, now=now)
        effect.refresh_from_db()


@outlasting_locks
def release(effect: Effect, attempt: Attempt, *, code: str, text: str) -> bool:
    """The call was provably not made: it may be begun again, under the same key.

    False where that proves nothing: an earlier call of it is in doubt, or it is in other hands by now.
    """
    with own_transaction():
        only_call = Effect.objects.filter(first_begun_at=F("begun_at"), begun_by=attempt)
        released = only_call.filter(pk=effect.pk, status=EffectStatus.BEGUN).update(status=EffectStatus.RELEASED)
        if released:
            events.note(
                effect.operation,
                events.Kind.RELEASED,
                now=database_now(),
                code=code,
                text=text,
                attempt=attempt,
                effect=effect,
            )
        effect.refresh_from_db()
        return bool(released)


@outlasting_locks
def note_probe(
    effect: Effect, attempt: Attempt, *, is_found: bool, is_absent: bool, external_id: str = "", text: str = ""
) -> None:
    """What the other side said of an effect that an earlier attempt began (R13). Raises Fenced.

    Fenced, since an absence that an overtaken attempt was told may be past: by now a later one may have begun it again.
    """
    with own_transaction():
        now = database_now()
        _require_lease(effect.operation, attempt, now)
        seen = Effect.objects.filter(pk=effect.pk, status=EffectStatus.BEGUN, begun_by=effect.begun_by)
        changes: dict[str, Any] = {"probe_text": text[:400]}
        if is_found:
            changes |= {
                "status": EffectStatus.COMPLETED,
                "completed_at": now,
                "external_id": external_id,
                "source": Source.PROBE,
            }
        elif is_absent:
            changes |= {"status": EffectStatus.RELEASED, "source": Source.PROBE}
        else:
            changes["probes_made"] = F("probes_made") + 1
        if not seen.update(**changes):
            raise Fenced
        code = "probe_found" if is_found else "probe_absent" if is_absent else "probe_inconclusive"
        events.note(effect.operation, events.Kind.PROBED, now=now, code=code, text=text, attempt=attempt, effect=effect)
        effect.refresh_from_db()


def hold_within(operation: Operation, attempt: Attempt) -> None:
    """Lock the operation for the rest of the transaction, if this attempt still holds it. Raises Fenced, Cancelled."""
    _require_lease(operation, attempt, database_now())
    _require_no_cancel(operation)


def record_within(operation: Operation, attempt: Attempt, name: str, item: str, result: Any) -> Effect:
    """The fact of a change in our own database, committed together with the change (protocol, 1.3)."""
    now = database_now()
    return Effect.objects.create(
        operation=operation,
        name=name,
        item=item,
        idempotency=Idempotency.REPEATABLE,
        status=EffectStatus.COMPLETED,
        begun_by=attempt,
        begun_at=now,
        first_begun_at=now,
        completed_at=now,
        result=result,
    )


def decision_now(operation: Operation, effect: Effect, plan: Plan) -> Decision:
    """What the rules say at this moment of an effect that an earlier attempt began."""
    return decision_about(operation, effect, plan, database_now())


def decision_about(operation: Operation, effect: Effect, plan: Plan | None, now: datetime) -> Decision:
    """What the rules say of this effect alone: may the code that runs now begin it again?"""
    alone = only(snapshot_of(operation, now), [_planned(effect, plan, now)])
    timeout = plan.call_timeout if plan else alone.call_timeout
    # Asked by the attempt that holds the operation: it stands in nobody's way.
    asked = replace(alone, attempt=None, is_cancel_requested=False, call_timeout=timeout)
    return decide(asked, now, AskedBy.OPERATOR)


# ----------------------------------------------------------------------------------------------------------------------


def _hold_uncancelled(operation: Operation, attempt: Attempt, until: datetime) -> None:
    """The fence, and no wish to cancel that can still be granted; as a rule in one statement."""
    if not _held(operation, attempt, until).filter(cancel_requested_at=None).update(version=F("version") + 1):
        _require_lease(operation, attempt, until)
        _require_no_cancel(operation)


def _require_lease(operation: Operation, attempt: Attempt, until: datetime) -> None:
    """The fence, as a write: it locks the row against a takeover until the transaction ends."""
    if not _held(operation, attempt, until).update(version=F("version") + 1):
        raise Fenced


def _held(operation: Operation, attempt: Attempt, until: datetime) -> QuerySet[Operation]:
    return Operation.objects.filter(
        pk=operation.pk, status=Status.RUNNING, current_attempt=attempt.pk, lease_until__gt=until
    )


def _require_no_cancel(operation: Operation) -> None:
    """A wish to cancel is honoured as long as nothing has left the system; then the job is seen through (R15)."""
    is_wanted = Operation.objects.filter(pk=operation.pk, cancel_requested_at__isnull=False).exists()
    if is_wanted and not operation.effects.exclude(status=EffectStatus.RELEASED).exists():
        raise Cancelled


def _create(operation: Operation, attempt: Attempt, plan: Plan, now: datetime) -> Effect:
    try:
        return Effect.objects.create(
            operation=operation,
            name=plan.name,
            item=plan.item,
            idempotency=plan.idempotency,
            idempotency_key=plan.key,
            **_call(attempt, plan, now),
        )
    except IntegrityError:
        # Only this attempt may begin effects, so it is one that the code begins twice at once, in threads of its own.
        raise Fenced from None


def _call(attempt: Attempt, plan: Plan, now: datetime) -> dict[str, Any]:
    """The fields of an effect whose call is made now for the first time, or for the first time that it can count."""
    return {
        "status": EffectStatus.BEGUN,
        "request_fingerprint": plan.request_fingerprint,
        "key_valid_until": now + plan.remembered_for if plan.remembered_for else None,
        "settles_in_seconds": plan.settles_in.total_seconds() if plan.settles_in is not None else None,
        "has_probe": plan.has_probe,
        "begun_by": attempt,
        "begun_at": now,
        "first_begun_at": now,
        "source": Source.JOB,
    }


def _begin_again(attempt: Attempt, effect: Effect, plan: Plan, now: datetime) -> Effect:
    """Under the same key. Of one that was never carried out, all counts from now; else its first call does."""
    is_first = effect.status == EffectStatus.RELEASED
    changes = _call(attempt, plan, now) if is_first else {"begun_by": attempt, "begun_at": now}
    if is_first:
        changes |= {"idempotency": plan.idempotency, "probes_made": 0, "probe_text": ""}
    seen = Effect.objects.filter(pk=effect.pk, status=effect.status, begun_by=effect.begun_by)
    if not seen.update(**changes):
        raise Fenced
    effect.refresh_from_db()
    return effect


def _require_repeat(operation: Operation, attempt: Attempt, effect: Effect, plan: Plan, now: datetime) -> None:
    """It was begun before: only what the rules call safe may be called again, by the words of the first call."""
    if effect.begun_by_id == attempt.pk:
        raise StillOpen(_BEGUN_TWICE, effect)
    decision = decision_about(operation, effect, plan, now)
    if decision.action is not Action.RETRY:
        raise StillOpen(decision, effect)


def _require_attempts_left(operation: Operation, attempt: Attempt, effect: Effect, now: datetime) -> None:
    """An attempt may ask the other side however many were made, for R13 stands above R16 to R18; not call it again.

    Otherwise a call that never gets an answer and never happens would be made for ever.
    """
    if attempt.decision_code != "probe":
        return
    known = snapshot_of(operation, now)
    before_it = replace(known, attempt=None, is_cancel_requested=False, attempts_used=known.attempts_used - 1)
    decision = decide(before_it, now, AskedBy.AUTO)
    if decision.action is Action.FAIL:
        raise StillOpen(decision, effect)


def _planned(effect: Effect, plan: Plan | None, now: datetime) -> EffectState:
    state = effect_state(effect, now)
    if plan is None:
        return state
    is_same = plan.request_fingerprint == effect.request_fingerprint
    judged_as = doubtful_class(state.idempotency, plan.idempotency)
    return replace(state, is_same_request=is_same, idempotency=judged_as)


_BEGUN_TWICE = Decision(
    Action.WAIT, "begun_twice", "This attempt has begun it already, and does not know how that ended."
)
"""What follows is for the rules, once the attempt has ended."""
