"""Where RQ keeps things (RQ 2.12 and 3.0 alike). RQ 3 lets a deployment choose the prefix."""

from __future__ import annotations

from dataclasses import dataclass

REGISTRIES = {
    "started": "wip",
    "failed": "failed",
    "finished": "finished",
    "scheduled": "scheduled",
    "deferred": "deferred",
    "canceled": "canceled",
}
"""RQ's sorted sets per queue: our state name to the word in RQ's key."""

STATES = ("queued", *REGISTRIES)
"""The states a queue's jobs are listed by, in the order a person looks for them."""


@dataclass(frozen=True)
class Keys:
    """Key names under one prefix (`rq` unless RQ_KEY_PREFIX says otherwise)."""

    prefix: str = "rq"

    @property
    def queues(self) -> str:
        return f"{self.prefix}:queues"

    @property
    def workers(self) -> str:
        return f"{self.prefix}:workers"

    @property
    def suspended(self) -> str:
        return f"{self.prefix}:suspended"

    def queue(self, name: str) -> str:
        return f"{self.prefix}:queue:{name}"

    def intermediate(self, name: str) -> str:
        return f"{self.queue(name)}:intermediate"

    def registry(self, state: str, queue: str) -> str:
        return f"{self.prefix}:{REGISTRIES[state]}:{queue}"

    def ready(self, queue: str) -> str:
        """RQ 3's registry of jobs whose dependencies are met, for the moment until they are queued."""
        return f"{self.prefix}:ready:{queue}"

    def job(self, job_id: str) -> str:
        return f"{self.prefix}:job:{job_id}"

    def dependents(self, job_id: str) -> str:
        return f"{self.job(job_id)}:dependents"

    def dependencies(self, job_id: str) -> str:
        # The double colon is RQ's own.
        return f"{self.prefix}:job::{job_id}:dependencies"

    def results(self, job_id: str) -> str:
        return f"{self.prefix}:results:{job_id}"

    def executions(self, job_id: str) -> str:
        return f"{self.prefix}:executions:{job_id}"

    def execution(self, job_id: str, execution_id: str) -> str:
        return f"{self.prefix}:execution:{job_id}:{execution_id}"

    def worker(self, name: str) -> str:
        return f"{self.prefix}:worker:{name}"

    def worker_executions(self, name: str) -> str:
        return f"{self.worker(name)}:executions"

    def commands(self, worker_name: str) -> str:
        """The channel on which a worker hears commands."""
        return f"{self.prefix}:pubsub:{worker_name}"

    def workers_of(self, queue: str) -> str:
        return f"{self.prefix}:workers:{queue}"

    def scheduler_lock(self, queue: str) -> str:
        return f"{self.prefix}:scheduler-lock:{queue}"

    def group(self, group_id: str) -> str:
        return f"{self.prefix}:group:{group_id}"

    def queue_name(self, key: str) -> str | None:
        """The queue's name from a member of the `queues` set; None when the member is not one of RQ's."""
        return _after(f"{self.prefix}:queue:", key)

    def worker_name(self, key: str) -> str | None:
        """The worker's name from a member of a `workers` set; None when the member is not one of RQ's."""
        return _after(f"{self.prefix}:worker:", key)


def act_mark(audit_id: str) -> str:
    """The key that says an act was carried out; kept seven days so that an open audit entry can be settled."""
    return f"opsboard:act:{audit_id}"


def is_confusable(queue: str, job_id: str) -> bool:
    """Whether RQ would take one of these names for another key: it cuts ids at colons (`<job>:<execution>`), and keeps
    what a worker has just taken from `x` under `x:intermediate`.
    """
    return ":" in job_id or queue.endswith(":intermediate")


def _after(start: str, key: str) -> str | None:
    return key[len(start) :] if key.startswith(start) and len(key) > len(start) else None
