"""Every worker of a connection and what each is doing, in three round trips."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from jobs.broker import connections, fields
from jobs.broker.connections import value
from jobs.broker.guarded import ReadOnlyRedis
from jobs.broker.hashes import WORKER_FIELDS, worker
from jobs.broker.keys import Keys
from jobs.broker.records import Relative, Worker

WORKERS_SHOWN = 1000


def read_workers(connection: str) -> tuple[tuple[Worker, tuple[Relative, ...]], ...]:
    """Each registered worker with the jobs it says it is running (id, status and queue). Raises BrokerUnavailable."""
    keys = connections.get(connection).keys
    with connections.reading(connection) as client:
        pipeline = client.pipeline()
        pipeline.smembers(keys.workers)
        members = value(connections.fetch(pipeline)[0], ())
        names = sorted(filter(None, (keys.worker_name(fields.text(member)) for member in members)))
        workers = _read_hashes(client, keys, names[:WORKERS_SHOWN])
        jobs = _read_jobs(client, keys, [job_id for one in workers for job_id in one.current_job_ids])
    return tuple((one, tuple(jobs[job_id] for job_id in one.current_job_ids)) for one in workers)


def _read_hashes(client: ReadOnlyRedis, keys: Keys, names: list[str]) -> list[Worker]:
    pipeline = client.pipeline()
    for name in names:
        pipeline.hmget(keys.worker(name), WORKER_FIELDS)
        pipeline.smembers(keys.worker_executions(name))
    answers = connections.fetch(pipeline) if names else []
    found = [worker(name, *pair) for name, pair in zip(names, _pairs(answers), strict=True)]
    # A name with a comma would be split wrongly from the joined field; such queues are rare and merely not linked.
    return [replace(one, current_job_ids=one.current_job_ids[:20]) for one in found]


def _pairs(answers: list[Any]) -> list[tuple[Any, Any]]:
    return [(answers[at], value(answers[at + 1], ())) for at in range(0, len(answers), 2)]


def _read_jobs(client: ReadOnlyRedis, keys: Keys, job_ids: list[str]) -> dict[str, Relative]:
    pipeline = client.pipeline()
    for job_id in job_ids:
        pipeline.hmget(keys.job(job_id), ["status", "origin"])
    answers = connections.fetch(pipeline) if job_ids else []
    return {
        job_id: Relative(
            job_id=job_id,
            exists=value(answer, [None, None]) != [None, None],
            status=fields.optional_text(value(answer, [None, None])[0]),
            origin=fields.optional_text(value(answer, [None, None])[1]),
        )
        for job_id, answer in zip(job_ids, answers, strict=True)
    }
