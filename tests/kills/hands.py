"""What time and RQ's own housekeeping do to a job, without waiting for either."""

from __future__ import annotations

import time
from typing import Any

from redis import Redis

from tests.support.real_rq import RealRQ, RealWorker, wait_until

LONG_AGO = time.time() - 3600


def begin(rq: RealRQ, redis: Redis, function: str, job_id: str, **options: Any) -> RealWorker:
    """A worker of its own that has begun the job; the order is the job's id."""
    rq.enqueue(function, job_id, job_id=job_id, **options)
    worker = rq.start("orders")
    wait_until(lambda: redis.hget(f"rq:job:{job_id}", "status") == b"started", f"{job_id} begins")
    return worker


def let_go(redis: Redis, order_id: str) -> None:
    """Let the run of fx.wait_for_go end, and wait until it has acted."""
    acted = int(redis.get(f"effect:{order_id}") or 0)
    redis.set(f"go:{order_id}", 1)
    wait_until(lambda: int(redis.get(f"effect:{order_id}") or 0) > acted, f"order {order_id} is acted on")


def wait_for_status(redis: Redis, job_id: str, status: str) -> None:
    wait_until(lambda: redis.hget(f"rq:job:{job_id}", "status") == status.encode(), f"{job_id} is {status}")


def let_lease_run_out(redis: Redis, job_id: str) -> None:
    """As if nobody had renewed the job's leases for long: they are over, and what expires with them is gone."""
    listed: list[Any] = redis.zrange("rq:wip:orders", 0, -1)
    runs = [run for run in listed if run.startswith(f"{job_id}:".encode())]
    assert runs, f"no run of {job_id} holds a lease"
    redis.zadd("rq:wip:orders", dict.fromkeys(runs, LONG_AGO), xx=True)
    redis.zadd(f"rq:executions:{job_id}", {run.rpartition(b":")[2]: LONG_AGO + 60 for run in runs}, xx=True)
    redis.delete(*(b"rq:execution:" + run for run in runs))


def forget_worker(redis: Redis, worker: RealWorker) -> None:
    """As if the worker had given no sign of life for so long that its record is gone."""
    assert redis.delete(f"rq:worker:{worker.name}")


def clean_up(rq: RealRQ) -> None:
    """RQ's own cleaning of the started registry, which any worker does as it starts, and whoever counts the jobs."""
    rq.evaluate("rq.registry.StartedJobRegistry('orders', connection=connection).cleanup()")
