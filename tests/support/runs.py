"""Runs that nobody hears of any more, laid out as RQ would have left them, without a worker."""

from __future__ import annotations

import base64
import zlib
from datetime import UTC, datetime, timedelta
from typing import Any

from redis import Redis

from tests.support.real_rq import RealRQ

RUN = "0f" * 16


def ago(seconds: float) -> datetime:
    return datetime.now(UTC) - timedelta(seconds=seconds)


def rq_time(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def begin(rq: RealRQ, redis: Redis, job_id: str, *, lease: float = 60, began: float = 120, worker: str = "w-1") -> str:
    """A run of fx.effect that began so many seconds ago, and whose lease ends in so many; returns the run's id.

    Its worker lives.
    """
    rq.enqueue("fx.effect", job_id, job_id=job_id)
    redis.lrem("rq:queue:orders", 0, job_id)
    at = rq_time(ago(began))
    beginning: dict[Any, Any] = {"status": "started", "started_at": at, "last_heartbeat": at, "worker_name": worker}
    redis.hset(f"rq:job:{job_id}", mapping=beginning)
    redis.hset(f"rq:worker:{worker}", mapping={"birth": rq_time(ago(3600)), "state": "busy", "queues": "orders"})
    hold(redis, job_id, lease, worker=worker)
    return RUN


def hold(redis: Redis, job_id: str, lease: float, *, worker: str = "w-1") -> None:
    """Renew the run's lease for so many seconds; below 0 it ended so many ago."""
    until = datetime.now(UTC).timestamp() + lease
    redis.zadd("rq:wip:orders", {f"{job_id}:{RUN}": until})
    redis.zadd(f"rq:executions:{job_id}", {RUN: until + 60})
    stamp = until - 90
    run: dict[Any, Any] = {
        "id": RUN,
        "job_id": job_id,
        "created_at": stamp,
        "last_heartbeat": stamp,
        "worker_name": worker,
    }
    redis.hset(f"rq:execution:{job_id}:{RUN}", mapping=run)


def mislay(rq: RealRQ, redis: Redis, job_id: str, *, waits: float = 120, ran: bool = True) -> None:
    """A job that says that it has been queued for so many seconds, and stands in no queue."""
    rq.enqueue("fx.effect", job_id, job_id=job_id)
    redis.lrem("rq:queue:orders", 0, job_id)
    redis.hset(f"rq:job:{job_id}", "enqueued_at", rq_time(ago(waits)))
    if ran:
        redis.hset(f"rq:job:{job_id}", "started_at", rq_time(ago(waits + 10)))


def succeed(
    redis: Redis, job_id: str, *, began: datetime, ended: float = 0, status: str = "finished", error: str = ""
) -> str:
    """The process of the run that began then ends, so many seconds ago; returns the result's id.

    `status`: what its hash says; `error`: RQ failed after the function had returned.
    """
    times: dict[Any, Any] = {
        "execution_started_at": began.timestamp() - 0.02,
        "execution_ended_at": ago(ended).timestamp(),
    }
    redis.hset(f"rq:job:{job_id}", "status", status)
    kind: dict[Any, Any] = {"type": 2, "exc_string": _stored(error)} if error else {"type": 1}
    result_id: Any = redis.xadd(f"rq:results:{job_id}", {"worker_name": "w-1", **kind, **times})
    return str(result_id.decode())


def began_at(redis: Redis, job_id: str) -> datetime:
    """When the job's last run began, by its hash."""
    stored: Any = redis.hget(f"rq:job:{job_id}", "started_at")
    text = stored.decode()
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)


def file_as_abandoned(redis: Redis, job_id: str) -> None:
    """RQ's own cleaning has given the run up."""
    text = "Moved to FailedJobRegistry, due to AbandonedJobError, at 2026-01-01 00:00:00"
    redis.xadd(f"rq:results:{job_id}", {"type": 2, "exc_string": _stored(text)})
    redis.hset(f"rq:job:{job_id}", "status", "failed")
    redis.zadd("rq:failed:orders", {job_id: ago(-86_400).timestamp()})
    redis.delete("rq:wip:orders")


def _stored(text: str) -> bytes:
    """An error as RQ keeps it."""
    return base64.b64encode(zlib.compress(text.encode()))
