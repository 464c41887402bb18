"""May this job be run again? A pure answer with its reason; nothing is done here (protocol, table for plain jobs)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, tzinfo
from enum import StrEnum
from textwrap import shorten
from typing import TYPE_CHECKING

from jobs.domain.evidence import Evidence
from jobs.domain.findings import LONGEST_LIMIT_SECONDS, UNKNOWN_RESULTS, Finding, Judgement
from jobs.domain.idempotency import Idempotency, Promise
from jobs.domain.standing import Standing
from jobs.domain.times import moment

if TYPE_CHECKING:
    from jobs.domain.layered import Layered

RETRYABLE_STATUSES = frozenset({"failed", "stopped"})
LONGEST_REASON = 200
"""Characters of a person's reason that are quoted in a sentence; the record has it whole."""


class Action(StrEnum):
    """What follows from a decision; the first six are acts in Redis that may be carried out, the next one is in SQL.

    The last two are about operations only (protocol, 2): to ask the other side, and to close as failed.
    """

    RETRY = "retry"
    DELETE = "delete"
    CANCEL = "cancel"
    STOP = "stop"
    ENQUEUE = "enqueue"
    REMOVE = "remove"
    RECORD = "record"
    SKIP_DUPLICATE = "skip_duplicate"
    WAIT = "wait"
    REVIEW = "review"
    REFUSE = "refuse"
    PROBE = "probe"
    FAIL = "fail"


_ROW = re.compile(r"R\d+")
_ACTS = frozenset({Action.RETRY, Action.DELETE, Action.CANCEL, Action.STOP, Action.ENQUEUE, Action.REMOVE})


@dataclass(frozen=True, kw_only=True)
class Case:
    """One job at one moment, as every decision about it is taken: evidence, finding, promise, what was said of it.

    Times read in `zone`. `has_later_run`: asked about is a run after which the job was queued or begun again; then the
    evidence, and all of the judgement but whether the old run may still act, is of the later one.
    `layered`: the operation that the job delivers; None for a plain job.
    """

    evidence: Evidence
    judgement: Judgement
    promise: Promise = field(default_factory=Promise)
    standing: Standing = field(default_factory=Standing)
    now: datetime
    zone: tzinfo = UTC
    has_later_run: bool = False
    layered: Layered | None = None


@dataclass(frozen=True)
class Decision:
    """An answer: what to do, the code of the rule that said so, and its reason as one sentence.

    `rule`: the row of the table that answered, in words, of an operation its number ("R9"); '' for what stands in the
    way of every job alike. `asks`: the act wants a person's confirmation on a page of its own.
    `not_before`: from when on asking again, or acting, makes sense; None when that is now or nobody can say.
    """

    action: Action
    code: str
    sentence: str
    rule: str = ""
    asks: bool = False
    not_before: datetime | None = None

    @property
    def allows_act(self) -> bool:
        return self.action in _ACTS

    @property
    def wants_review(self) -> bool:
        return self.action is Action.REVIEW

    @property
    def mark(self) -> str:
        """As a page names it: of an operation with its row, as in “R21: same_key”."""
        return f"{self.rule}: {self.code}" if _ROW.fullmatch(self.rule) else self.code


def decide_retry(case: Case) -> Decision:
    """Whether the job may be put back on its queue now. First matching rule wins; doubt is never a yes."""
    return _standing_in_the_way(case) or unless_it_may_still_run(case, _saying_what_was_skipped(case, _by_table(case)))


def objection_to_any_act(evidence: Evidence) -> Decision | None:
    """What keeps opsboard from touching a job at all, whatever the act."""
    if evidence.is_confusable:
        return Decision(
            Action.REFUSE,
            "confusable_name",
            "RQ would take its id or its queue for something else (a colon inside), so no act on it is exact.",
        )
    if not evidence.exists or evidence.status is None:
        return Decision(Action.REFUSE, "data_gone", "Its data is gone from Redis: there is nothing left to act on.")
    if evidence.is_rate_limited or evidence.status in ("rate_limited", "ready_to_enqueue"):
        return Decision(
            Action.REFUSE, "rate_limited", "It runs under a rate limit, whose places only RQ itself can count."
        )
    return None


def objection_by_standing(case: Case) -> Decision | None:
    """What was said of the job in a review, or has still to be said there (protocol, R4 to R6)."""
    standing = case.standing
    if standing.has_happened:
        sentence = f"It took effect: running it again would do its work twice.{_who_said_so(case)}"
        return Decision(Action.SKIP_DUPLICATE, "already_completed", sentence, "operation completed")
    if standing.is_abandoned:
        sentence = f"Its review was given up: it may have taken effect, and is not run again.{_who_said_so(case)}"
        return Decision(Action.REFUSE, "closed", sentence, "operation abandoned")
    if standing.has_open_review:
        sentence = "Its review is open: a person must first say there whether its last run took effect."
        return Decision(Action.REFUSE, "review_open", sentence, "review open")
    return None


def _who_said_so(case: Case) -> str:
    standing = case.standing
    if standing.said_at is None:
        return ""
    reason = shorten(standing.reason, LONGEST_REASON, placeholder="…").rstrip(".")
    because = f": “{reason}”" if reason else ""
    return f" {standing.said_by or 'Late evidence'} said so at {moment(standing.said_at, case.zone)}{because}."


def objection_to_unlisted(evidence: Evidence) -> Decision | None:
    """A job that its own list does not hold: RQ or somebody else has it between two steps, or lost it there."""
    wanted = "failed" if evidence.status in RETRYABLE_STATUSES else evidence.status
    if wanted not in ("failed", "scheduled", "deferred", "canceled") or wanted in evidence.listed_in:
        return None
    return Decision(
        Action.REFUSE,
        "not_listed",
        f"It is not among its queue's {wanted} jobs: somebody may be moving it now, or it was lost in between.",
    )


def unless_it_may_still_run(case: Case, decision: Decision) -> Decision:
    """The decision; but a yes has to wait until the old run is proved dead."""
    if not decision.allows_act or case.judgement.is_dead:
        return decision
    return Decision(Action.WAIT, "may_still_run", _still_running(case), decision.rule)


def _standing_in_the_way(case: Case) -> Decision | None:
    """Reasons against a retry that hold whatever the job type promises."""
    evidence, finding = case.evidence, case.judgement.finding
    if objection := objection_to_any_act(evidence):
        return objection
    if finding is Finding.DONE_BUT_MARKED_FAILED:
        return Decision(
            Action.SKIP_DUPLICATE,
            "already_completed",
            "It finished: running it again would do its work twice.",
            "done but marked failed, any type",
        )
    if objection := objection_by_standing(case) or objection_to_resting(evidence, finding):
        return objection
    if not evidence.is_readable:
        return Decision(
            Action.REFUSE,
            "unreadable",
            "Its stored call can't be read, so nothing says what would run or how safely.",
            "payload unreadable, any type",
        )
    return None


def objection_to_resting(evidence: Evidence, finding: Finding) -> Decision | None:
    """What keeps a job from being put back: it is not failed, or something else has it already, or may have it soon."""
    if evidence.status not in RETRYABLE_STATUSES:
        # A cancelled job whose run was lost is of unknown result, and still a cancelled one.
        where = Finding.CANCELED if evidence.status == "canceled" else finding
        return Decision(Action.REFUSE, *_BY_FINDING.get(where, ("not_failed", "It is not a failed job.")))
    if evidence.queued_times or evidence.in_intermediate:
        return Decision(Action.REFUSE, "already_queued", "It already stands in its queue and will run.")
    if "scheduled" in evidence.listed_in:
        return Decision(Action.REFUSE, "already_scheduled", "It also stands in the schedule, and will run from there.")
    return objection_to_unlisted(evidence)


def _saying_what_was_skipped(case: Case, decision: Decision) -> Decision:
    """Looking through a very long queue would hold Redis too long (design, chapter 4)."""
    if case.evidence.queued_times is not None:
        return decision
    return replace(decision, sentence=f"{decision.sentence} Its queue is too long to look whether it stands there too.")


def _by_table(case: Case) -> Decision:
    """The table for plain jobs (protocol, Choices), row by row."""
    finding, promise = case.judgement.finding, case.promise.idempotency
    if finding is Finding.NEVER_STARTED and not case.evidence.earlier_runs_may_have_acted:
        return Decision(Action.RETRY, "never_started", _NEVER_STARTED, "never entered the function, any type")
    is_known = finding in (Finding.FAILED_KNOWN, Finding.NEVER_STARTED)
    rule = f"{'failed with a known error' if is_known else 'result unknown'}, declared {promise.value}"
    if promise is Idempotency.REPEATABLE:
        doubt = " Its last result is unknown." if finding in UNKNOWN_RESULTS else ""
        sentence = f"Its type is declared repeatable: running it again does no harm.{doubt}"
        return Decision(Action.RETRY, "repeatable", sentence, rule)
    if is_known and promise is Idempotency.KEYED:
        return _by_key(case, rule)
    code = "may_have_acted" if is_known else "result_unknown"
    return Decision(Action.REVIEW, code, f"{_REPEATING[promise]} {_FIND_OUT[is_known]}", rule)


def _by_key(case: Case, rule: str) -> Decision:
    """A retry is safe as long as it ends before the other side forgets the key of the first run."""
    first, kept_for, limit = case.evidence.first_started_at, case.promise.remembered_for, case.evidence.timeout_seconds
    if first is None or kept_for is None or limit is None or not 0 < limit <= LONGEST_LIMIT_SECONDS:
        return Decision(Action.REVIEW, "may_have_acted", f"{_KEY_NOT_KNOWN} {_FIND_OUT[True]}", rule)
    forgotten_at = first + kept_for
    until = moment(forgotten_at, case.zone)
    if case.now + timedelta(seconds=limit) >= forgotten_at:
        sentence = f"The other side recognises a repeat only until {until}, which a retry might not keep to."
        return Decision(Action.REVIEW, "key_expired", f"{sentence} {_FIND_OUT[True]}", rule)
    sentence = f"The other side recognises a repeat until {until}: within that time running it again does no harm."
    return Decision(Action.RETRY, "same_key", sentence, rule, asks=True)


def _still_running(case: Case) -> str:
    dead_after = case.judgement.dead_after
    if dead_after is None:
        return "Its last run may still be going on: it has no time limit, and nothing proves that it ended."
    return f"Its last run may still be going on, at the latest until {moment(dead_after, case.zone)}."


_NEVER_STARTED = (
    "Its function was never entered, so it did nothing that could happen twice. It will fail the same way again until "
    "what kept it from beginning is mended."
)

_BY_FINDING = {
    Finding.QUEUED: ("already_queued", "It is already queued and will run."),
    Finding.LOST: ("not_failed", "It is not failed but lost from its queue: “Enqueue now” is the act for that."),
    Finding.RUNNING: ("in_progress", "It is running now."),
    Finding.LEASE_EXPIRED: ("in_progress", "It counts as running until RQ gives it up; it may still be at work."),
    Finding.WORKER_GONE: ("in_progress", "It counts as running until RQ gives it up; it may still be at work."),
    Finding.RETRY_PENDING: ("retry_pending", "RQ will run it again by itself at its due time."),
    Finding.SCHEDULED: ("scheduled", "It is scheduled and has not failed."),
    Finding.DEFERRED: ("deferred", "It waits for other jobs and has not failed."),
    Finding.CANCELED: ("canceled", "It was cancelled; nothing failed that could be tried again."),
    Finding.FINISHED: ("already_finished", "It already finished; running it again would do its work twice."),
    Finding.CREATED: ("not_failed", "It was never put on a queue, so it cannot have failed."),
}

_REPEATING = {
    Idempotency.UNDECLARED: "Nobody has declared whether this job type may be run twice, so it counts as unsafe.",
    Idempotency.UNSAFE: "Its type is declared unsafe: running it again may act a second time.",
    Idempotency.KEYED: "The other side would recognise a repeat only if it took the first run's key.",
    Idempotency.CHECKABLE: "Its type is only safe after the other side has been asked what happened.",
}

_FIND_OUT = {
    True: "Its last run may have acted before it failed: somebody has to find out first.",
    False: "Nobody knows whether its last run acted: somebody has to find out first.",
}
"""Why a review is wanted, by whether the error is known."""

_KEY_NOT_KNOWN = "How long the other side recognises a repeat of this job can't be told."
