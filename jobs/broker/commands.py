"""The acts on RQ's data: one script each, checked and carried out as a whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from redis import exceptions

from jobs.broker import connections, fields
from jobs.broker.details import QUEUE_LOOKED_AT
from jobs.broker.keys import REGISTRIES, Keys, act_mark

MARK_SECONDS = 7 * 24 * 3600


class OutcomeUnknown(Exception):
    """The script was sent and no answer came: it was carried out, or never will be after its deadline.

    The mark in Redis tells which (`marks`).
    """


@dataclass(frozen=True, kw_only=True)
class Target:
    """The job to act on: as it was *seen* (JobDetail.seen), until when, and under which audit entry."""

    connection: str
    queue: str
    job_id: str
    seen: str
    deadline: datetime
    audit_id: str


def server_time(connection: str) -> datetime:
    """The store's own clock, in which deadlines are given. Raises BrokerUnavailable."""
    with connections.acting(connection) as client:
        return fields.server_time(client.time())


def requeue_failed(target: Target, *, now: datetime) -> str:
    """Put a failed job back on its queue, as RQ's requeue does, in one step.

    Returns, as each of these acts does, `done`, or why nothing was changed: `too_late`, `already_done`, `damaged`,
    `gone`, `changed`, `running`, `queued`, `taken` (a worker or the scheduler has it in hand), `rate_limited`,
    `refused` (the store takes no writes). Raises OutcomeUnknown, BrokerUnavailable.
    """
    return _run("requeue_failed", target, arguments=[_rq_time(now)])


def delete_job(target: Target, *, group_id: str | None, dependency_ids: Sequence[str]) -> str:
    """Delete a job that is not running, with its results, executions and links; its dependents stay deferred.

    `dependency_ids`: the jobs that it names as its dependencies (JobHash), which then forget it.
    Returns and raises as requeue_failed.
    """
    keys = connections.get(target.connection).keys
    links = [keys.group(group_id or ""), *(keys.dependents(one) for one in dependency_ids)]
    return _run("delete_job", target, more_keys=links, arguments=[keys.execution("", "")[:-1]])


def cancel_job(target: Target, *, now: datetime) -> str:
    """Take a queued, scheduled or deferred job out of what would run it; it stays, as canceled.

    Returns and raises as requeue_failed.
    """
    return _run("cancel_job", target, arguments=[int(now.timestamp())])


def stop_job(target: Target, *, worker_name: str) -> str:
    """Have the worker that runs the job kill the run. `done` says that it was told, not that the run has ended.

    Returns and raises as requeue_failed; and `unheard` when no worker of that name listens.
    """
    channel = connections.get(target.connection).keys.commands(worker_name)
    command = json.dumps({"command": "stop-job", "job_id": target.job_id})
    return _run("stop_job", target, arguments=[channel, command])


def enqueue_now(target: Target, *, now: datetime) -> str:
    """Queue a scheduled job before its time, or a queued one that stands in no list: its queue has lost it.

    Returns and raises as requeue_failed.
    """
    return _run("enqueue_now", target, arguments=[_rq_time(now)])


def remove_entry(target: Target) -> str:
    """Take an id whose job is gone out of every list of its queue.

    Returns and raises as requeue_failed; `gone` when nothing lists it any more.
    """
    return _run("remove_entry", target)


def marks(connection: str, audit_ids: Sequence[str]) -> dict[str, str]:
    """What the acts of these audit entries left, by entry: `requeued`, `deleted` …; those that left nothing are not in.

    One round trip. Raises BrokerUnavailable.
    """
    with connections.acting(connection) as client:
        pipeline = client.pipeline(transaction=False)
        for audit_id in audit_ids:
            pipeline.get(act_mark(audit_id))
        found: list[bytes | None] = pipeline.execute()
    return {audit_id: mark.decode() for audit_id, mark in zip(audit_ids, found, strict=True) if mark is not None}


def _run(script: str, target: Target, *, more_keys: Sequence[str] = (), arguments: Sequence[str | int] = ()) -> str:
    keys = connections.get(target.connection).keys
    every_key = [*_common_keys(keys, target), *more_keys]
    every_argument = [*_common_arguments(keys, target), *arguments]
    client = connections.acting_client(target.connection)
    try:
        answer: bytes = client.eval(_source(script), len(every_key), *every_key, *every_argument)
    except (exceptions.ResponseError, exceptions.AuthenticationError):
        # The scripts check types before they write, and write first what a full or read-only server refuses.
        return "refused"
    except (exceptions.TimeoutError, exceptions.ConnectionError, OSError):
        raise OutcomeUnknown from None
    return answer.decode()


def _common_keys(keys: Keys, target: Target) -> list[str]:
    """In the order in which guard.lua names them."""
    job_id, queue = target.job_id, target.queue
    return [
        *(keys.job(job_id), keys.results(job_id), keys.executions(job_id)),
        *(keys.dependents(job_id), keys.dependencies(job_id), act_mark(target.audit_id)),
        *(keys.queue(queue), keys.intermediate(queue), keys.queues, keys.scheduler_lock(queue)),
        *(keys.registry(state, queue) for state in REGISTRIES),
        keys.ready(queue),
    ]


def _common_arguments(keys: Keys, target: Target) -> list[str | int]:
    """In the order in which guard.lua names them."""
    deadline = f"{target.deadline.timestamp():.6f}"
    return [target.job_id, target.queue, target.seen, deadline, QUEUE_LOOKED_AT, MARK_SECONDS, keys.job("")]


def _rq_time(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@cache
def _source(script: str) -> str:
    folder = Path(__file__).parent / "lua"
    return "\n".join((folder / f"{name}.lua").read_text() for name in ("guard", script))
