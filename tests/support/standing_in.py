"""Stands in for a worker whose keys were put back: renews what it would have renewed, and listens where it listened."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

LEASE_SECONDS = 60


@contextmanager
def standing_in(client: Any, worker: str, job_id: str, queue: str = "orders") -> Iterator[None]:
    """The worker is alive and runs this job; what it is told is heard and not obeyed."""
    _beat(client, worker, job_id, queue)
    with client.pubsub() as ear:
        ear.subscribe(f"rq:pubsub:{worker}")
        assert ear.get_message(timeout=10)
        yield


def _beat(client: Any, worker: str, job_id: str, queue: str) -> None:
    client.hset(f"rq:worker:{worker}", "last_heartbeat", datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"))
    # The job's own list keeps a run a minute longer than its lease.
    for key, seconds in ((f"rq:wip:{queue}", LEASE_SECONDS), (f"rq:executions:{job_id}", LEASE_SECONDS + 60)):
        client.zadd(key, dict.fromkeys(client.zrange(key, 0, -1), time.time() + seconds))
