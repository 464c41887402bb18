"""Writes failures as RQ writes them, hundreds in a second, from the keys of one job that really failed."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

from tests.support.real_rq import wait_until

YEAR = 365 * 86_400
"""How long RQ keeps a failure that does not say so itself."""


class Failing:
    """Clones of the failed job `model`, with another id, another time and their own result."""

    def __init__(self, client: Any, model: str = "model") -> None:
        self.client, self.model = client, model
        wait_until(lambda: client.xlen(f"rq:results:{model}"), "its failure is on record")
        self.hash: dict[Any, Any] = client.hgetall(f"rq:job:{model}")
        self.entry: dict[Any, Any] = client.xrevrange(f"rq:results:{model}", count=1)[0][1]

    def fail(
        self, *job_ids: str, queue: str = "orders", at: float | None = None, ttl: int = YEAR, **fields: str
    ) -> None:
        """Let these fail, each in a transaction of its own. `at`: their worker's clock; `fields` go to the hash."""
        at = time.time() if at is None else at
        ended = datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        pipeline = self.client.pipeline(transaction=False)
        pipeline.sadd("rq:queues", f"rq:queue:{queue}")
        for job_id in job_ids:
            own = {"origin": queue, "ended_at": ended, "failure_ttl": str(ttl), **fields}
            pipeline.execute_command("MULTI")
            pipeline.hset(f"rq:job:{job_id}", mapping={**self.hash, **own})
            pipeline.zadd(f"rq:failed:{queue}", {job_id: ttl if ttl < 0 else int(at) + ttl})
            pipeline.xadd(f"rq:results:{job_id}", self.entry)
            pipeline.execute_command("EXEC")
        pipeline.execute()
