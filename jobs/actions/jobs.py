"""What can be done with one job: for each verb the right it needs, the rule that decides it and the script it runs."""

from __future__ import annotations

from collections.abc import Mapping

from jobs.actions import operations
from jobs.actions.guarded import Act, Run, Wish, carry_out
from jobs.actions.outcomes import Outcome
from jobs.broker import commands
from jobs.broker.commands import Target
from jobs.broker.records import JobDetail
from jobs.domain.verbs import DECIDE
from jobs.permissions import RIGHT_FOR


def _delete(target: Target, detail: JobDetail, wish: Wish) -> str:
    return commands.delete_job(target, group_id=detail.job.group_id, dependency_ids=detail.job.dependency_ids)


def _stop(target: Target, detail: JobDetail, wish: Wish) -> str:
    return commands.stop_job(target, worker_name=detail.busy_worker or "")


_RUN: Mapping[str, tuple[Run, str]] = {
    "retry_job": (
        lambda target, detail, wish: commands.requeue_failed(target, now=wish.now),
        "Job {job_id} is back on the queue {queue}.",
    ),
    "enqueue_job": (
        lambda target, detail, wish: commands.enqueue_now(target, now=wish.now),
        "Job {job_id} is on the queue {queue} now.",
    ),
    "cancel_job": (
        lambda target, detail, wish: commands.cancel_job(target, now=wish.now),
        "Job {job_id} is cancelled: it will not run.",
    ),
    "stop_job": (
        _stop,
        "The worker of job {job_id} was told to stop it. Watch its page: it may have ended before that.",
    ),
    "delete_job": (_delete, "Job {job_id} is deleted, with its results."),
    "remove_entry": (
        lambda target, detail, wish: commands.remove_entry(target),
        "The id {job_id} is struck off the lists of {queue}.",
    ),
}

_LAYERED = {
    **dict.fromkeys(("retry_job", "enqueue_job"), operations.run_again),
    "cancel_job": operations.cancel_delivery,
}

ACTS: Mapping[str, Act] = {
    verb: Act(
        verb=verb,
        permission=RIGHT_FOR[verb],
        decide=decide,
        run=_RUN[verb][0],
        done=_RUN[verb][1],
        layered=_LAYERED.get(verb),
    )
    for verb, decide in DECIDE.items()
}
"""By verb, in the order in which a page offers them."""


def retry_job(wish: Wish) -> Outcome:
    """Put a failed job back on its queue, if that is safe and nothing changed. Raises as guarded.carry_out."""
    return carry_out(ACTS["retry_job"], wish)


def delete_job(wish: Wish) -> Outcome:
    """Delete a job that is not running, with its results, from Redis for good. Raises as guarded.carry_out."""
    return carry_out(ACTS["delete_job"], wish)


def cancel_job(wish: Wish) -> Outcome:
    """Keep a waiting job from running. Raises as guarded.carry_out."""
    return carry_out(ACTS["cancel_job"], wish)


def stop_job(wish: Wish) -> Outcome:
    """Ask the worker that runs the job to end that run. Raises as guarded.carry_out."""
    return carry_out(ACTS["stop_job"], wish)


def enqueue_job(wish: Wish) -> Outcome:
    """Put a scheduled job, or one lost from its queue, on the queue now. Raises as guarded.carry_out."""
    return carry_out(ACTS["enqueue_job"], wish)


def remove_entry(wish: Wish) -> Outcome:
    """Strike an id without data off the lists of its queue. Raises as guarded.carry_out."""
    return carry_out(ACTS["remove_entry"], wish)
