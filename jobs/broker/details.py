"""One job, whole: everything Redis knows of it, in two round trips."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from jobs.broker import connections, fields
from jobs.broker.connections import value
from jobs.broker.guarded import ReadOnlyRedis
from jobs.broker.hashes import (
    DETAIL_FIELDS,
    DETAIL_PAYLOAD_BYTES,
    DETAIL_TEXT_BYTES,
    WORKER_FIELDS,
    job_hash,
    result,
    worker,
)
from jobs.broker.keys import REGISTRIES, Keys
from jobs.broker.records import Execution, JobDetail, JobHash, Relative

RESULTS_SHOWN = 30
RELATIVES_SHOWN = 50
_FOREVER_MILLISECONDS = 100 * 365 * 86_400_000
"""A time-to-live beyond this is none that anybody waits for."""
_KEPT_LONGER_SECONDS = 60
"""A run stands in its job's own list this much longer than its lease, which RQ keeps in the queue's list of runs.

That one forgets a run when its job is cancelled; its own list does not.
"""
QUEUE_LOOKED_AT = 50_000
"""In longer queues the id is not looked for: LPOS would hold Redis too long (design, chapter 4)."""


def read_job(connection: str, queue: str, job_id: str, *, now: datetime) -> JobDetail | None:
    """Everything about one job of one queue, or None when that queue has no such job.

    A job whose hash names another queue is not this queue's; an id that is only listed is (its data is gone).
    Raises BrokerUnavailable.
    """
    keys = connections.get(connection).keys
    with connections.reading(connection) as client:
        first = _read_first(client, keys, queue, job_id)
        job = job_hash(job_id, DETAIL_FIELDS, first["hash"], payload_bytes=DETAIL_PAYLOAD_BYTES)
        if not _belongs(job, queue, first):
            return None
        second = _read_second(client, keys, job, first)
    return _detail(connection, queue, job, first, second, now)


def _read_first(client: ReadOnlyRedis, keys: Keys, queue: str, job_id: str) -> dict[str, Any]:
    names = ["hash", "results", "results_total", "executions", "dependents", "ttl", "results_ttl"]
    pipeline = client.pipeline()
    pipeline.hmget(keys.job(job_id), DETAIL_FIELDS)
    pipeline.xrevrange(keys.results(job_id), count=RESULTS_SHOWN)
    pipeline.xlen(keys.results(job_id))
    pipeline.zrange(keys.executions(job_id), 0, 20, withscores=True)
    pipeline.smembers(keys.dependents(job_id))
    pipeline.pttl(keys.job(job_id))
    pipeline.pttl(keys.results(job_id))
    for state in REGISTRIES:
        pipeline.zscore(keys.registry(state, queue), job_id)
    pipeline.llen(keys.queue(queue))
    pipeline.lpos(keys.queue(queue), job_id, count=0, maxlen=QUEUE_LOOKED_AT)
    pipeline.lpos(keys.intermediate(queue), job_id)
    pipeline.smembers(keys.workers_of(queue))
    pipeline.exists(keys.scheduler_lock(queue))
    names += [*REGISTRIES, "length", "positions", "intermediate", "workers", "scheduler"]
    return dict(zip(names, connections.fetch(pipeline), strict=True))


def _belongs(job: JobHash, queue: str, first: Mapping[str, Any]) -> bool:
    if job.origin is not None:
        return job.origin == queue
    listed = any(value(first[state]) is not None for state in REGISTRIES)
    return listed or bool(value(first["positions"], [])) or value(first["intermediate"]) is not None


def _read_second(client: ReadOnlyRedis, keys: Keys, job: JobHash, first: Mapping[str, Any]) -> dict[str, Any]:
    """The relatives, the runs going on, the worker: what could only be named after the first answers."""
    dependents = sorted(fields.text(one) for one in value(first["dependents"], ()))[:RELATIVES_SHOWN]
    dependencies = list(job.dependency_ids[:RELATIVES_SHOWN])
    executions = [(fields.text(member), score) for member, score in value(first["executions"], [])]
    workers = sorted(key for key in map(fields.text, value(first["workers"], ())) if keys.worker_name(key))
    pipeline = client.pipeline()
    for relative in [*dependents, *dependencies]:
        pipeline.hmget(keys.job(relative), ["status", "origin"])
    for member, _ in executions:
        pipeline.hmget(keys.execution(job.job_id, member), ["worker_name", "created_at", "last_heartbeat"])
    for key in workers:
        pipeline.hmget(key, ["birth", "death"])
    pipeline.hmget(keys.worker(job.worker_name or ""), WORKER_FIELDS)
    answers = connections.fetch(pipeline)
    at = len(dependents) + len(dependencies)
    relatives = [_relative(name, answer) for name, answer in zip([*dependents, *dependencies], answers, strict=False)]
    return {
        "dependents": tuple(relatives[: len(dependents)]),
        "dependencies": tuple(relatives[len(dependents) :]),
        "executions": tuple(map(_execution, executions, answers[at : at + len(executions)])),
        "queue_has_worker": any(_is_alive(answer) for answer in answers[at + len(executions) : -1]),
        "worker": worker(job.worker_name, answers[-1]) if job.worker_name else None,
    }


def _relative(job_id: str, answer: Any) -> Relative:
    status, origin = value(answer, [None, None])
    return Relative(
        job_id=job_id,
        exists=status is not None or origin is not None,
        status=fields.optional_text(status),
        origin=fields.optional_text(origin),
    )


def _execution(member: tuple[str, float], answer: Any) -> Execution:
    execution_id, score = member
    name, started, beat = value(answer, [None, None, None])
    return Execution(
        execution_id=execution_id,
        worker_name=fields.optional_text(name),
        started_at=fields.epoch(started),
        last_heartbeat=fields.epoch(beat),
        lease_until=fields.epoch(score - _KEPT_LONGER_SECONDS),
    )


def _is_alive(answer: Any) -> bool:
    birth, death = value(answer, [None, None])
    return birth is not None and death is None


def _detail(
    connection: str, queue: str, job: JobHash, first: Mapping[str, Any], second: Mapping[str, Any], now: datetime
) -> JobDetail:
    scores = {state: float(score) for state in REGISTRIES if (score := value(first[state])) is not None}
    too_long = value(first["length"], 0) > QUEUE_LOOKED_AT
    entries: Sequence[Any] = value(first["results"], [])
    return JobDetail(
        connection=connection,
        queue=queue,
        job=job,
        results=tuple(result(entry_id, entry, text_bytes=DETAIL_TEXT_BYTES) for entry_id, entry in entries),
        results_total=value(first["results_total"], 0),
        scores=scores,
        queued_times=None if too_long else len(value(first["positions"], [])),
        in_intermediate=value(first["intermediate"]) is not None,
        expires_at=_expiry(first["ttl"], now),
        results_expire_at=_expiry(first["results_ttl"], now),
        dependents_total=len(value(first["dependents"], ())),
        queue_has_scheduler=bool(value(first["scheduler"], 0)),
        **second,
    )


def _expiry(ttl_milliseconds: Any, now: datetime) -> datetime | None:
    left = value(ttl_milliseconds, -1)
    return now + timedelta(milliseconds=left) if 0 <= left < _FOREVER_MILLISECONDS else None


def find_origins(connection: str, job_id: str, queues: Sequence[str]) -> tuple[str, ...]:
    """The queues in which a job of this id can be opened: its own, or those of `queues` that only list it.

    Raises BrokerUnavailable.
    """
    keys = connections.get(connection).keys
    with connections.reading(connection) as client:
        pipeline = client.pipeline()
        pipeline.hmget(keys.job(job_id), ["origin"])
        for queue in queues:
            pipeline.zscore(keys.registry("failed", queue), job_id)
        (origin,), *scores = [
            value(answer, [None] if at == 0 else None) for at, answer in enumerate(connections.fetch(pipeline))
        ]
    if origin is not None:
        return (fields.text(origin),)
    return tuple(queue for queue, score in zip(queues, scores, strict=True) if score is not None)
