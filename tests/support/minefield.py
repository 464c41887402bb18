"""What would go off if somebody who only has to read did more: callbacks, pickles that act, and every kind of damage.

Real jobs of a real RQ, dead workers, and what no RQ would write. All of it lies in the queue `orders`.
"""

from __future__ import annotations

import pickle
import time
from pathlib import Path

from redis import Redis

from tests.support.real_rq import RealRQ, wait_until

LONG_AGO = time.time() - 3600
CANARIES = ("on_failure:*", "effect:*")
"""Counters that code of the jobs would raise; the job functions and callbacks are those of tests/fx.py."""
JOBS = (
    *("plain", "trap-data", "trap-meta", "trap-legacy", "trap-result", "done", "later", "held", "canceled"),
    *("abandoned", "abandoned-last", "poison", "orphan", "ghost", "half", "wrong"),
)


class Trap:
    """Unpickled, it creates the file at `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[Path]]:
        return Path.touch, (self.path,)


def lay(rq: RealRQ, client: Redis, folder: Path) -> None:
    """Fill the empty Redis at `client`. Traps touch files below `folder`, which is empty afterwards."""
    _run_real_jobs(rq, folder)
    _lose_a_host(rq, client)
    _park_real_jobs(rq)
    # A worker died right after it took the job from the queue.
    rq.enqueue("fx.ok", 1, job_id="orphan", on_failure="fx.on_failure")
    client.lmove("rq:queue:orders", "rq:queue:orders:intermediate", "RIGHT", "LEFT")
    _set_traps(client, folder)
    _break_jobs(client)
    _break_queues_and_workers(client)
    for touched in folder.iterdir():
        # By the worker, which had to unpickle what it ran.
        touched.unlink()


def _run_real_jobs(rq: RealRQ, folder: Path) -> None:
    rq.enqueue("fx.boom", 7, job_id="plain")
    rq.enqueue("fx.boom", expression=f"(8, fx.Trap({str(folder / 'data')!r}))", job_id="trap-data")
    rq.enqueue("fx.trap", 9, str(folder / "return_value"), job_id="trap-result", result_ttl=-1)
    for job_id in ("trap-meta", "trap-legacy"):
        rq.enqueue("fx.boom", 10, job_id=job_id)
    rq.enqueue("fx.ok", 11, job_id="done", result_ttl=-1)
    rq.burst("orders")


def _lose_a_host(rq: RealRQ, client: Redis) -> None:
    """A run that nobody saw ending, with retries left and a callback: the next who counts it settles it."""
    retry = {"max": 2}
    rq.enqueue("fx.slow", 12, 600, job_id="abandoned", retry=retry, on_failure="fx.on_failure")
    worker = rq.start("orders", name="lost")
    worker.wait_for_horse()
    wait_until(lambda: client.hget("rq:job:abandoned", "status") == b"started", "the job has begun")
    run = wait_until(lambda: client.zrange("rq:wip:orders", 0, -1), "the run has its lease")[0].decode()
    worker.kill_session()
    client.hset("rq:job:abandoned", "status", "started")
    client.copy("rq:job:abandoned", "rq:job:abandoned-last")
    client.hdel("rq:job:abandoned-last", "retries_left")
    client.copy("rq:job:abandoned", "rq:job:poison")
    client.hset("rq:job:poison", "failure_callback_name", "nowhere.to_be_found")
    others = {run.replace("abandoned", job_id): LONG_AGO for job_id in ("abandoned-last", "ghost", "wrong")}
    damaged = {"no-colon": LONG_AGO, run.replace("abandoned", "poison"): LONG_AGO + 60}
    client.zadd("rq:wip:orders", {run: LONG_AGO - 60, **others, **damaged})
    client.zadd("rq:executions:abandoned", {run.rpartition(":")[2]: LONG_AGO - 60})


def _park_real_jobs(rq: RealRQ) -> None:
    rq.enqueue("fx.ok", 13, job_id="later", seconds=-60)
    rq.enqueue("fx.ok", 14, job_id="held", depends_on="plain")
    rq.enqueue("fx.ok", 15, job_id="canceled")
    rq.evaluate("rq.job.Job.fetch('canceled', connection=connection).cancel()")
    rq.enqueue("fx.effect", 16, job_id="waiting")


def _set_traps(client: Redis, folder: Path) -> None:
    client.hset("rq:job:trap-meta", "meta", pickle.dumps(Trap(folder / "meta")))
    client.hset("rq:job:trap-legacy", "result", pickle.dumps(Trap(folder / "result")))


def _break_jobs(client: Redis) -> None:
    """An id without a job, a job without its data, and keys of other types; all of them past their time."""
    client.hset("rq:job:half", "last_heartbeat", "2026-01-01T00:00:00.000000Z")
    for key in ("rq:job:wrong", "rq:results:wrong", "rq:executions:wrong", "rq:job:wrong:dependents"):
        client.set(key, "of another type")
    for registry in ("failed", "finished", "deferred", "scheduled", "canceled"):
        client.zadd(f"rq:{registry}:orders", {"ghost": LONG_AGO, "half": LONG_AGO, "wrong": LONG_AGO})
    client.rpush("rq:queue:orders", "ghost", "half", "wrong", b"\xff\x00")
    client.zadd("rq:failed:orders", {b"\xff\x00": LONG_AGO})


def _break_queues_and_workers(client: Redis) -> None:
    client.sadd("rq:queues", "rq:queue:mixed", "nonsense", b"\xff\x00")
    client.hset("rq:queue:mixed", "of", "another type")
    for registry in ("wip", "failed", "finished", "deferred", "scheduled", "canceled"):
        client.set(f"rq:{registry}:mixed", "of another type")
    client.set("rq:worker:wrong", "of another type")
    for key in ("rq:workers", "rq:workers:orders"):
        client.sadd(key, "rq:worker:wrong", "rq:worker:gone", "nonsense")
