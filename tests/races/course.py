"""Where races are run: one of our acts against a rival that starts at the same moment, round after round."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from redis import Redis

from jobs.broker.commands import Target
from tests.support.acts import read
from tests.support.real_rq import RealRQ

ROUNDS = 300
STEP_SECONDS = 0.00005
QUEUE = "rq:queue:orders"
FAR = 9_999_999_999


@dataclass(frozen=True)
class Round:
    """One round: the job, both answers, which came first, and whether the two were at work at the same time."""

    job_id: str
    ours: str
    theirs: str
    ours_came_first: bool
    overlapped: bool


class Ran(NamedTuple):
    """What one side answered, and from when to when it was at work (the machine's monotonic clock)."""

    answer: str
    began: float
    ended: float


@dataclass(frozen=True)
class Rival:
    """The other side: told to start after so many seconds, and then asked for its answer."""

    start: Callable[[str, float], None]
    end: Callable[[], Ran]


def race(
    act: Callable[[str], str], rival: Rival, prepare: Callable[[str], None], *, first: str = "done"
) -> Iterator[Round]:
    """Run ROUNDS rounds; `first` is our answer when we came first.

    Who did gives the other a little more of a start, so that both come first about as often, and as close to each other
    as the machine lets them, however busy it is.
    """
    head_start = 0.0
    for number in range(ROUNDS):
        job_id = f"race-{number}"
        prepare(job_id)
        rival.start(job_id, max(0.0, -head_start))
        ours = _run(act, job_id, max(0.0, head_start))
        theirs = rival.end()
        came_first = ours.answer == first
        overlapped = ours.began < theirs.ended and theirs.began < ours.ended
        yield Round(job_id, ours.answer, theirs.answer, came_first, overlapped)
        head_start += STEP_SECONDS if came_first else -STEP_SECONDS


def _run(act, job_id, delay) -> Ran:
    time.sleep(delay)
    began = time.monotonic()
    return Ran(act(job_id), began, time.monotonic())


@contextmanager
def ours(act: Callable[[str], str]) -> Iterator[Rival]:
    """Another of our own acts as the rival, in a thread."""
    running = []
    with ThreadPoolExecutor(1) as pool:
        yield Rival(
            start=lambda job_id, delay: running.append(pool.submit(_run, act, job_id, delay)),
            end=lambda: running.pop().result(30),
        )


@contextmanager
def rqs(real_rq: RealRQ, client: Redis, name: str) -> Iterator[Rival]:
    """One of RQ's own (rivals.RIVALS) as the rival, in RQ's interpreter."""
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(real_rq.evaluate, f"__import__('races.rivals').rivals.run({name!r})")

        def start(job_id, delay):
            client.rpush("race:start", json.dumps({"job_id": job_id, "delay": delay}))

        def end():
            answer = client.blpop("race:end", 10)
            assert answer, f"RQ's side has stopped: {running.exception(0)}"
            return Ran(*json.loads(answer[1]))

        try:
            yield Rival(start, end)
        finally:
            client.rpush("race:start", "null")
            running.result(30)


# The jobs -------------------------------------------------------------------------------------------------------------


class Model:
    """A job that a real RQ made, and copies of it made in a moment: what a run leaves is the same for each."""

    def __init__(self, client: Redis, job_id: str) -> None:
        self._client = client
        detail = read(job_id)
        assert detail
        self._job_id, self.seen = job_id, detail.seen
        client.delete("rq:failed:orders", QUEUE)

    def failed(self, job_id: str, *, expires_at: float = FAR) -> None:
        """A copy that alone is listed as failed."""
        self._copy(job_id).zadd("rq:failed:orders", {job_id: expires_at}).execute()

    def queued(self, job_id: str) -> None:
        """A copy that alone is queued."""
        self._copy(job_id).rpush(QUEUE, job_id).execute()

    def _copy(self, job_id):
        pipeline = self._client.pipeline()
        pipeline.delete("rq:failed:orders", QUEUE)
        for key in ("job", "results"):
            pipeline.copy(f"rq:{key}:{self._job_id}", f"rq:{key}:{job_id}")
        return pipeline

    def target(self, job_id: str, side: str = "") -> Target:
        """The copy as it was seen before the race; `side` tells apart two of our acts on it."""
        return Target(
            connection="default",
            queue="orders",
            job_id=job_id,
            seen=self.seen,
            deadline=datetime.now(UTC) + timedelta(seconds=30),
            audit_id=f"{job_id}{side}",
        )


class Place(NamedTuple):
    """Where a job is: its status (None: gone), how often it is queued, in the worker's hand or listed as failed."""

    status: str | None
    queued: int
    failed: bool


def place(client: Redis, job_id: str) -> Place:
    pipeline: Any = client.pipeline()
    pipeline.hget(f"rq:job:{job_id}", "status").lrange(QUEUE, 0, -1).zscore("rq:failed:orders", job_id)
    status, queued, score = pipeline.execute()
    return Place(status.decode() if status else None, queued.count(job_id.encode()), score is not None)
