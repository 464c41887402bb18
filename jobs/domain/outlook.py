"""What RQ will do next with a job, if nobody does anything."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo

from jobs.domain.findings import Finding
from jobs.domain.times import moment


def outlook(
    finding: Finding,
    *,
    retries_left: int | None,
    has_worker: bool,
    has_scheduler: bool,
    due_at: datetime | None,
    expires_at: datetime | None,
    is_to_run: bool = False,
    zone: tzinfo = UTC,
) -> tuple[str, ...]:
    """Sentences on what comes next, with times in `zone`. `due_at` is when a scheduled job is to be queued.

    `is_to_run`: it stands in its queue or the schedule, whatever its state; then nothing is said to the contrary.
    """
    sentences = ["" if is_to_run and finding in _RESTS else _NEXT.get(finding, "")]
    if finding in (Finding.SCHEDULED, Finding.RETRY_PENDING):
        sentences = [_scheduled(due_at, zone), "" if has_scheduler else _NO_SCHEDULER]
    if finding in (Finding.QUEUED, Finding.DEFERRED, Finding.LEASE_EXPIRED, Finding.WORKER_GONE) and not has_worker:
        sentences.append("No worker listens to its queue now.")
    if finding in (Finding.LEASE_EXPIRED, Finding.WORKER_GONE, Finding.RUNNING) and retries_left:
        sentences.append(_reruns(retries_left))
    if expires_at is not None:
        sentences.append(f"Redis keeps its data until {moment(expires_at, zone, has_seconds=False)}.")
    return tuple(filter(None, sentences))


def _scheduled(due_at: datetime | None, zone: tzinfo) -> str:
    when = moment(due_at, zone) if due_at is not None else "its time"
    return f"RQ's scheduler puts it on its queue at {when}."


def _reruns(retries_left: int) -> str:
    times = "once" if retries_left == 1 else f"up to {retries_left} times"
    return (
        f"Should this run be lost, RQ will run the job again by itself ({times}), without asking whether that is safe."
    )


_TIDYING = "the next worker that tidies up its queue declares it failed: one that starts, or within ten minutes."

_NO_SCHEDULER = "No scheduler is running for its queue: until one does, it waits."

_RESTS = frozenset(
    {
        *(Finding.FAILED_KNOWN, Finding.NEVER_STARTED, Finding.RESULT_UNKNOWN, Finding.STOPPED),
        *(Finding.DONE_BUT_MARKED_FAILED, Finding.LOST, Finding.CANCELED),
    }
)

_NEXT = {
    Finding.FAILED_KNOWN: "RQ will not run it again by itself.",
    Finding.NEVER_STARTED: "RQ will not run it again by itself.",
    Finding.RESULT_UNKNOWN: "RQ will not run it again by itself.",
    Finding.STOPPED: "RQ will not run it again by itself.",
    Finding.DONE_BUT_MARKED_FAILED: "RQ will not run it again by itself.",
    Finding.QUEUED: "The next free worker runs it when its turn comes.",
    Finding.LOST: "Nothing: RQ has no way to find it.",
    Finding.LEASE_EXPIRED: _TIDYING.capitalize(),
    Finding.WORKER_GONE: f"If its process finishes, it counts as finished. If its lease runs out first, {_TIDYING}",
    Finding.DEFERRED: (
        "It is queued when the jobs it waits for have finished; should one of those fail, it waits for ever."
    ),
    Finding.CANCELED: "Nothing: a cancelled job stays until it is deleted.",
}
