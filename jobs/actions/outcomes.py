"""What became of an act, in words for the person who asked for it."""

from __future__ import annotations

from dataclasses import dataclass

from jobs.models import AuditEntry, Review

DONE = AuditEntry.Status.DONE
REFUSED = AuditEntry.Status.REFUSED
CHANGED = AuditEntry.Status.CHANGED
NOT_DONE = AuditEntry.Status.NOT_DONE
UNKNOWN = AuditEntry.Status.INTENDED
UNSETTLED = AuditEntry.Status.UNSETTLED


@dataclass(frozen=True)
class Outcome:
    """How an act ended: one of AuditEntry.Status, and a sentence. INTENDED means: not known yet."""

    status: AuditEntry.Status
    sentence: str
    entry: AuditEntry
    review: Review | None = None
    """Where somebody has to find out first what the last run did."""

    @property
    def is_done(self) -> bool:
        return self.status == DONE

    @property
    def is_unconfirmed(self) -> bool:
        return self.entry.decision_code == "unconfirmed"

    @property
    def is_unknown(self) -> bool:
        return self.status == UNKNOWN


SENTENCES: dict[str, tuple[AuditEntry.Status, str]] = {
    "too_late": (NOT_DONE, "Not done: the job store answered too late, and the act was called off."),
    "already_done": (CHANGED, "Nothing more was done: this very act was carried out before."),
    "damaged": (REFUSED, "Not done: what Redis holds under this job's names is damaged."),
    "gone": (CHANGED, "Not done: the job is gone; somebody deleted it, or its time ran out."),
    "changed": (CHANGED, "Not done: the job changed since you looked. Look at it again before you decide."),
    "running": (REFUSED, "Not done: a run of this job still holds a lease."),
    "taken": (REFUSED, "Not done: a worker or RQ's scheduler has the job in hand at this moment. Look again shortly."),
    "unheard": (NOT_DONE, "Not done: no worker heard it. The one that began the job is gone, or cut off."),
    "queued": (REFUSED, "Not done: the job already stands in its queue."),
    "rate_limited": (REFUSED, "Not done: the job runs under a rate limit, which only RQ itself can give it back."),
    "refused": (NOT_DONE, "Not done: the job store takes no writes now (read-only, out of memory, or not allowed)."),
}
"""For each answer of a guarded script but `done`."""

STATUS_CODES = {REFUSED: 409, CHANGED: 409, NOT_DONE: 503, UNKNOWN: 503, UNSETTLED: 503}
"""What a client learns of an act that was not carried out, or not known to be."""

UNCONFIRMED = "Not done: this is confirmed on a page of its own. Open the job there, and read what it would do."

NOT_KNOWN_YET = (
    "Not known yet: the job store did not answer in time. Either it was done, or it will never be; "
    "the observer finds out which, once the store answers, and puts it on the record of this act."
)
