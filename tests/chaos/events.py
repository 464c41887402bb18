"""What is done at a point of the write order, once for each operation: the harm that the matrix is about.

A key says it itself: `17~keyed~after_call.raise+before_probe.kill_horse`. jobs.safety calls `at` with the name of every
point that a job passes (OPSBOARD_TEST_POINTS); a submitting process sets `in_hand` before it begins.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import time
from collections.abc import Callable
from pathlib import Path

import rq
from redis import Redis

in_hand = ""
"""The key that a submitting process is about."""
store: Redis | None = None
"""What a submitting process speaks to the job store through."""


def at(point: str) -> None:
    """Do what the key of the job in hand says of this point; nothing the second time."""
    key = _key_in_hand()
    for one in faults_of(key):
        where, _, event = one.partition(".")
        if where == point and _is_first(key, one):
            EVENTS[event]()


def is_first(key: str, point: str, event: str) -> bool:
    """Whether the key wants this event at this point, and has not had it yet."""
    fault = f"{point}.{event}"
    return fault in faults_of(key) and _is_first(key, fault)


def faults_of(key: str) -> list[str]:
    """`point.event` of each."""
    return [one for one in key.rpartition("~")[2].split("+") if "." in one]


def folder() -> Path:
    """What the processes of a world tell each other by files."""
    return Path(os.environ["CHAOS_FOLDER"])


CARRIED_OUT_SECONDS = 0.6
"""After so long the oracle has done what it was asked to do."""

# Events ---------------------------------------------------------------------------------------------------------------


class Harm(Exception):
    """What an unforeseen error of job code looks like."""


def kill_horse() -> None:
    """The process that runs the job; its worker sees it die."""
    os.kill(os.getpid(), signal.SIGKILL)


def kill_worker() -> None:
    """The worker alone: this process goes on, an orphan."""
    parent = os.getppid()
    os.kill(parent, signal.SIGKILL)
    _wait(lambda: os.getppid() != parent, 5)
    # With OPSBOARD_DIE_WITH_WORKER the kernel ends this process as well, a moment later.
    time.sleep(0.05)


def kill_both() -> None:
    """Worker and horse, as when a host is lost."""
    os.kill(os.getppid(), signal.SIGKILL)
    kill_horse()


def exhaust() -> None:
    """A library in C that does not ask whether it got memory."""
    resource.setrlimit(resource.RLIMIT_AS, (2**28, 2**28))
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    ctypes.memset(libc.malloc(ctypes.c_size_t(2**30)), 1, 2**30)


def freeze() -> None:
    """Stand still past the lease, and go on as if nothing had been, deaf to RQ's alarm as C code is."""
    signal.setitimer(signal.ITIMER_REAL, 0)
    freeze_with_alarm()


def freeze_with_alarm() -> None:
    """As above, and RQ's alarm rings as soon as it goes on. Whoever drives the world wakes it."""
    (folder() / "frozen" / f"{_key_in_hand()}@{os.getpid()}").write_text(str(os.getpid()))
    os.kill(os.getpid(), signal.SIGSTOP)


def run_late() -> None:
    """The job's time runs out here: RQ's alarm rings."""
    signal.setitimer(signal.ITIMER_REAL, CARRIED_OUT_SECONDS if _is_in_call() else 0.05)
    time.sleep(60)


def fail() -> None:
    """An error that nobody foresaw; in a call the request has been carried out by then."""
    time.sleep(CARRIED_OUT_SECONDS if _is_in_call() else 0)
    raise Harm("unforeseen")


def lose_database() -> None:
    """From here on this process has no database any more."""
    from django.db import connection

    told = connection.settings_dict
    told["NAME" if connection.vendor == "sqlite" else "PORT"] = "/nowhere/db" if connection.vendor == "sqlite" else "1"
    _drop(connection)


def cut_database() -> None:
    """The database ends this process's session; a new one is to be had."""
    from django.db import connection

    assert connection.vendor == "postgresql"
    if connection.connection is None:
        return
    import psycopg

    pid = connection.connection.info.backend_pid
    with psycopg.connect(connection.connection.info.dsn, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s)", [pid])
    time.sleep(0.1)


def flush() -> None:
    """The job store forgets everything."""
    _redis().flushdb()


def lose_redis() -> None:
    """The submitting process reaches the job store no more."""
    assert store is not None
    store.connection_pool = Redis(port=1).connection_pool


def twice() -> None:
    """Another delivery arrives, and is turned away while this one is under way."""
    from jobs.models import Attempt

    job = rq.get_current_job()
    assert job is not None
    # Where somebody always waits for it.
    queue = rq.Queue("echo", connection=job.connection)
    queue.enqueue_call(str(job.func_name), kwargs=job.kwargs, timeout=int(job.timeout or 0))
    seen = Attempt.objects.filter(operation__entity=job.kwargs["key"], number=0)
    if _has_begun():
        _wait(seen.exists, 10)


def sweep() -> None:
    """The observer looks at it meanwhile, since it is said to be due."""
    from django.utils import timezone

    from jobs.models import ObserverState, Operation

    Operation.objects.filter(entity=_key_in_hand()).update(due_at=timezone.now())
    passed = ObserverState.objects.values_list("last_pass_at", flat=True)
    before = passed.first()
    _wait(lambda: passed.first() != before, 10)
    before = passed.first()
    _wait(lambda: passed.first() != before, 10)


def stop() -> None:
    """An operator has RQ stop the job: its worker kills this process, and records that."""
    from rq.command import send_stop_job_command

    job = rq.get_current_job()
    assert job is not None
    send_stop_job_command(job.connection, job.id)
    time.sleep(60)


EVENTS: dict[str, Callable[[], None]] = {
    "kill_horse": kill_horse,
    "kill_worker": kill_worker,
    "kill_both": kill_both,
    "freeze": freeze,
    "freeze_with_alarm": freeze_with_alarm,
    "timeout": run_late,
    "raise": fail,
    "no_database": lose_database,
    "no_redis": lose_redis,
    "database_cut": cut_database,
    "flush": flush,
    "twice": twice,
    "observer": sweep,
    "stop": stop,
    "out_of_memory": exhaust,
}

# ----------------------------------------------------------------------------------------------------------------------


def _key_in_hand() -> str:
    if in_hand:
        return in_hand
    job = rq.get_current_job()
    return str(job.kwargs.get("key", "")) if job is not None else ""


def _is_first(key: str, fault: str) -> bool:
    """One process makes the mark, whatever kills it a moment later."""
    try:
        mark = os.open(folder() / "fired" / f"{key}@{fault}", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        return False
    os.write(mark, f"{os.getpid()} {time.time()}".encode())
    os.close(mark)
    return True


def _has_begun() -> bool:
    """Whether this delivery has been claimed: two that are both at the door must not wait for each other."""
    from jobs.models import Attempt

    return Attempt.objects.filter(operation__entity=_key_in_hand(), number__gte=1).exists()


def _is_in_call() -> bool:
    return any(one.startswith("in_call.") for one in faults_of(_key_in_hand()))


def _drop(connection: object) -> None:
    """Without a word to the other side: a rollback would still reach it."""
    raw = connection.connection  # type: ignore[attr-defined]  # Django's wrapper of a database session
    if raw is not None:
        raw.close()


def _redis() -> Redis:
    return Redis.from_url(os.environ["REDIS_URL"])


def _wait(condition: Callable[[], object], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
