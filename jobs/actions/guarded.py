"""The one path of every act on a job: right → evidence → decision → record → script → record."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.utils import timezone

from jobs import ledger
from jobs.actions.outcomes import CHANGED, DONE, NOT_KNOWN_YET, REFUSED, SENTENCES, UNKNOWN, Outcome
from jobs.broker import commands
from jobs.broker.commands import OutcomeUnknown, Target
from jobs.broker.details import read_job
from jobs.broker.errors import BrokerUnavailable
from jobs.broker.records import JobDetail
from jobs.domain.decisions import Decision
from jobs.judging import function_path
from jobs.models import Queue
from jobs.permissions import Permission, require

DEADLINE = timedelta(seconds=3)
"""How long after asking a script may still act, by the store's clock: a little over the client's read time-out."""


class JobNotFound(Http404):
    """This queue has no such job, or not one that this person may see."""


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What one person wants done with one job, as it was *seen* (JobDetail.seen)."""

    actor: User
    queue: Queue
    job_id: str
    seen: str
    reason: str = ""
    now: datetime


@dataclass(frozen=True, kw_only=True)
class Act:
    """A kind of act: the right it needs, the rule that decides it, the script that does it, the sentence of success."""

    verb: str
    permission: Permission
    decide: Callable[[JobDetail, datetime], Decision]
    run: Callable[[Target, JobDetail], str]
    done: str


def carry_out(act: Act, wish: Wish) -> Outcome:
    """Carry out one act and record it, whatever comes of it.

    Raises QueueNotVisible and JobNotFound (404), PermissionDenied, and BrokerUnavailable when nothing was attempted;
    each of these is on record too.
    """
    _require_right(act, wish)
    detail = _read(act, wish)
    decision = act.decide(detail, wish.now)
    if detail.seen != wish.seen:
        return _refuse(act, wish, detail, "changed", SENTENCES["changed"][1])
    if not decision.allows_act:
        return _refuse(act, wish, detail, decision.code, decision.sentence)
    return _attempt(act, wish, detail, decision)


def _require_right(act: Act, wish: Wish) -> None:
    try:
        require(wish.actor, act.permission, wish.queue)
    except (PermissionDenied, Http404):
        ledger.record_refusal(**_about(act, wish), outcome="No right to do this.")
        raise


def _read(act: Act, wish: Wish) -> JobDetail:
    with _silence_on_record(act, wish):
        detail = read_job(wish.queue.connection, wish.queue.name, wish.job_id, now=wish.now)
    if detail is None:
        ledger.record_refusal(**_about(act, wish), outcome="Not done: there is no such job.")
        raise JobNotFound
    return detail


def _refuse(act: Act, wish: Wish, detail: JobDetail, code: str, sentence: str) -> Outcome:
    entry = ledger.record_refusal(**_about(act, wish, detail), decision_code=code, outcome=sentence)
    return Outcome(CHANGED if code == "changed" else REFUSED, sentence, entry)


def _attempt(act: Act, wish: Wish, detail: JobDetail, decision: Decision) -> Outcome:
    with _silence_on_record(act, wish, detail):
        deadline = commands.server_time(wish.queue.connection) + DEADLINE
    entry = ledger.open_entry(**_about(act, wish, detail), decision_code=decision.code, deadline_at=deadline)
    target = Target(
        connection=wish.queue.connection,
        queue=wish.queue.name,
        job_id=wish.job_id,
        seen=wish.seen,
        deadline=deadline,
        audit_id=str(entry.id),
    )
    try:
        answer = act.run(target, detail)
    except OutcomeUnknown:
        # Left open: the mark in Redis settles it later.
        return Outcome(UNKNOWN, NOT_KNOWN_YET, entry)
    status, sentence = (DONE, act.done) if answer == "done" else SENTENCES[answer]
    ledger.close_entry(entry, status=status, outcome=sentence, now=timezone.now())
    return Outcome(status, sentence, entry)


@contextmanager
def _silence_on_record(act: Act, wish: Wish, detail: JobDetail | None = None) -> Iterator[None]:
    """A store that gives no answer before anything was attempted: nothing was done, and that is recorded too."""
    try:
        yield
    except BrokerUnavailable as error:
        ledger.record_refusal(**_about(act, wish, detail), outcome=f"Not done: {error}")
        raise


def _about(act: Act, wish: Wish, detail: JobDetail | None = None) -> dict[str, Any]:
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
        "now": wish.now,
    }
