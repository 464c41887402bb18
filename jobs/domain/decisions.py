"""May this job be run again? A pure answer with its reason; nothing is done here (protocol, plain-job table)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from enum import StrEnum

from jobs.domain.evidence import Evidence
from jobs.domain.findings import UNKNOWN_RESULTS, Finding, Judgement
from jobs.domain.idempotency import Idempotency
from jobs.domain.times import moment

RETRYABLE_STATUSES = frozenset({"failed", "stopped"})


class Action(StrEnum):
    """What follows from a decision."""

    RETRY = "retry"
    DELETE = "delete"
    SKIP_DUPLICATE = "skip_duplicate"
    WAIT = "wait"
    REVIEW = "review"
    REFUSE = "refuse"


@dataclass(frozen=True)
class Decision:
    """An answer: what to do, the code of the rule that said so, and its reason as one sentence."""

    action: Action
    code: str
    sentence: str

    @property
    def allows_act(self) -> bool:
        return self.action in (Action.RETRY, Action.DELETE)


def decide_retry(evidence: Evidence, judgement: Judgement, idempotency: Idempotency, *, zone: tzinfo = UTC) -> Decision:
    """Whether the job may be put back on its queue now. First matching rule wins; doubt is never a yes.

    A time in the sentence is said in `zone`.
    """
    return _standing_in_the_way(evidence, judgement) or _by_promise(judgement, idempotency, zone)


def decide_delete(evidence: Evidence, judgement: Judgement) -> Decision:
    """Whether the job may be deleted now: only a failed one that no run can still be busy with."""
    if objection := _not_a_resting_failure(evidence, judgement):
        return objection
    if evidence.lease_until is not None and not judgement.is_dead:
        return Decision(Action.REFUSE, "in_progress", "A run of it may still be going on, and would bring it back.")
    return Decision(Action.DELETE, "delete", "It is deleted from Redis for good, with its results.")


def _standing_in_the_way(evidence: Evidence, judgement: Judgement) -> Decision | None:
    """Reasons against a retry that hold whatever the job type promises."""
    if judgement.finding is Finding.DONE_BUT_MARKED_FAILED:
        return Decision(
            Action.SKIP_DUPLICATE, "already_completed", "It finished: running it again would do its work twice."
        )
    if objection := _not_a_resting_failure(evidence, judgement):
        return objection
    if not evidence.is_readable:
        return Decision(
            Action.REFUSE, "unreadable", "Its stored call can't be read, so nothing says what would run or how safely."
        )
    return None


def _not_a_resting_failure(evidence: Evidence, judgement: Judgement) -> Decision | None:
    """The job is not failed, or not only that: something else already has it, or may have it soon."""
    if judgement.finding is Finding.GONE:
        return Decision(Action.REFUSE, "data_gone", "Its data is gone from Redis: there is nothing left to act on.")
    if evidence.status not in RETRYABLE_STATUSES:
        return Decision(Action.REFUSE, *_BY_FINDING.get(judgement.finding, _NOT_FAILED))
    if evidence.queued_times:
        return Decision(Action.REFUSE, "already_queued", "It already stands in its queue and will run.")
    if "failed" not in evidence.listed_in:
        return Decision(
            Action.REFUSE, "not_listed", "It is not among its queue's failed jobs: somebody may be moving it now."
        )
    if evidence.is_rate_limited:
        return Decision(
            Action.REFUSE, "rate_limited", "It runs under a rate limit, which only RQ itself can give it back."
        )
    return None


def _by_promise(judgement: Judgement, idempotency: Idempotency, zone: tzinfo) -> Decision:
    if idempotency is not Idempotency.REPEATABLE:
        return Decision(Action.REFUSE, *_PROMISES[idempotency])
    if not judgement.is_dead:
        return Decision(Action.WAIT, "may_still_run", _still_running(judgement.dead_after, zone))
    code = "never_started" if judgement.finding is Finding.NEVER_STARTED else "repeatable"
    doubt = " Its last result is unknown." if judgement.finding in UNKNOWN_RESULTS else ""
    return Decision(Action.RETRY, code, f"Its type is declared repeatable: running it again does no harm.{doubt}")


def _still_running(dead_after: datetime | None, zone: tzinfo) -> str:
    if dead_after is None:
        return "Its last run may still be going on: it has no time limit, and nothing proves that it ended."
    return f"Its last run may still be going on, at the latest until {moment(dead_after, zone)}."


_NOT_FAILED = ("not_failed", "It is not a failed job.")

_BY_FINDING = {
    Finding.QUEUED: ("already_queued", "It is already queued and will run."),
    Finding.LOST: ("not_failed", "It is not failed but lost from its queue; retry does not place it there."),
    Finding.RUNNING: ("in_progress", "It is running now."),
    Finding.LEASE_EXPIRED: ("in_progress", "It counts as running until RQ gives it up; it may still be at work."),
    Finding.RETRY_PENDING: ("retry_pending", "RQ will run it again by itself at its due time."),
    Finding.SCHEDULED: ("scheduled", "It is scheduled and has not failed."),
    Finding.DEFERRED: ("deferred", "It waits for other jobs and has not failed."),
    Finding.CANCELED: ("canceled", "It was cancelled; nothing failed that could be tried again."),
    Finding.FINISHED: ("already_finished", "It already finished; running it again would do its work twice."),
    Finding.CREATED: ("not_failed", "It was never put on a queue, so it cannot have failed."),
}

_PROMISES = {
    Idempotency.UNDECLARED: (
        "undeclared",
        "Nobody has declared whether this job type may be run twice, so it counts as unsafe.",
    ),
    Idempotency.UNSAFE: ("unsafe", "Its type is declared unsafe: running it again may act a second time."),
    Idempotency.KEYED: (
        "keyed_unchecked",
        "Its type is only safe while the other side remembers its key, which is not checked here yet.",
    ),
    Idempotency.CHECKABLE: (
        "checkable_unchecked",
        "Its type is only safe after the other side has been asked what happened.",
    ),
}
