"""What is odd about a job beside its state: RQ moves a job in several steps, and several processes may move it at once.

Each sentence completes that of the finding.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from jobs.domain.evidence import Evidence
from jobs.domain.liveness import has_live_lease

WAITING = frozenset({"queued", "scheduled"})
RESTING = frozenset({"failed", "stopped", "finished"})
"""States in which a job may rightly be listed as failed, or says itself why it is."""


def remarks(evidence: Evidence, now: datetime) -> tuple[str, ...]:
    """Sentences on whatever does not fit the job's state; none for almost every job."""
    return tuple(sentence for holds, sentence in _REMARKS if holds(evidence, now)) + _several_runs(evidence)


def _several_runs(evidence: Evidence) -> tuple[str, ...]:
    count = evidence.executions
    return (f"{count} runs of it are on record as not ended: they may have worked side by side.",) if count > 1 else ()


def _runs_beside(evidence: Evidence, now: datetime) -> bool:
    """Cleanup gives up a run whose worker was lost, or queues the job again, while its process may live on."""
    return evidence.status != "started" and has_live_lease(evidence, now) and not _is_being_taken(evidence)


def _is_being_taken(evidence: Evidence) -> bool:
    return evidence.status == "queued" and evidence.queued_times == 0


def _left_a_run_open(evidence: Evidence, now: datetime) -> bool:
    return evidence.status != "started" and evidence.has_open_run and not has_live_lease(evidence, now)


def _is_queued_too(evidence: Evidence, now: datetime) -> bool:
    return evidence.status != "queued" and bool(evidence.queued_times)


def _is_scheduled_too(evidence: Evidence, now: datetime) -> bool:
    return evidence.status != "scheduled" and "scheduled" in evidence.listed_in


def _is_listed_as_failed(evidence: Evidence, now: datetime) -> bool:
    return evidence.exists and evidence.status not in RESTING and "failed" in evidence.listed_in


def _was_cancelled(evidence: Evidence) -> bool:
    return evidence.exists and evidence.status != "canceled" and "canceled" in evidence.listed_in


def _waits_though_cancelled(evidence: Evidence, now: datetime) -> bool:
    return _was_cancelled(evidence) and evidence.status in WAITING


def _ran_though_cancelled(evidence: Evidence, now: datetime) -> bool:
    return _was_cancelled(evidence) and evidence.status not in WAITING


_REMARKS: tuple[tuple[Callable[[Evidence, datetime], bool], str], ...] = (
    (_runs_beside, "A run of it still holds a lease, so it may be at work now."),
    (_left_a_run_open, "A run of it never reported its end."),
    (_is_queued_too, "It also stands in its queue, so it will run again."),
    (_is_scheduled_too, "It also stands in the schedule, so it will run again."),
    (_is_listed_as_failed, "An old entry still lists it as failed."),
    (_waits_though_cancelled, "It was cancelled, which did not hold it: it will run all the same."),
    (_ran_though_cancelled, "It was cancelled, which does not end a run."),
)
