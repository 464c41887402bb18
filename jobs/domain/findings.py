"""What the evidence says of a job's last run, in one word and one sentence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from jobs.domain.evidence import Evidence, WorkerSign
from jobs.domain.failures import Failure, Reach, read_failure
from jobs.domain.liveness import LONGEST_LIMIT_SECONDS, dead_after, has_live_lease, is_dead_by_now
from jobs.domain.remarks import remarks

__all__ = ["LONGEST_LIMIT_SECONDS", "TELL_NOTHING", "UNKNOWN_RESULTS", "Finding", "Judgement", "judge"]


class Finding(StrEnum):
    """The state of a job as the evidence shows it; RQ's own word where RQ is right."""

    GONE = "gone"
    CREATED = "created"
    QUEUED = "queued"
    LOST = "lost"
    RUNNING = "running"
    LEASE_EXPIRED = "lease_expired"
    WORKER_GONE = "worker_gone"
    RETRY_PENDING = "retry_pending"
    SCHEDULED = "scheduled"
    DEFERRED = "deferred"
    CANCELED = "canceled"
    FINISHED = "finished"
    NEVER_STARTED = "never_started"
    FAILED_KNOWN = "failed_known"
    RESULT_UNKNOWN = "result_unknown"
    STOPPED = "stopped"
    DONE_BUT_MARKED_FAILED = "done_but_marked_failed"
    UNRECOGNISED = "unrecognised"


UNKNOWN_RESULTS = frozenset(
    {Finding.RESULT_UNKNOWN, Finding.STOPPED, Finding.LOST, Finding.LEASE_EXPIRED, Finding.WORKER_GONE}
)
"""Findings under which the effect may or may not have happened."""

TELL_NOTHING = frozenset(
    {
        *(Finding.GONE, Finding.UNRECOGNISED, Finding.CREATED, Finding.QUEUED, Finding.SCHEDULED),
        *(Finding.RETRY_PENDING, Finding.DEFERRED, Finding.CANCELED),
    }
)
"""Findings that say where the job is and prove nothing of its last run, be it that a process of it lives on."""

_OF_AN_OPEN_RUN = frozenset({Finding.RUNNING, Finding.LEASE_EXPIRED, Finding.WORKER_GONE})
"""Findings that speak of a run whose end is not on record; the others of one that ended, or of none."""


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """A finding with its reason. `is_dead`: the old run can no longer act; `dead_after`: when that will be so.

    `last_sign_of_life`: of a run whose end nobody saw, when it was last known to be at work.
    """

    finding: Finding
    sentence: str
    is_dead: bool = True
    dead_after: datetime | None = None
    last_sign_of_life: datetime | None = None


def judge(evidence: Evidence, now: datetime) -> Judgement:
    """The finding for this evidence. Total: every combination has an answer, and doubt reads as unknown."""
    judged = _by_status(evidence, now)
    if judged.is_dead and judged.finding not in _OF_AN_OPEN_RUN and _has_run_beside(evidence, now):
        judged = replace(judged, is_dead=False, dead_after=dead_after(evidence))
    return replace(
        judged,
        sentence=" ".join((judged.sentence, *remarks(evidence, now))),
        last_sign_of_life=evidence.last_sign_of_life if judged.finding in UNKNOWN_RESULTS else None,
    )


def _by_status(evidence: Evidence, now: datetime) -> Judgement:
    if not evidence.exists:
        return _plain(Finding.GONE, "Its data is gone from Redis; only its id is still listed.")
    return _BY_STATUS.get(evidence.status or "", _unrecognised)(evidence, now)


def _has_run_beside(evidence: Evidence, now: datetime) -> bool:
    """A run beside the one that the state speaks of may be at work: the state proves the end of its own run only."""
    return evidence.has_open_run and not is_dead_by_now(evidence, now)


def _failed(evidence: Evidence, now: datetime) -> Judgement:
    if _succeeded_in_last_run(evidence):
        return _plain(Finding.DONE_BUT_MARKED_FAILED, f"It finished: RQ recorded its success, {_FILED_ALL_THE_SAME}")
    if evidence.newest_kind == "max_retries_exceeded":
        return _plain(
            Finding.FAILED_KNOWN,
            "It failed: the function returned and asked to be run again, but its retries are used up.",
        )
    failure = read_failure(evidence.newest_text)
    if failure.reach is Reach.UNKNOWN:
        return _unknown(Finding.RESULT_UNKNOWN, evidence, now, failure)
    return _plain(_BY_REACH[failure.reach], _FAILED_SENTENCES[failure.reach].format(failure.cause))


def _stopped(evidence: Evidence, now: datetime) -> Judgement:
    if _succeeded_in_last_run(evidence):
        return _plain(Finding.DONE_BUT_MARKED_FAILED, "It finished just before somebody stopped it.")
    return _unknown(Finding.STOPPED, evidence, now, Failure(Reach.UNKNOWN, "somebody stopped it while it ran"))


def _finished(evidence: Evidence, now: datetime) -> Judgement:
    if "failed" in evidence.listed_in:
        return _plain(Finding.DONE_BUT_MARKED_FAILED, f"It finished, {_FILED_ALL_THE_SAME}")
    return _plain(Finding.FINISHED, "It finished.")


def _canceled(evidence: Evidence, now: datetime) -> Judgement:
    """RQ's cancel does not end a run; it only takes it from the list by which RQ itself would notice its loss."""
    if evidence.has_open_run and not has_live_lease(evidence, now) and not _has_end_on_record(evidence):
        cause = "it was cancelled while it ran, which does not end a run, and its lease ran out"
        return _unknown(Finding.RESULT_UNKNOWN, evidence, now, Failure(Reach.UNKNOWN, cause, is_dead=False))
    if evidence.has_open_run:
        return _plain(Finding.CANCELED, "It was cancelled while it ran, which does not end a run.")
    return _plain(Finding.CANCELED, "It was cancelled and will not run.")


def _started(evidence: Evidence, now: datetime) -> Judgement:
    if not has_live_lease(evidence, now):
        return _lease_expired(evidence, now)
    if evidence.worker in _WORKER_GONE:
        failure = Failure(Reach.UNKNOWN, f"{_WORKER_GONE[evidence.worker]}, and its process may live on", is_dead=False)
        return _unknown(Finding.WORKER_GONE, evidence, now, failure)
    return Judgement(finding=Finding.RUNNING, sentence="It is running.", is_dead=False, dead_after=dead_after(evidence))


def _lease_expired(evidence: Evidence, now: datetime) -> Judgement:
    cause = "its lease ran out and RQ has not noticed yet" if evidence.has_open_run else "no run of it is on record"
    if evidence.worker is WorkerSign.IDLE:
        cause = "its process ended without a word, and its worker, alive and idle, takes no notice"
    elif evidence.worker in _WORKER_GONE:
        cause = f"{_WORKER_GONE[evidence.worker]}, and {cause}"
    failure = Failure(Reach.UNKNOWN, cause, is_dead=evidence.worker is WorkerSign.IDLE)
    return _unknown(Finding.LEASE_EXPIRED, evidence, now, failure)


def _queued(evidence: Evidence, now: datetime) -> Judgement:
    if evidence.queued_times == 0:
        return _taken_from_queue(evidence, now)
    if evidence.queued_times and evidence.queued_times > 1:
        return _plain(
            Finding.QUEUED, f"It stands in its queue {evidence.queued_times} times, so it will run that often."
        )
    if evidence.queued_times is None:
        return _plain(Finding.QUEUED, "It says that it waits in its queue, which is too long to look whether it does.")
    again = " to run again" if evidence.started_at else ""
    return _plain(Finding.QUEUED, f"It waits in its queue{again}.")


def _taken_from_queue(evidence: Evidence, now: datetime) -> Judgement:
    """Queued by its hash, but not in the queue: on the way to a worker, or lost on that way."""
    if has_live_lease(evidence, now):
        return Judgement(finding=Finding.RUNNING, sentence="A worker is just beginning it.", is_dead=False)
    if evidence.in_intermediate:
        return Judgement(
            finding=Finding.QUEUED,
            sentence="A worker has taken it from its queue and not begun it yet; "
            "if that worker is gone, RQ notices within some twenty minutes.",
            is_dead=False,
        )
    began = "Nothing of it ran." if evidence.never_began else "It may have run before."
    return Judgement(
        finding=Finding.LOST,
        sentence=f"It says that it is queued, but stands in no queue: no worker will ever find it. {began}",
        is_dead=evidence.never_began or is_dead_by_now(evidence, now),
        dead_after=None if evidence.never_began else dead_after(evidence),
    )


def _scheduled(evidence: Evidence, now: datetime) -> Judgement:
    if _is_repeat(evidence):
        return _plain(Finding.SCHEDULED, "It finished, and runs again at its due time: it is a repeated job.")
    if evidence.started_at is not None:
        return _plain(Finding.RETRY_PENDING, "It ran before, and RQ will run it again by itself.")
    return _plain(Finding.SCHEDULED, "It is scheduled for later.")


def _is_repeat(evidence: Evidence) -> bool:
    """RQ's Repeat puts a job that finished back on the schedule, as its Retry does with one that failed."""
    if evidence.repeats_left is None or evidence.started_at is None:
        return False
    # Between two repeats far apart the results run out; then only a job without retries shows what it waits for.
    return _succeeded_in_last_run(evidence) or (evidence.newest_kind is None and evidence.retries_left is None)


def _unrecognised(evidence: Evidence, now: datetime) -> Judgement:
    if evidence.status is None:
        return _plain(
            Finding.UNRECOGNISED,
            "Most of its data is gone from Redis, its state with it. Often that was a job deleted while it ran.",
        )
    return Judgement(
        finding=Finding.UNRECOGNISED,
        sentence=f"RQ gives it the state “{evidence.status[:40]}”, which opsboard does not know.",
        is_dead=False,
    )


def _plain(finding: Finding, sentence: str) -> Judgement:
    return Judgement(finding=finding, sentence=sentence)


def _unknown(finding: Finding, evidence: Evidence, now: datetime, failure: Failure) -> Judgement:
    is_dead = failure.is_dead or is_dead_by_now(evidence, now)
    return Judgement(
        finding=finding,
        sentence=f"Nobody knows whether it took effect: {failure.cause}.",
        is_dead=is_dead,
        dead_after=None if is_dead else dead_after(evidence),
    )


def _succeeded_in_last_run(evidence: Evidence) -> bool:
    """A success recorded since the last start: that run came to its end, whatever was filed afterwards."""
    began = evidence.started_at or evidence.created_at
    if evidence.succeeded_at is None:
        return False
    # An id that is used again may still have the results of the job that had it before.
    return began is None or evidence.succeeded_at >= began


def _has_end_on_record(evidence: Evidence) -> bool:
    """A result that is no older than the last start: RQ recorded how that run ended."""
    return evidence.newest_at is not None and (evidence.started_at is None or evidence.newest_at >= evidence.started_at)


_FILED_ALL_THE_SAME = "and is filed as failed all the same."

_BY_REACH = {
    Reach.NEVER_ENTERED: Finding.NEVER_STARTED,
    Reach.RAISED: Finding.FAILED_KNOWN,
    Reach.RETURNED: Finding.DONE_BUT_MARKED_FAILED,
}

_FAILED_SENTENCES = {
    Reach.NEVER_ENTERED: "It never began: {}.",
    Reach.RAISED: "It failed: {}.",
    Reach.RETURNED: "It finished, though it is filed as failed: {}.",
}

_WORKER_GONE = {
    WorkerSign.DIED: "its worker has signed off",
    WorkerSign.MISSING: "its worker is gone without a word",
}

Judge = Callable[[Evidence, datetime], Judgement]

_BY_STATUS: dict[str, Judge] = {
    "failed": _failed,
    "stopped": _stopped,
    "started": _started,
    "queued": _queued,
    "scheduled": _scheduled,
    "finished": _finished,
    "created": lambda evidence, now: _plain(Finding.CREATED, "It was created and never put on a queue."),
    "deferred": lambda evidence, now: _plain(Finding.DEFERRED, "It waits for other jobs to finish."),
    "canceled": _canceled,
    "rate_limited": lambda evidence, now: _plain(Finding.QUEUED, "It waits for a free place under its rate limit."),
    "ready_to_enqueue": lambda evidence, now: _plain(Finding.QUEUED, "It is about to be put on its queue."),
}
