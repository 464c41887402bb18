"""All queues of a connection at a glance, in three round trips."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from jobs.broker import connections, fields
from jobs.broker.connections import Connection, value
from jobs.broker.guarded import ReadOnlyRedis
from jobs.broker.keys import REGISTRIES, Keys
from jobs.broker.records import QueueCounts, ServerHealth

_PER_QUEUE = 8 + len(REGISTRIES)


def queue_names(connection: str) -> list[str]:
    """The names of every queue that RQ knows on this connection, sorted. Raises BrokerUnavailable."""
    keys = connections.get(connection).keys
    with connections.reading(connection) as client:
        pipeline = client.pipeline()
        pipeline.smembers(keys.queues)
        return _names(keys, value(connections.fetch(pipeline)[0], ()))


def read_overview(
    connection: str, sees: Callable[[str], bool], now: datetime
) -> tuple[ServerHealth, tuple[QueueCounts, ...]]:
    """The store's health, and the counts of each queue that `sees` allows. Raises BrokerUnavailable."""
    place = connections.get(connection)
    with connections.reading(connection) as client:
        health, names = _read_server(client, place.keys)
        visible = [name for name in names if sees(name)]
        return health, _read_counts(client, place, visible, now) if visible else ()


def _read_server(client: ReadOnlyRedis, keys: Keys) -> tuple[ServerHealth, list[str]]:
    pipeline = client.pipeline()
    pipeline.smembers(keys.queues)
    pipeline.time()
    pipeline.info("memory")
    pipeline.exists(keys.suspended)
    members, time, memory, suspended = connections.fetch(pipeline)
    limits = value(memory, {})
    health = ServerHealth(
        time=fields.server_time(time) if value(time) else None,
        eviction_policy=limits.get("maxmemory_policy"),
        memory_limit_bytes=int(limits.get("maxmemory", 0)),
        workers_suspended=bool(value(suspended, 0)),
    )
    return health, _names(keys, value(members, ()))


def _names(keys: Keys, members: Any) -> list[str]:
    return sorted(name for name in (keys.queue_name(fields.text(member)) for member in members) if name)


def _read_counts(
    client: ReadOnlyRedis, place: Connection, names: Sequence[str], now: datetime
) -> tuple[QueueCounts, ...]:
    pipeline = client.pipeline()
    for name in names:
        _ask_counts(pipeline, place.keys, name, now)
    answers = connections.fetch(pipeline)
    rows = [answers[at : at + _PER_QUEUE] for at in range(0, len(answers), _PER_QUEUE)]
    enqueued, alive = _read_oldest_and_workers(client, place.keys, rows)
    return tuple(
        _counts(place, name, row, oldest, alive) for name, row, oldest in zip(names, rows, enqueued, strict=True)
    )


def _ask_counts(pipeline: Any, keys: Keys, name: str, now: datetime) -> None:
    queue, wip = keys.queue(name), keys.registry("started", name)
    pipeline.llen(queue)
    pipeline.lindex(queue, 0)
    pipeline.lindex(queue, -1)
    for state in REGISTRIES:
        pipeline.zcard(keys.registry(state, name))
    pipeline.zcount(wip, "-inf", f"({now.timestamp()}")
    pipeline.zrevrange(keys.registry("failed", name), 0, 0, withscores=True)
    pipeline.zrange(keys.registry("scheduled", name), 0, 0, withscores=True)
    pipeline.smembers(keys.workers_of(name))
    pipeline.exists(keys.scheduler_lock(name))


def _read_oldest_and_workers(
    client: ReadOnlyRedis, keys: Keys, rows: Sequence[Sequence[Any]]
) -> tuple[list[datetime | None], set[bytes]]:
    """When the job longest in each queue was put there (a job put at the front may be the younger one), and
    which worker keys still exist: sets of workers keep names of the dead.
    """
    pipeline = client.pipeline()
    for row in rows:
        for job_id in row[1:3]:
            pipeline.hmget(keys.job(fields.text(value(job_id, b""))), ["enqueued_at"])
    members = {key for row in rows for key in value(row[-2], ())}
    # Not RQ's names: perhaps keys that our account may not read, which would cost the page all its answers.
    worker_keys = sorted(key for key in members if keys.worker_name(fields.text(key)))
    for key in worker_keys:
        pipeline.hmget(key, ["birth", "death"])
    answers = connections.fetch(pipeline)
    times = [fields.time(value(answer, [None])[0]) for answer in answers[: 2 * len(rows)]]
    oldest = [min(filter(None, times[at : at + 2]), default=None) for at in range(0, len(times), 2)]
    states = [value(answer, [None, None]) for answer in answers[2 * len(rows) :]]
    return oldest, {
        key for key, (birth, death) in zip(worker_keys, states, strict=True) if birth is not None and death is None
    }


def _counts(
    place: Connection, name: str, row: Sequence[Any], oldest: datetime | None, alive: set[bytes]
) -> QueueCounts:
    cards = [int(value(answer, 0)) for answer in row[3 : 3 + len(REGISTRIES)]]
    expired, failed, scheduled, workers, lock = row[3 + len(REGISTRIES) :]
    newest, due = value(failed, []), value(scheduled, [])
    return QueueCounts(
        connection=place.name,
        name=name,
        queued=int(value(row[0], 0)),
        counts=dict(zip(REGISTRIES, cards, strict=True)),
        expired_leases=int(value(expired, 0)),
        oldest_enqueued_at=oldest,
        workers_alive=len(alive & set(value(workers, ()))),
        has_scheduler=bool(value(lock, 0)),
        next_due_at=fields.epoch(due[0][1]) if due else None,
        newest_failed_id=fields.text(newest[0][0]) if newest else None,
    )
