"""Acts on a job that delivers an operation: the ledger decides, Redis says what can be done with this job.

Of a plain job Redis is all there is (decisions.py, housekeeping.py). Of an operation its own record is the truth, and
one table answers wherever somebody asks: R1 to R24 (operation_rules.py; protocol, 2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo

from jobs.domain.decisions import Action, Case, Decision, objection_to_any_act, objection_to_resting
from jobs.domain.findings import Finding
from jobs.domain.housekeeping import decide_cancel, decide_delete, decide_enqueue, decide_stop
from jobs.domain.idempotency import Idempotency, Promise
from jobs.domain.operation_rules import decide
from jobs.domain.operations import TERMINAL, AskedBy, EffectState, EffectStatus, OperationStatus, Snapshot
from jobs.domain.questions import name_effects
from jobs.domain.standing import Standing

UNDER_WAY = frozenset({OperationStatus.ACCEPTED, OperationStatus.QUEUED, OperationStatus.RETRY_WAIT})
"""Nobody runs it, and its next attempt is on its way."""


@dataclass(frozen=True, kw_only=True)
class Layered:
    """The operation that a job delivers. `now`: by the database's clock, in which its times are."""

    operation_id: str
    snapshot: Snapshot
    now: datetime
    is_newest: bool = True
    """The job is the newest delivery; an older one is turned away if it should run after all."""
    asked_by: AskedBy = AskedBy.OPERATOR


# The operation itself -------------------------------------------------------------------------------------------------


def decide_run(layered: Layered, zone: tzinfo) -> Decision:
    """Whether a person may have the operation run again, whatever Redis has of it (R1 to R24).

    A check with the other side is part of that run, so it counts as a yes.
    """
    decision = decide(layered.snapshot, layered.now, layered.asked_by, zone=zone)
    return replace(decision, action=Action.RETRY) if decision.action is Action.PROBE else decision


def decide_fresh_run(layered: Layered, zone: tzinfo) -> Decision:
    """The same of an operation that no job in Redis stands for any more: it is queued as a new job."""
    decision = decide_run(layered, zone)
    if decision.allows_act and layered.snapshot.status in UNDER_WAY:
        return Decision(Action.REFUSE, "already_queued", _ON_ITS_WAY[layered.snapshot.status], decision.rule)
    return decision


def decide_from_record(case: Case | None, layered: Layered, zone: tzinfo) -> Decision:
    """Whether a person may have the operation run again from its own page. `case`: of its newest job, if there is one.

    A failed job of it is put back on its queue (see is_put_back); else it is queued as a new one.
    """
    if case is not None and (back := decide_delivery_retry(case, layered)).allows_act:
        return back
    decision = decide_fresh_run(layered, zone)
    if decision.allows_act and case is not None and case.evidence.status in _ALIVE:
        return Decision(Action.REFUSE, "already_queued", "A job of it is on its way in Redis already.", decision.rule)
    return decision


def is_put_back(case: Case | None, layered: Layered) -> bool:
    """Whether that run is the failed job, put back on its queue, and not a new one."""
    return case is not None and decide_delivery_retry(case, layered).allows_act


def decide_cancelling(layered: Layered) -> Decision:
    """Whether the operation may be cancelled: only while it is true that nothing has left the system (R15, C17)."""
    snapshot = layered.snapshot
    if snapshot.status in TERMINAL:
        return Decision(Action.REFUSE, "closed", f"It is over: {_OVER[snapshot.status]}.", "R5")
    if snapshot.has_open_review:
        return Decision(Action.REFUSE, "review_open", f"{_IN_REVIEW} It can be given up there.", "R6")
    if left := [one for one in snapshot.effects if one.status is not EffectStatus.RELEASED]:
        return Decision(Action.REFUSE, "has_begun", f"It can’t be called cancelled: {_what_has_begun(left)}", "R15")
    if snapshot.is_cancel_requested:
        return Decision(Action.REFUSE, "cancelled", "Its cancelling was asked for before.", "R15")
    if snapshot.status is OperationStatus.RUNNING:
        return Decision(Action.CANCEL, "cancel_requested", _CANCEL_RUNNING, "R15", asks=True)
    return Decision(Action.CANCEL, "cancel", "It is cancelled: nothing of it has left the system.", "R15", asks=True)


# A job that delivers it -----------------------------------------------------------------------------------------------


def decide_delivery_retry(case: Case, layered: Layered) -> Decision:
    """Whether this failed job may be put back on its queue: the table first, then what Redis says of the job."""
    if objection := objection_to_any_act(case.evidence):
        return objection
    decision = decide_run(layered, case.zone)
    if not decision.allows_act:
        return decision
    in_the_way = _older_delivery(layered) or objection_to_resting(case.evidence, case.judgement.finding)
    if in_the_way is None and not case.evidence.is_readable:
        return Decision(Action.REFUSE, "unreadable", _UNREADABLE)
    return in_the_way or _with_warning(case, decision)


def decide_delivery_enqueue(case: Case, layered: Layered) -> Decision:
    """Whether this scheduled or lost job may be put on its queue now, before the operation's next attempt is due."""
    in_redis = decide_enqueue(_left_to_the_ledger(case))
    if not in_redis.allows_act:
        return in_redis
    decision = decide_run(layered, case.zone)
    if not decision.allows_act:
        return decision
    enqueue = replace(decision, action=Action.ENQUEUE, asks=decision.asks or in_redis.asks)
    return _older_delivery(layered) or enqueue


def decide_delivery_cancel(case: Case, layered: Layered) -> Decision:
    """Cancelling a waiting delivery cancels its operation; a job that does not wait has nothing to be cancelled."""
    in_redis = decide_cancel(case)
    return decide_cancelling(layered) if in_redis.allows_act else in_redis


def decide_delivery_stop(case: Case, layered: Layered) -> Decision:
    """As of a plain job; and it is said what becomes of the operation."""
    decision = decide_stop(case)
    if not decision.allows_act:
        return decision
    begun = [one for one in layered.snapshot.effects if one.is_open]
    what = f"{_what_has_begun(begun)} Its outcome may become unknown." if begun else _NOTHING_BEGUN
    return replace(decision, sentence=f"Its process is killed wherever it is. {what} {_STOPPED_IS_NOT_CANCELLED}")


def decide_delivery_delete(case: Case, layered: Layered) -> Decision:
    """No delivery is deleted while its operation is open: the observer would take it for lost, and queue it again."""
    status = layered.snapshot.status
    if status not in TERMINAL:
        sentence = f"Its operation is not over ({_OPEN[status]}): deleted, the job would be queued again. {_CANCEL_IT}"
        return Decision(Action.REFUSE, "operation_open", sentence)
    return decide_delete(case)


# ----------------------------------------------------------------------------------------------------------------------


def _with_warning(case: Case, decision: Decision) -> Decision:
    """The dashboard does not import job code, so it can’t know whether this release has it by now (R14)."""
    if case.judgement.finding is not Finding.NEVER_STARTED:
        return decision
    return replace(decision, sentence=f"{decision.sentence} {_NEVER_ENTERED}", asks=True)


def _older_delivery(layered: Layered) -> Decision | None:
    """Of an operation that is on its way as another job this one must not be queued as well."""
    if layered.is_newest or layered.snapshot.status not in UNDER_WAY:
        return None
    return Decision(Action.REFUSE, "already_queued", "Its operation is on its way already, as another job.")


def _left_to_the_ledger(case: Case) -> Case:
    """The case as Redis alone has it: whether a repeat is safe, and an old run dead, the ledger says."""
    dead = replace(case.judgement, is_dead=True)
    return replace(case, promise=Promise(Idempotency.REPEATABLE), standing=Standing(), judgement=dead)


def _what_has_begun(effects: Sequence[EffectState]) -> str:
    done = [one for one in effects if one.status is not EffectStatus.BEGUN and one.status is not EffectStatus.UNKNOWN]
    doubtful = [one for one in effects if one not in done]
    said = [f"{name_effects(doubtful)} was begun and may have happened."] if doubtful else []
    return " ".join([*said, f"{name_effects(done)} happened."] if done else said)


_ALIVE = frozenset({"queued", "started", "scheduled", "deferred"})
_ON_ITS_WAY = {
    OperationStatus.ACCEPTED: "It was accepted, and the observer queues it as soon as it is late.",
    OperationStatus.QUEUED: "It is queued already; where its queue has lost it, the observer queues it again.",
    OperationStatus.RETRY_WAIT: "Its next attempt is on its way: it runs when that is due.",
}
_OVER = {
    OperationStatus.COMPLETED: "it is completed",
    OperationStatus.FAILED: "it has failed, and only a person can have it run again",
    OperationStatus.CANCELLED: "it is cancelled",
}
_OPEN = {
    OperationStatus.ACCEPTED: "accepted, not queued yet",
    OperationStatus.QUEUED: "queued",
    OperationStatus.RUNNING: "running",
    OperationStatus.RETRY_WAIT: "waiting for its next attempt",
    OperationStatus.UNKNOWN: "in review",
}
_IN_REVIEW = "Its review is open: a person must first say there what happened."
_CANCEL_IT = "Cancel it first, or answer its review."
_CANCEL_RUNNING = (
    "It is running. Its worker looks before it begins anything outside: until then it is cancelled, after that it is "
    "seen through."
)
_NOTHING_BEGUN = "None of its effects is begun, so nothing of it has left the system as yet."
_STOPPED_IS_NOT_CANCELLED = "That does not cancel the operation: what is safe to run again is run again."
_NEVER_ENTERED = (
    "RQ did not get into its function: that fails the same way until a release takes the stored call (R14)."
)
_UNREADABLE = "This job’s stored call can’t be read. The operation can be queued as a new job, from its own page."
