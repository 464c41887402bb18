"""What the evidence says of a job's last run, in one word and one sentence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from jobs.domain.evidence import Evidence
from jobs.domain.failures import Failure, Reach, read_failure

KILL_GRACE = timedelta(seconds=60)
"""RQ's worker kills a run this long after its time limit."""
MARGIN = timedelta(seconds=30)
"""For clocks that differ: `dead_after` = start + time limit + KILL_GRACE + MARGIN (protocol, Choices)."""
LONGEST_LIMIT_SECONDS = 10 * 365 * 86_400
"""A longer time limit is as good as none."""


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


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """A finding with its reason. `is_dead`: the old run can no longer act; `dead_after`: when that will be so."""

    finding: Finding
    sentence: str
    is_dead: bool = True
    dead_after: datetime | None = None


def judge(evidence: Evidence, now: datetime) -> Judgement:
    """The finding for this evidence. Total: every combination has an answer, and doubt reads as unknown."""
    if not evidence.exists:
        return Judgement(finding=Finding.GONE, sentence="Its data is gone from Redis; only its id is still listed.")
    judgement_of: Judge = _BY_STATUS.get(evidence.status or "", _unrecognised)
    judged = judgement_of(evidence, now)
    if judged.is_dead and _has_live_lease(evidence, now) and judged.finding is not Finding.RUNNING:
        return Judgement(
            finding=judged.finding,
            sentence=f"{judged.sentence} A run of it still holds a lease.",
            is_dead=False,
            dead_after=evidence.lease_until,
        )
    return judged


def _failed(evidence: Evidence, now: datetime) -> Judgement:
    if _succeeded_in_last_run(evidence):
        return Judgement(
            finding=Finding.DONE_BUT_MARKED_FAILED,
            sentence="It finished: RQ recorded its success, and filed it as failed all the same.",
        )
    if evidence.newest_kind == "max_retries_exceeded":
        return Judgement(
            finding=Finding.FAILED_KNOWN,
            sentence="It failed: the function returned and asked to be run again, but its retries are used up.",
        )
    failure = read_failure(evidence.newest_text)
    if failure.reach is Reach.UNKNOWN:
        return _unknown(Finding.RESULT_UNKNOWN, evidence, now, failure)
    return Judgement(finding=_BY_REACH[failure.reach], sentence=_FAILED_SENTENCES[failure.reach].format(failure.cause))


def _stopped(evidence: Evidence, now: datetime) -> Judgement:
    return _unknown(Finding.STOPPED, evidence, now, Failure(Reach.UNKNOWN, "somebody stopped it while it ran"))


def _unknown(finding: Finding, evidence: Evidence, now: datetime, failure: Failure) -> Judgement:
    sentence = f"Nobody knows whether it took effect: {failure.cause}."
    dead_after = _dead_after(evidence)
    is_dead = failure.is_dead or (dead_after is not None and now > dead_after)
    return Judgement(finding=finding, sentence=sentence, is_dead=is_dead, dead_after=None if is_dead else dead_after)


def _started(evidence: Evidence, now: datetime) -> Judgement:
    if _has_live_lease(evidence, now):
        return Judgement(
            finding=Finding.RUNNING, sentence="It is running.", is_dead=False, dead_after=_dead_after(evidence)
        )
    cause = "its lease ran out and RQ has not noticed yet" if evidence.lease_until else "no run of it is on record"
    return _unknown(Finding.LEASE_EXPIRED, evidence, now, Failure(Reach.UNKNOWN, cause, is_dead=False))


def _queued(evidence: Evidence, now: datetime) -> Judgement:
    if evidence.queued_times == 0 and not evidence.in_intermediate:
        return Judgement(
            finding=Finding.LOST,
            sentence="It says that it is queued, but stands in no queue: no worker will ever find it.",
        )
    times = evidence.queued_times or 1
    sentence = (
        "It waits in its queue." if times == 1 else f"It stands in its queue {times} times, so it will run again."
    )
    return Judgement(finding=Finding.QUEUED, sentence=sentence)


def _scheduled(evidence: Evidence, now: datetime) -> Judgement:
    if evidence.started_at is not None:
        return Judgement(finding=Finding.RETRY_PENDING, sentence="It ran before, and RQ will run it again by itself.")
    return Judgement(finding=Finding.SCHEDULED, sentence="It is scheduled for later.")


def _plain(finding: Finding, sentence: str) -> Judgement:
    return Judgement(finding=finding, sentence=sentence)


def _unrecognised(evidence: Evidence, now: datetime) -> Judgement:
    if evidence.status is None:
        return _plain(Finding.UNRECOGNISED, "Most of its data is gone from Redis, its state with it.")
    return Judgement(
        finding=Finding.UNRECOGNISED,
        sentence=f"RQ gives it the state “{evidence.status[:40]}”, which opsboard does not know.",
        is_dead=False,
    )


def _succeeded_in_last_run(evidence: Evidence) -> bool:
    """A success recorded since the last start: that run came to its end, whatever was filed afterwards."""
    if evidence.succeeded_at is None:
        return False
    if evidence.newest_kind == "successful" or evidence.started_at is None:
        return True
    return evidence.succeeded_at >= evidence.started_at


def _has_live_lease(evidence: Evidence, now: datetime) -> bool:
    return evidence.lease_until is not None and evidence.lease_until >= now


def _dead_after(evidence: Evidence) -> datetime | None:
    """When a run that nobody saw ending can no longer act; None for one without a time limit or a known start."""
    limit = evidence.timeout_seconds
    if evidence.started_at is None or limit is None or not 0 < limit <= LONGEST_LIMIT_SECONDS:
        return None
    return evidence.started_at + timedelta(seconds=limit) + KILL_GRACE + MARGIN


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

Judge = Callable[[Evidence, datetime], Judgement]

_BY_STATUS: dict[str, Judge] = {
    "failed": _failed,
    "stopped": _stopped,
    "started": _started,
    "queued": _queued,
    "scheduled": _scheduled,
    "created": lambda evidence, now: _plain(Finding.CREATED, "It was created and never put on a queue."),
    "deferred": lambda evidence, now: _plain(Finding.DEFERRED, "It waits for other jobs to finish."),
    "canceled": lambda evidence, now: _plain(Finding.CANCELED, "It was cancelled and will not run."),
    "finished": lambda evidence, now: _plain(Finding.FINISHED, "It finished."),
    "rate_limited": lambda evidence, now: _plain(Finding.QUEUED, "It waits for a free place under its rate limit."),
    "ready_to_enqueue": lambda evidence, now: _plain(Finding.QUEUED, "It is about to be put on its queue."),
}
