"""The acts on one job: what decides each, and which of them a page has reason to speak of."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from jobs.domain.decisions import Case, Decision, decide_retry
from jobs.domain.findings import Finding
from jobs.domain.housekeeping import decide_cancel, decide_delete, decide_enqueue, decide_remove, decide_stop

DECIDE: Mapping[str, Callable[[Case], Decision]] = {
    "retry_job": decide_retry,
    "enqueue_job": decide_enqueue,
    "cancel_job": decide_cancel,
    "stop_job": decide_stop,
    "delete_job": decide_delete,
    "remove_entry": decide_remove,
}
"""By the verb of the record, in the order in which pages offer the acts."""


def verbs_for(finding: Finding) -> tuple[str, ...]:
    """The acts worth speaking of for a job in this state, allowed or not; the others would make no sense."""
    return _VERBS.get(finding, ("retry_job", "delete_job"))


_WAITING = ("cancel_job", "delete_job")
_DUE_LATER = ("enqueue_job", *_WAITING)

_VERBS = {
    Finding.QUEUED: _WAITING,
    Finding.DEFERRED: _WAITING,
    Finding.SCHEDULED: _DUE_LATER,
    Finding.RETRY_PENDING: _DUE_LATER,
    Finding.LOST: ("enqueue_job", "delete_job"),
    Finding.RUNNING: ("stop_job", "delete_job"),
    Finding.FINISHED: ("delete_job",),
    Finding.CANCELED: ("delete_job",),
    Finding.CREATED: ("delete_job",),
    Finding.UNRECOGNISED: ("delete_job", "remove_entry"),
    Finding.GONE: ("remove_entry",),
}
