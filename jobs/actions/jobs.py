"""Acts on one failed job."""

from __future__ import annotations

from jobs.actions.guarded import Act, Wish, carry_out
from jobs.actions.outcomes import Outcome
from jobs.broker import commands
from jobs.judging import delete_decision, retry_decision
from jobs.permissions import Permission


def retry_job(wish: Wish) -> Outcome:
    """Put one failed job back on its queue, if its type is declared safe to repeat and nothing changed since *seen*.

    Raises as guarded.carry_out.
    """
    act = Act(
        verb="retry_job",
        permission=Permission.RETRY_JOB,
        decide=retry_decision,
        run=lambda target, detail: commands.requeue_failed(target, now=wish.now),
        done=f"Job {wish.job_id} is back on the queue {wish.queue.name}.",
    )
    return carry_out(act, wish)


def delete_job(wish: Wish) -> Outcome:
    """Delete one failed job and its results from Redis for good; the record of the act stays.

    Raises as guarded.carry_out.
    """
    act = Act(
        verb="delete_job",
        permission=Permission.DELETE_JOB,
        decide=delete_decision,
        run=lambda target, detail: commands.delete_job(
            target, group_id=detail.job.group_id, dependency_ids=detail.job.dependency_ids
        ),
        done=f"Job {wish.job_id} is deleted, with its results.",
    )
    return carry_out(act, wish)
