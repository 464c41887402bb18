"""The one path of every act on a job: right → evidence → decision → record → script → record."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.utils import timezone

from jobs import ledger
from jobs.actions.outcomes import (
    CHANGED,
    DONE,
    NOT_KNOWN_YET,
    REFUSED,
    SENTENCES,
    UNCONFIRMED,
    UNKNOWN,
    Outcome,
)
from jobs.actions.rivals import rival_sentence
from jobs.broker import commands, running
from jobs.broker.commands import OutcomeUnknown, Target
from jobs.broker.details import read_job
from jobs.broker.errors import BrokerUnavailable
from jobs.broker.records import JobDetail
from jobs.domain.decisions import Case, Decision
from jobs.domain.operations import AskedBy
from jobs.judging import (
    case_of,
    declared_type,
    function_path,
    layered_of,
    operation_of,
    question_of,
    standing_of,
    word_to_type,
)
from jobs.ledger import operator_acts, reviews
from jobs.ledger.database import same_transaction, wait_for_writers
from jobs.models import AuditEntry, Operation, Queue
from jobs.permissions import Permission, require

DEADLINE = timedelta(seconds=3)
"""How long after asking a script may still act, by the store's clock: a little over the client's read time-out."""


class JobNotFound(Http404):
    """This queue has no such job, or not one that this person may see."""


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What one person wants done with one job, as it was *seen* (JobDetail.seen).

    `confirmed`: the code of the decision that the person has confirmed; `typed`: the word that a delete wants typed.
    `batch`: the press on ticked rows that this is part of; how many they are was confirmed for all of them.
    """

    actor: User
    queue: Queue
    job_id: str
    seen: str
    reason: str = ""
    confirmed: str = ""
    typed: str = ""
    batch: UUID | None = None
    now: datetime


Run = Callable[[Target, JobDetail, Wish], str]
"""What runs the act's script; returns its answer."""
Layered = Callable[["Act", Wish, JobDetail, Operation, Decision], Outcome]
"""What carries an act out on an operation and on this job of it."""


@dataclass(frozen=True, kw_only=True)
class Act:
    """A kind of act: the right it needs, the rule that decides it, the script that does it, the sentence of success.

    `layered`: how it is carried out on a job that delivers an operation, where that moves the operation too.
    """

    verb: str
    permission: Permission
    decide: Callable[[Case], Decision]
    run: Run
    done: str
    """With {job_id} and {queue}."""
    layered: Layered | None = None


def carry_out(act: Act, wish: Wish) -> Outcome:
    """Carry out one act and record it, whatever comes of it.

    Raises QueueNotVisible and JobNotFound (404), PermissionDenied, and BrokerUnavailable when nothing was attempted;
    each of these is on record too.
    """
    _require_right(act, wish)
    detail, at = _read(act, wish)
    operation = _operation_of(act, detail)
    case = case_of(
        detail,
        at,
        declared=declared_type(detail.job.call),
        standing=standing_of(detail),
        layered=layered_of(operation, wish.job_id, asked_by=asked_by(wish)) if operation else None,
    )
    decision = act.decide(case)
    if detail.seen != wish.seen:
        return refuse(act, wish, detail, "changed", _overtaken(wish, detail))
    if decision.wants_review:
        return _send_to_review(act, wish, detail, case, decision)
    if not decision.allows_act:
        return refuse(act, wish, detail, decision.code, decision.sentence)
    if decision.asks and not _is_confirmed(act, wish, detail, decision):
        return refuse(act, wish, detail, "unconfirmed", UNCONFIRMED)
    if operation is not None and act.layered is not None:
        return act.layered(act, wish, detail, operation, decision)
    return _attempt(act, wish, detail, decision)


def asked_by(wish: Wish) -> AskedBy:
    """Who wants it, as the table of operations tells people apart."""
    return AskedBy.BULK if wish.batch else AskedBy.OPERATOR


def _operation_of(act: Act, detail: JobDetail) -> Operation | None:
    """The operation that the job delivers; for an act that runs it again without an attempt whose time is over."""
    operation = operation_of(detail)
    runs_again = act.permission is Permission.RETRY_JOB
    return operator_acts.free_if_over(operation) if operation and runs_again else operation


def _overtaken(wish: Wish, detail: JobDetail) -> str:
    """What to tell somebody whose job is not the one that was seen: who was faster, or else what became of it."""
    answer = "changed" if detail.job.exists else "gone"
    return rival_sentence(wish.queue, wish.job_id, wish.now, seen=wish.seen, otherwise=SENTENCES[answer][1])


def _is_confirmed(act: Act, wish: Wish, detail: JobDetail, decision: Decision) -> bool:
    """Whether the person said yes to this very answer, and for a delete typed what is deleted."""
    has_typed = act.verb != "delete_job" or wish.batch is not None or wish.typed == word_to_type(detail.job.call)
    return wish.confirmed == decision.code and has_typed


def _require_right(act: Act, wish: Wish) -> None:
    try:
        require(wish.actor, act.permission, wish.queue)
    except (PermissionDenied, Http404):
        ledger.record_refusal(**about(act, wish), outcome="No right to do this.")
        raise


def _read(act: Act, wish: Wish) -> tuple[JobDetail, datetime]:
    """The evidence, and the store's own time before it was read: our clock may run ahead and prove a run dead early."""
    with silence_on_record(act, wish):
        at = running.store_time(wish.queue.connection)
        detail = read_job(wish.queue.connection, wish.queue.name, wish.job_id, now=at)
    if detail is None:
        ledger.record_refusal(**about(act, wish), decision_code="gone", outcome="Not done: there is no such job.")
        raise JobNotFound
    return detail, at


def refuse(act: Act, wish: Wish, detail: JobDetail, code: str, sentence: str) -> Outcome:
    status = CHANGED if code == "changed" else REFUSED
    entry = ledger.record_refusal(**about(act, wish, detail), status=status, decision_code=code, outcome=sentence)
    return Outcome(status, sentence, entry)


def _send_to_review(act: Act, wish: Wish, detail: JobDetail, case: Case, decision: Decision) -> Outcome:
    """Nothing is done; somebody has to find out first, and the question is put on record with the refusal."""
    if case.layered is not None:
        return _ask_about_effect(act, wish, detail)
    with same_transaction():
        question = question_of(detail, case, decision.code)
        review, is_new = reviews.open_review(question, now=wish.now, opened_by=wish.actor)
        opened = "A review was opened for it." if is_new else "There is a review of it."
        outcome = refuse(act, wish, detail, decision.code, f"{decision.sentence} {opened}")
    return replace(outcome, review=review)


def _ask_about_effect(act: Act, wish: Wish, detail: JobDetail) -> Outcome:
    operation = operation_of(detail)
    asked = operation and operator_acts.ask_first(operation, asked_by=asked_by(wish), **about(act, wish, detail))
    if not asked:
        return refuse(act, wish, detail, "changed", SENTENCES["changed"][1])
    entry, review = asked
    return Outcome(REFUSED, entry.outcome, entry, review=review)


def _attempt(act: Act, wish: Wish, detail: JobDetail, decision: Decision) -> Outcome:
    with silence_on_record(act, wish, detail):
        deadline = deadline_of(wish)
    entry = ledger.open_entry(**about(act, wish, detail), decision_code=decision.code, deadline_at=deadline)
    return perform(act, wish, detail, entry, deadline)


def deadline_of(wish: Wish) -> datetime:
    """Until when the act's script may act, by the store's clock. Raises BrokerUnavailable."""
    # The intent is written next: one that had to wait for another writer would use up the script's time.
    wait_for_writers()
    return commands.server_time(wish.queue.connection) + DEADLINE


def perform(act: Act, wish: Wish, detail: JobDetail, entry: AuditEntry, deadline: datetime) -> Outcome:
    """Run the act's script for an intent that is on record and committed, and close the record with what happened."""
    target = Target(
        connection=wish.queue.connection,
        queue=wish.queue.name,
        job_id=wish.job_id,
        seen=wish.seen,
        deadline=deadline,
        audit_id=str(entry.id),
    )
    try:
        answer = act.run(target, detail, wish)
    except OutcomeUnknown:
        # Left open: the mark in Redis settles it later.
        return Outcome(UNKNOWN, NOT_KNOWN_YET, entry)
    status, sentence = _ending(act, wish, entry, answer)
    if not ledger.close_entry(entry, status=status, outcome=sentence, now=timezone.now()):
        # Settled by somebody while the answer was on its way: what is on record is what is said.
        status, sentence = AuditEntry.Status(entry.status), entry.outcome
    return Outcome(status, sentence, entry)


def _ending(act: Act, wish: Wish, entry: AuditEntry, answer: str) -> tuple[AuditEntry.Status, str]:
    """How an entry is closed after the script's answer. Who lost a race is told to whom."""
    if answer == "done":
        return DONE, act.done.format(job_id=wish.job_id, queue=wish.queue.name)
    status, sentence = SENTENCES[answer]
    if status == CHANGED and answer != "already_done":
        sentence = rival_sentence(wish.queue, wish.job_id, wish.now, seen=wish.seen, but=entry, otherwise=sentence)
    return status, sentence


@contextmanager
def silence_on_record(act: Act, wish: Wish, detail: JobDetail | None = None) -> Iterator[None]:
    """A store that gives no answer before anything was attempted: nothing was done, and that is recorded too."""
    try:
        yield
    except BrokerUnavailable as error:
        ledger.record_refusal(**about(act, wish, detail), outcome=f"Not done: {error}")
        raise


def about(act: Act, wish: Wish, detail: JobDetail | None = None) -> dict[str, Any]:
    """The fields of an audit entry that are known of an act before it is decided."""
    path = function_path(detail.job.call) if detail else None
    return {
        "actor": wish.actor,
        "verb": act.verb,
        "subject": wish.job_id,
        "connection": wish.queue.connection,
        "queue": wish.queue.name,
        "job_type": path or "",
        "seen": wish.seen,
        "reason": wish.reason,
        "batch": wish.batch,
        "now": wish.now,
    }
