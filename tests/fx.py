"""Job functions as a stranger's application has them. Workers import this as `fx`; the dashboard never does.

Each takes the order's id first. "Effect" is a counter in Redis that shows a repeated effect.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
import time
from pathlib import Path

import redis
from rq import Retry, get_current_job
from rq.utils import import_attribute

R = redis.Redis.from_url(os.environ.get("FX_REDIS_URL", "redis://127.0.0.1:1/0"))


class CardDeclined(Exception):
    """A business error of the application's own."""


class Parcel:
    """An argument whose class exists in the worker only."""

    def __init__(self, order_id):
        self.order_id = order_id

    def __repr__(self):
        return f"Parcel({self.order_id})"


class Trap:
    """Unpickling it creates the file at `path`: proof that somebody ran what they only had to read."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (Path(self.path),)


def ok(order_id, *args, **kwargs):
    return order_id


def boom(order_id, *args, **kwargs):
    raise ValueError(f"boom {order_id}")


def say(order_id, text):
    raise ValueError(text)


def declined(order_id):
    raise CardDeclined(f"card of order {order_id} declined")


def missing_key(order_id):
    return {}[order_id]


def slow(order_id, seconds):
    time.sleep(seconds)


def effect(order_id):
    R.incr(f"effect:{order_id}")


def boom_after_effect(order_id):
    effect(order_id)
    raise ValueError(f"boom {order_id}")


def boom_once(order_id):
    """Fails the first time, then succeeds: what a retry is for."""
    if R.incr(f"boom_once:{order_id}") == 1:
        raise ConnectionError(f"the shop did not answer for order {order_id}")
    return order_id


def chained(order_id):
    try:
        try:
            {}[order_id]
        except KeyError as error:
            raise ConnectionError(f"no stock answer for order {order_id}") from error
    except ConnectionError as error:
        raise CardDeclined(f"order {order_id} not charged") from error


def deep(order_id, depth=400):
    """A traceback of `depth` frames of its own."""
    if depth <= 0:
        raise ValueError(f"boom {order_id}")
    deep(order_id, depth - 1)


def ping(order_id, depth=5_000):
    """A traceback of `depth` frames that Python prints one by one: it folds a line only when that line repeats."""
    sys.setrecursionlimit(20_000)
    if depth <= 0:
        raise ValueError(f"boom {order_id}")
    pong(order_id, depth - 1)


def pong(order_id, depth):
    ping(order_id, depth - 1)


def endless(order_id):
    endless(order_id)


def long_message(order_id, characters, text="x"):
    raise ValueError((text * characters)[:characters])


def try_again(order_id, times, seconds=0):
    """RQ's other kind of retry: returned, not declared; it leaves an entry for each attempt."""
    return Retry(max=times, interval=seconds)


def trap(order_id, path):
    """A result that is dangerous to read."""
    return Trap(path)


def exit_at_once(order_id, code):
    os._exit(code)


def die(order_id):
    os.kill(os.getpid(), signal.SIGKILL)


def horse_dies_after_effect(order_id):
    effect(order_id)
    os.kill(os.getpid(), signal.SIGKILL)


def die_after_effect(order_id):
    """Kills its parent too: only for a forking worker in a session of its own."""
    effect(order_id)
    os.kill(os.getppid(), signal.SIGKILL)  # the worker
    os.kill(os.getpid(), signal.SIGKILL)  # its work horse


def on_failure(job, connection, kind, error, traceback):
    """A failure callback that shows where it ran."""
    connection.incr(f"on_failure:{job.id}")


def on_success(job, connection, result):
    connection.incr(f"on_success:{job.id}")


def on_success_boom(job, connection, result):
    raise ValueError("the callback failed, the job had succeeded")


def end_by_signal(order_id, number):
    """Its process ends by a signal that comes from outside or from a crash."""
    effect(order_id)
    os.kill(os.getpid(), number)


def run_out_of_memory(order_id):
    """Python's own code would get an exception; a library in C that does not ask whether it got memory is killed."""
    effect(order_id)
    resource.setrlimit(resource.RLIMIT_AS, (2**28, 2**28))
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    ctypes.memset(libc.malloc(ctypes.c_size_t(2**30)), 1, 2**30)


def swallow_time_limit(order_id, seconds):
    """RQ's time limit is an exception like any other."""
    try:
        time.sleep(seconds)
    except Exception:
        effect(order_id)


def unserialisable(order_id):
    return lambda: order_id


def lose_redis_after_effect(order_id):
    """The worker's process for this job reaches Redis no more, and so cannot say how it went."""
    effect(order_id)
    pool = get_current_job().connection.connection_pool
    pool.connection_kwargs["port"] = 1
    pool.reset()


def look_up(order_id, path):
    """Uses RQ within, which fails there as it would outside."""
    effect(order_id)
    import_attribute(path)


def wait_for_go(order_id):
    """Acts only once `go:<order_id>` exists: a run that a test lets end when it likes."""
    while not R.exists(f"go:{order_id}"):
        time.sleep(0.02)
    effect(order_id)


def wait_for_go_then_boom(order_id):
    wait_for_go(order_id)
    raise ValueError(f"boom {order_id}")


def on_failure_boom(job, connection, kind, error, traceback):
    raise KeyError("the callback failed too")
