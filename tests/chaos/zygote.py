"""Forks the workers and submitters of a world from one process that has imported everything: `python -m …zygote`.

One JSON line in, one pid out. Each child has a session of its own, and ends when this process does.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

import rq
from redis import Redis
from rq.decorators import job as rq_job

from opsboard.runner.lifeline import die_with_parent
from tests.chaos import events, work

CLASSES = {
    "fork": rq.Worker,
    "echo": rq.Worker,
    "mortal": rq.Worker,
    "simple": rq.SimpleWorker,
    "spawn": rq.worker.SpawnWorker,
}


def main() -> None:
    """Serve until the input ends."""
    # Whoever ends is not waited for: the kernel takes it away.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    tie = die_with_parent(signal.SIGKILL)
    for line in sys.stdin:
        request = json.loads(line)
        if (pid := os.fork()) == 0:
            if tie:
                tie()
            _become(ACTS[request.pop("act")], request)
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()


def run_worker(name: str, queue: str, kind: str, *, scheduler: bool = False) -> None:
    """A stock worker of RQ's."""
    if kind == "mortal":
        from django.conf import settings

        settings.OPSBOARD_DIE_WITH_WORKER = True
    client = Redis.from_url(os.environ["REDIS_URL"])
    CLASSES[kind]([queue], name=name, connection=client).work(with_scheduler=scheduler, logging_level="WARNING")


def submit(key: str, job: str, kind: str, queue: str, timeout: int) -> None:
    """What a web request does: business data and operation in one transaction, the queue once that is committed."""
    from django.db import transaction

    from jobs.models import JobType

    events.in_hand = key
    events.store = Redis.from_url(os.environ["REDIS_URL"])
    function = getattr(work, job)
    rq_job(rq.Queue(queue, connection=events.store), connection=events.store, timeout=timeout)(function)
    with transaction.atomic():
        JobType.objects.create(path=key)
        function.submit(kind, key)


ACTS = {"worker": run_worker, "submit": submit}

# ----------------------------------------------------------------------------------------------------------------------


def _become(act: Any, request: dict[str, Any]) -> None:
    code = 1
    try:
        os.setsid()
        # Standard output is the line on which pids are told.
        os.dup2(2, 1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        act(**request)
        code = 0
    except BaseException as error:
        sys.stderr.write(f"{request}: {type(error).__name__}: {error}\n")
    finally:
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
