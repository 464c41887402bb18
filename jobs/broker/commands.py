"""The acts on RQ's data: one script each, checked and carried out as a whole or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from redis import exceptions

from jobs.broker import connections
from jobs.broker.details import QUEUE_LOOKED_AT
from jobs.broker.keys import Keys, act_mark

MARK_SECONDS = 7 * 24 * 3600


class OutcomeUnknown(Exception):
    """The script was sent and no answer came: it was carried out, or never will be after its deadline.

    The mark in Redis tells which (`was_carried_out`).
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
        seconds, microseconds = client.time()
        return datetime.fromtimestamp(seconds + microseconds / 1e6, UTC)


def requeue_failed(target: Target, *, now: datetime) -> str:
    """Put a failed job back on its queue, as RQ's requeue does, in one step.

    Returns `done`, or why nothing was changed: `too_late`, `already_done`, `damaged`, `gone`, `changed`, `running`,
    `queued`, `rate_limited`, `refused` (the store takes no writes). Raises OutcomeUnknown, BrokerUnavailable.
    """
    enqueued_at = now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return _run("requeue_failed", target, keys=[], arguments=[enqueued_at, MARK_SECONDS])


def delete_failed(target: Target, *, group_id: str | None) -> str:
    """Delete a failed job with its results, executions and links; its dependents stay deferred.

    Returns and raises as requeue_failed.
    """
    keys = connections.get(target.connection).keys
    job_id = target.job_id
    more = [
        keys.dependents(job_id),
        keys.dependencies(job_id),
        keys.registry("started", target.queue),
        keys.group(group_id or ""),
    ]
    return _run("delete_failed", target, keys=more, arguments=[MARK_SECONDS, keys.execution("", "")[:-1]])


def was_carried_out(connection: str, audit_id: str) -> bool:
    """Whether the act of that audit entry left its mark. Raises BrokerUnavailable."""
    with connections.acting(connection) as client:
        return bool(client.exists(act_mark(audit_id)))


def _run(script: str, target: Target, *, keys: list[str], arguments: Sequence[str | int]) -> str:
    common_keys = _common_keys(connections.get(target.connection).keys, target)
    common: list[str | int] = [
        target.job_id,
        target.queue,
        target.seen,
        f"{target.deadline.timestamp():.6f}",
        QUEUE_LOOKED_AT,
    ]
    every_key = [*common_keys, *keys]
    client = connections.acting_client(target.connection)
    try:
        answer: bytes = client.eval(_source(script), len(every_key), *every_key, *common, *arguments)
    except (exceptions.ResponseError, exceptions.AuthenticationError):
        # The scripts check types before they write, and write first what a full or read-only server refuses.
        return "refused"
    except (exceptions.TimeoutError, exceptions.ConnectionError, OSError):
        raise OutcomeUnknown from None
    return answer.decode()


def _common_keys(keys: Keys, target: Target) -> list[str]:
    return [
        keys.job(target.job_id),
        keys.results(target.job_id),
        keys.registry("failed", target.queue),
        keys.queue(target.queue),
        keys.queues,
        keys.executions(target.job_id),
        act_mark(target.audit_id),
    ]


@cache
def _source(script: str) -> str:
    folder = Path(__file__).parent / "lua"
    return "\n".join((folder / f"{name}.lua").read_text() for name in ("guard", script))
