"""May this job be deleted, cancelled, stopped, queued now, or struck off a list? Pure answers with their reasons."""

from __future__ import annotations

from datetime import timedelta

from jobs.domain.decisions import (
    Action,
    Case,
    Decision,
    objection_by_standing,
    objection_to_any_act,
    objection_to_unlisted,
    unless_it_may_still_run,
)
from jobs.domain.findings import UNKNOWN_RESULTS, Finding
from jobs.domain.idempotency import Idempotency
from jobs.domain.times import moment

ORPHAN_GRACE = timedelta(seconds=60)
"""A job stands in no list for a moment while a worker takes it, so one that was queued just now is not yet lost.

One that waited for long and is taken at this moment looks lost all the same; the page that asks is a second look.
"""


def decide_delete(case: Case) -> Decision:
    """Whether the job may be deleted now: any that no run can be busy with."""
    evidence = case.evidence
    if objection := objection_to_any_act(evidence):
        return objection
    if case.standing.has_open_review:
        return Decision(
            Action.REFUSE, "review_open", "Its review is open: it is evidence, and stays until that is closed."
        )
    if evidence.in_intermediate:
        return _BEING_TAKEN
    if evidence.status == "started":
        return Decision(Action.REFUSE, "in_progress", "It counts as running, and a run that ends would bring it back.")
    if evidence.lease_until is not None and not case.judgement.is_dead:
        return Decision(Action.REFUSE, "in_progress", "A run of it may still be going on, and would bring it back.")
    if objection := objection_to_unlisted(evidence):
        return objection
    lost = " The evidence of a run whose result nobody knows goes with it." if _is_unknown(case) else ""
    sentence = f"It is deleted from Redis for good, with its results.{lost}"
    decision = Decision(Action.DELETE, "delete", sentence, asks=True)
    # Without a time limit no time would ever prove the old run dead, and the job could never be deleted.
    return decision if case.judgement.dead_after is None else unless_it_may_still_run(case, decision)


def decide_cancel(case: Case) -> Decision:
    """Whether the job may be kept from running: one that waits in its queue, for its time or for other jobs."""
    evidence = case.evidence
    if objection := objection_to_any_act(evidence):
        return objection
    if evidence.in_intermediate:
        return _BEING_TAKEN
    sentence = _CANCEL.get(case.judgement.finding)
    if sentence is None:
        return Decision(Action.REFUSE, "not_waiting", _NOT_WAITING.get(case.judgement.finding, "It does not wait."))
    if not case.judgement.is_dead:
        return Decision(Action.REFUSE, "in_progress", "A run of it is still going on, which a cancel does not end.")
    if objection := objection_to_unlisted(evidence):
        return objection
    return Decision(Action.CANCEL, "cancel", sentence, asks=True)


def decide_stop(case: Case) -> Decision:
    """Whether the worker may be asked to end the run that goes on now."""
    if objection := objection_to_any_act(case.evidence):
        return objection
    if case.judgement.finding is not Finding.RUNNING:
        return Decision(Action.REFUSE, "not_running", _NO_STOP.get(case.judgement.finding, "It is not running."))
    if case.promise.idempotency is Idempotency.REPEATABLE:
        sentence = "Its process is killed wherever it is. Its type is declared repeatable, so it can be run again."
    else:
        sentence = (
            "Its process is killed wherever it is: the outcome may become unknown, and somebody will have to find out "
            "whether it acted."
        )
    return Decision(Action.STOP, "stop", sentence, asks=True)


def decide_enqueue(case: Case) -> Decision:
    """Whether the job may be put on its queue now: one that is due later, or that is lost from its queue."""
    if objection := objection_to_any_act(case.evidence):
        return objection
    if not case.evidence.is_readable:
        return Decision(Action.REFUSE, "unreadable", "Its stored call can't be read, so nothing says what would run.")
    rule = _ENQUEUE.get(case.judgement.finding)
    if rule is None:
        return Decision(
            Action.REFUSE, "not_waiting", "Only what is scheduled or lost from its queue can be queued now."
        )
    objection = objection_by_standing(case) or objection_to_unlisted(case.evidence)
    return objection or unless_it_may_still_run(case, rule(case))


def decide_remove(case: Case) -> Decision:
    """Whether an id may be struck off the lists that still name it: only when its data is gone."""
    evidence = case.evidence
    objection = objection_to_any_act(evidence)
    if objection is None or objection.code == "rate_limited":
        return Decision(Action.REFUSE, "data_there", "Its data is there: it is a job, and can be deleted as one.")
    if objection.code != "data_gone":
        return objection
    sentence = "Its data is gone. Its id is struck off the lists, and what is left under it goes too."
    return Decision(Action.REMOVE, "remove_entry", sentence, asks=True)


def _scheduled(case: Case) -> Decision:
    return Decision(Action.ENQUEUE, "scheduled", "It runs now instead of at its due time.")


def _retry_pending(case: Case) -> Decision:
    if case.promise.idempotency is not Idempotency.REPEATABLE:
        sentence = "RQ will run it again by itself, safe or not; opsboard does not hasten that. It can be cancelled."
        return Decision(Action.REFUSE, "retry_pending", sentence)
    return Decision(Action.ENQUEUE, "repeatable", "Its type is declared repeatable: it runs now instead of when due.")


def _lost(case: Case) -> Decision:
    """The rows never entered × any, and lost × repeatable, of the table for plain jobs."""
    evidence, queued = case.evidence, case.evidence.enqueued_at
    if queued is None or case.now < queued + ORPHAN_GRACE:
        when = f" Ask again after {moment(queued + ORPHAN_GRACE, case.zone)}." if queued else ""
        return Decision(Action.WAIT, "just_queued", f"A worker may be taking it at this very moment.{when}")
    if evidence.never_began:
        sentence = "Nothing of it ran, and no worker will find it, unless one has just taken it: look twice."
        return Decision(Action.ENQUEUE, "never_started", sentence, "never entered the function, any type", asks=True)
    rule = f"lost, declared {case.promise.idempotency.value}"
    if case.promise.idempotency is Idempotency.REPEATABLE:
        sentence = "Its type is declared repeatable: running it again does no harm. Its last result is unknown."
        return Decision(Action.ENQUEUE, "repeatable", sentence, rule, asks=True)
    sentence = "It began before it was lost: nobody knows whether it acted, and somebody has to find out first."
    return Decision(Action.REVIEW, "result_unknown", sentence, rule)


def _is_unknown(case: Case) -> bool:
    return case.judgement.finding in UNKNOWN_RESULTS and not (
        case.judgement.finding is Finding.LOST and case.evidence.never_began
    )


_BEING_TAKEN = Decision(
    Action.REFUSE, "being_taken", "A worker has just taken it from its queue and is about to begin."
)

_CANCEL = {
    Finding.QUEUED: "It is taken from its queue and does not run.",
    Finding.SCHEDULED: "It is taken from the schedule and does not run.",
    Finding.RETRY_PENDING: "RQ does not run it again by itself. What its earlier run did stays done.",
    Finding.DEFERRED: "It does not run, even when the jobs that it waits for have finished.",
}

_NOT_WAITING = {
    Finding.RUNNING: "It is running, and a cancel does not end a run: “Stop” does.",
    Finding.LEASE_EXPIRED: "It counts as running, and a cancel does not end a run.",
    Finding.WORKER_GONE: "It counts as running, and a cancel does not end a run.",
    Finding.LOST: "It stands in no queue, so nothing has to be called off.",
    Finding.CANCELED: "It is cancelled already.",
}

_NO_STOP = {
    Finding.LEASE_EXPIRED: "Its worker gives no sign of life: nobody would hear it.",
    Finding.WORKER_GONE: "Its worker is gone: nobody would hear it.",
}

_ENQUEUE = {Finding.SCHEDULED: _scheduled, Finding.RETRY_PENDING: _retry_pending, Finding.LOST: _lost}
