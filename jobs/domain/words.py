"""One word, one icon and one colour for each state, the same on every page."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Look(StrEnum):
    """The seven colours a state can have; each is a CSS class `state--<look>` and has an icon of its name."""

    FAILED = "failed"
    REVIEW = "review"
    RUNNING = "running"
    WAITING = "waiting"
    RETRYING = "retrying"
    DONE = "done"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class StateWord:
    """How a state is shown. `word` is English; templates translate it. `icon` is a drawing of static/img/icons."""

    word: str
    look: Look
    icon: str


def state_word(key: str) -> StateWord:
    """The word for any key of `STATE_WORDS`; for another one the key itself, marked as unrecognised."""
    return STATE_WORDS.get(key) or StateWord(key or "unknown", Look.REVIEW, "unrecognised")


def gettext_noop(message: str) -> str:
    """Marks a word for translation without translating it: this package knows no Django."""
    return message


def _made(word: str, look: Look, icon: str = "") -> StateWord:
    return StateWord(word, look, icon or look.value)


_ = gettext_noop

STATE_WORDS: dict[str, StateWord] = {
    # Findings
    "gone": _made(_("gone"), Look.SKIPPED, "gone"),
    "created": _made(_("created"), Look.WAITING),
    "queued": _made(_("queued"), Look.WAITING),
    "lost": _made(_("lost"), Look.REVIEW),
    "running": _made(_("running"), Look.RUNNING),
    "lease_expired": _made(_("lease ran out"), Look.REVIEW),
    "worker_gone": _made(_("worker gone"), Look.REVIEW),
    "retry_pending": _made(_("retrying"), Look.RETRYING),
    "scheduled": _made(_("scheduled"), Look.WAITING, "scheduled"),
    "deferred": _made(_("deferred"), Look.WAITING, "deferred"),
    "canceled": _made(_("canceled"), Look.SKIPPED),
    "finished": _made(_("finished"), Look.DONE),
    "never_started": _made(_("never began"), Look.FAILED),
    "failed_known": _made(_("failed"), Look.FAILED),
    "result_unknown": _made(_("result unknown"), Look.REVIEW),
    "stopped": _made(_("stopped"), Look.REVIEW, "stopped"),
    "done_but_marked_failed": _made(_("done, filed as failed"), Look.DONE),
    "unrecognised": _made(_("unrecognised"), Look.REVIEW, "unrecognised"),
    "unreadable": _made(_("unreadable"), Look.REVIEW, "unrecognised"),
    # RQ's statuses, where they are not findings by the same name
    "failed": _made(_("failed"), Look.FAILED),
    "started": _made(_("running"), Look.RUNNING),
    "rate_limited": _made(_("rate limited"), Look.WAITING),
    "ready_to_enqueue": _made(_("ready to queue"), Look.WAITING),
    # Places of a failure in the index, where they are not findings by the same name
    "moved": _made(_("no longer failed"), Look.WAITING),
    "deleted": _made(_("deleted"), Look.SKIPPED),
    # Kinds of recorded results
    "successful": _made(_("finished"), Look.DONE),
    "retried": _made(_("failed, then retried"), Look.RETRYING),
    "max_retries_exceeded": _made(_("failed, no retries left"), Look.FAILED),
    # Operations, where their states are not findings by the same name
    "accepted": _made(_("accepted"), Look.WAITING),
    "retry_wait": _made(_("retrying"), Look.RETRYING),
    "unknown": _made(_("result unknown"), Look.REVIEW),
    "completed": _made(_("completed"), Look.DONE),
    "cancelled": _made(_("cancelled"), Look.SKIPPED),
    # Attempts, where they end otherwise than operations do
    "retrying": _made(_("failed, is retried"), Look.RETRYING),
    "skipped_duplicate": _made(_("skipped: a repeat"), Look.SKIPPED),
    "superseded": _made(_("overtaken"), Look.SKIPPED),
    # Effects
    "begun": _made(_("begun"), Look.RUNNING),
    "released": _made(_("did not happen"), Look.WAITING, "repeat"),
    "abandoned": _made(_("given up"), Look.SKIPPED, "stopped"),
    "effect_unknown": _made(_("may have happened"), Look.REVIEW),
    # What a retry of an operation would come to
    "would_run": _made(_("safe"), Look.DONE, "repeat"),
    "would_skip": _made(_("done already"), Look.SKIPPED),
    "would_ask": _made(_("review first"), Look.REVIEW, "flag"),
    "would_wait": _made(_("not now"), Look.WAITING),
    # What else happens to operations
    "dedup": _made(_("a repeat was skipped"), Look.SKIPPED),
    "turned_away": _made(_("turned away"), Look.SKIPPED),
    "late_evidence": _made(_("late evidence"), Look.REVIEW, "info"),
    "contradiction": _made(_("contradicting evidence"), Look.FAILED, "flag"),
    "probed": _made(_("the other side was asked"), Look.WAITING, "info"),
    "taken_over": _made(_("taken over"), Look.REVIEW, "repeat"),
    "cancel_requested": _made(_("cancelling asked for"), Look.SKIPPED),
    "decided": _made(_("decided"), Look.WAITING, "info"),
    "delivered": _made(_("queued"), Look.WAITING),
    # Reviews: where they stand, and what was said in them
    "in_review": _made(_("in review"), Look.REVIEW),
    "overdue": _made(_("overdue"), Look.FAILED, "flag"),
    "taken": _made(_("taken"), Look.RUNNING, "key"),
    "happened": _made(_("it happened"), Look.DONE),
    "did_not_happen": _made(_("it did not happen"), Look.RETRYING, "repeat"),
    "abandon": _made(_("given up"), Look.SKIPPED, "stopped"),
    "snooze": _made(_("put off"), Look.WAITING, "scheduled"),
    "probe_again": _made(_("to be checked again"), Look.RETRYING, "repeat"),
    "reversed": _made(_("undone"), Look.SKIPPED, "stopped"),
    "contradicted": _made(_("contradicting evidence"), Look.FAILED, "flag"),
    "sent_to_review": _made(_("sent to review"), Look.REVIEW),
    # Workers
    "worker_busy": _made(_("busy"), Look.RUNNING),
    "worker_idle": _made(_("idle"), Look.WAITING),
    "worker_leaving": _made(_("leaving"), Look.SKIPPED, "stopped"),
    "worker_dead": _made(_("no sign of life"), Look.FAILED),
    # The observer
    "watch_keeps_up": _made(_("keeps up"), Look.DONE),
    "watch_filling": _made(_("still reading in"), Look.RUNNING),
    "watch_kept_out": _made(_("can't read all"), Look.REVIEW, "flag"),
    "watch_starting": _made(_("starting"), Look.WAITING),
    "watch_late": _made(_("late"), Look.REVIEW, "flag"),
    "watch_absent": _made(_("absent"), Look.FAILED, "flag"),
    # Levels of a warning
    "ok": _made(_("in order"), Look.DONE),
    "hint": _made(_("hint"), Look.WAITING, "info"),
    "warning": _made(_("warning"), Look.REVIEW, "flag"),
    "alarm": _made(_("alarm"), Look.FAILED, "flag"),
    # What a job type promises about being run again
    "repeatable": _made(_("repeatable"), Look.DONE, "repeat"),
    "keyed": _made(_("keyed"), Look.SKIPPED, "key"),
    "checkable": _made(_("checkable"), Look.SKIPPED, "info"),
    "unsafe": _made(_("unsafe"), Look.REVIEW, "flag"),
    "undeclared": _made(_("undeclared"), Look.WAITING, "unrecognised"),
    # Acts, as the audit closes them
    "done": _made(_("done"), Look.DONE),
    "refused": _made(_("refused"), Look.SKIPPED),
    "changed": _made(_("not done: the job changed"), Look.SKIPPED),
    "not_done": _made(_("not done"), Look.SKIPPED),
    "not_tried": _made(_("not tried"), Look.SKIPPED),
    "intended": _made(_("not known yet"), Look.REVIEW),
    "unsettled": _made(_("never known"), Look.REVIEW),
}
"""Keys: `Finding`, RQ's statuses, `ResultKind`, worker states, warning levels, `Idempotency`, `AuditEntry.Status`,
`FailedJob.Place`, `Operation.Status`, `AttemptOutcome`, `EffectStatus`, `OperationEvent.Kind`, `Verdict`, and where a
review stands. The `lost` of an attempt and the `unknown` of an effect are those of a job and of an operation."""

VERB_WORDS = {
    "retry_job": _("retry"),
    "delete_job": _("delete"),
    "cancel_job": _("cancel"),
    "stop_job": _("stop"),
    "enqueue_job": _("enqueue now"),
    "remove_entry": _("remove the entry"),
    "claim_review": _("take the review"),
    "release_review": _("give the review back"),
    "resolve_review": _("decide the review"),
    "declare_job_type": _("declare"),
    "grant_access": _("give rights"),
    "revoke_access": _("take rights"),
}
"""What a person did, by the verb of its `AuditEntry`."""

EVIDENCE_WORDS = {
    "where": _("Where you looked"),
    "observed_at": _("When it took effect"),
    "external_id": _("Its id there"),
    "link": _("A link to it"),
    "quote": _("What it says there, word for word"),
    "matches": _("I compared amount, recipient or whatever identifies it, and they match."),
    "searched_for": _("What you searched for"),
    "window": _("Which time you searched"),
    "found_nothing": _("The search gave no result at all."),
    "reason": _("Why it is given up without knowing"),
    "undone_by": _("What has undone it: its id there"),
    "undone_why": _("Why it was undone"),
    "key_valid_until": _("The other side knew its key until"),
    "attempt": _("Attempt"),
    "told": _("Who was told that it may have happened"),
    "until": _("When somebody looks again"),
    "owner": _("Who looks again"),
    "result_id": _("RQ’s result"),
    "ended_at": _("Ended"),
    "worker": _("Worker"),
}
"""What is brought forward in a review, by the names of `jobs.domain.verdicts` and of late evidence."""

DEDUP_WORDS = {
    "queue_redelivery": _("its queue delivered it again"),
    "sweeper": _("the observer queued it again"),
    "manual_retry": _("somebody had it run again"),
    "rq_abandoned": _("RQ gave a run up and queued it again"),
    "double_submit": _("it was submitted more than once"),
}
"""What brought a delivery that was not needed, by `DedupCause`."""

ACT_SLUGS = {
    "retry_job": "retry",
    "enqueue_job": "enqueue",
    "cancel_job": "cancel",
    "stop_job": "stop",
    "delete_job": "delete",
    "remove_entry": "remove-entry",
}
"""The last word of an act's address, by verb; the address is called `job-<word>`."""

MOVING_STATES = frozenset(
    {
        *("created", "queued", "lost", "running", "lease_expired"),
        *("worker_gone", "retry_pending", "scheduled", "deferred"),
    }
)
"""Findings that RQ may change without anybody's act; the others rest until somebody acts or the data runs out."""
