"""One measurement in a process of its own: runs the jobs through a worker and prints what each cost, as JSON.

python -m bench.measuring fork|simple NUMBER-OF-JOBS-OF-EACH-KIND
"""

from __future__ import annotations

import django

django.setup()

import json
import logging
import os
import random
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from django.db import connection
from redis import Redis
from rq import Queue, SimpleWorker, Worker
from rq.job import Job

from bench import tasks

KINDS = ("plain", "no_effect", "one_effect")


class Timed:
    """A worker that notes what each job cost: milliseconds by the clock, and of CPU, its children's included."""

    costs: dict[str, list[tuple[float, float]]]

    def execute_job(self, job: Job, queue: Queue) -> Any:
        began, cpu = time.perf_counter(), _cpu_seconds()
        super().execute_job(job, queue)  # type: ignore[misc]  # of the worker beside it
        cost = ((time.perf_counter() - began) * 1e3, (_cpu_seconds() - cpu) * 1e3)
        self.costs[str(job.func_name).rpartition(".")[2]].append(cost)


class TimedFork(Timed, Worker):
    """RQ's own, with a process for each job."""


class TimedSimple(Timed, SimpleWorker):
    """All jobs in one process."""


def main(worker: str, count: int) -> None:
    logging.disable(logging.INFO)
    client = Redis.from_url(os.environ["OPSBOARD_EMBEDDED_REDIS_URL"])
    queue = Queue("bench", connection=client, default_timeout=60)
    kind = {"fork": TimedFork, "simple": TimedSimple}[worker]
    _run(kind, queue, 5)
    counted = _count(queue) if worker == "simple" else {}
    if worker == "fork":
        # Its parent has no connection to hand down, as under a stock worker.
        connection.close()
    print(json.dumps({"costs": _run(kind, queue, count), "statements": counted}))


def _run(kind: type[Any], queue: Queue, count: int) -> dict[str, list[tuple[float, float]]]:
    order = [name for name in KINDS for _ in range(count)]
    random.shuffle(order)
    for name in order:
        _enqueue(queue, name)
    worker = kind([queue], connection=queue.connection)
    worker.costs = defaultdict(list)
    worker.work(burst=True, logging_level="ERROR")
    return dict(worker.costs)


def _count(queue: Queue) -> dict[str, dict[str, int]]:
    """How many statements and how many commits of a transaction that wrote one job of each kind makes."""
    counted = {}
    for name in KINDS:
        _enqueue(queue, name)
        with _statements() as seen:
            SimpleWorker([queue], connection=queue.connection).work(burst=True, logging_level="ERROR")
        counted[name] = {"statements": len(seen), "commits": sum(text.startswith("COMMIT") for text in seen)}
        if os.environ.get("BENCH_SHOW"):
            print(name, *seen, sep="\n  ", file=sys.stderr)
    return counted


@contextmanager
def _statements() -> Iterator[list[str]]:
    seen: list[str] = []
    connection.force_debug_cursor = True
    connection.queries_log.clear()
    yield seen
    seen += [str(one["sql"]) for one in connection.queries_log]
    connection.force_debug_cursor = False


def _enqueue(queue: Queue, name: str) -> None:
    # What costs is made once, here: an operation is adopted at its first claim, and a submitted one costs less there.
    queue.enqueue(getattr(tasks, name), uuid4().int % 10**9)


def _cpu_seconds() -> float:
    return sum(
        used.ru_utime + used.ru_stime
        for used in (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
