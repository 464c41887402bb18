"""The acts on one job: what decides each, and which of them a page has reason to speak of."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from jobs.domain.decisions import Case, Decision, decide_retry
from jobs.domain.findings import Finding
from jobs.domain.housekeeping import decide_cancel, decide_delete, decide_enqueue, decide_remove, decide_stop
from jobs.domain.layered import (
    Layered,
    decide_delivery_cancel,
    decide_delivery_delete,
    decide_delivery_enqueue,
    decide_delivery_retry,
    decide_delivery_stop,
)


def _by_kind(
    plain: Callable[[Case], Decision], layered: Callable[[Case, Layered], Decision]
) -> Callable[[Case], Decision]:
    """One rule for a job, whichever it is: of an operation its record decides, of a plain job what Redis shows."""
    return lambda case: layered(case, case.layered) if case.layered else plain(case)


DECIDE: Mapping[str, Callable[[Case], Decision]] = {
    "retry_job": _by_kind(decide_retry, decide_delivery_retry),
    "enqueue_job": _by_kind(decide_enqueue, decide_delivery_enqueue),
    "cancel_job": _by_kind(decide_cancel, decide_delivery_cancel),
    "stop_job": _by_kind(decide_stop, decide_delivery_stop),
    "delete_job": _by_kind(decide_delete, decide_delivery_delete),
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
