"""Runs in the interpreter of one RQ version and does there what tests ask: one JSON line in, one JSON line out.

Started once per test process and kept: importing RQ costs more than most tests. Workers are forked from here, each in a
session of its own, and run RQ's own command line. Never imported by the tests themselves.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import traceback
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path

import redis
import rq
import rq.cli
import rq.job
import rq.serializers

# At the end of the path: at its front, a folder of tests would stand in for a module of Python's own of that name.
sys.path.append(str(Path(__file__).parents[1]))
fx = import_module("fx")
URL = os.environ["FX_REDIS_URL"]
NAMES = {"datetime": datetime, "timedelta": timedelta, "UTC": UTC, "fx": fx, "rq": rq, "redis": redis, "os": os}


def main():
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = {"value": ACTS[request.pop("act")](**request)}
        except Exception:
            answer = {"error": traceback.format_exc()}
        print(json.dumps(answer, default=str), flush=True)


def enqueue(function, args, queue, expression=None, serializer=None, at=None, seconds=None, **options):
    connection = redis.Redis.from_url(URL)
    place = rq.Queue(queue, connection=connection, serializer=serializer)
    given = evaluate(expression) if expression else tuple(args)
    options = {name: CONVERTERS.get(name, _same)(option) for name, option in options.items()}
    if at is not None:
        return place.enqueue_at(datetime.fromisoformat(at), function, args=given, **options).id
    if seconds is not None:
        return place.enqueue_in(timedelta(seconds=seconds), function, args=given, **options).id
    return place.enqueue(function, args=given, **options).id


def evaluate(expression):
    return eval(expression, {**NAMES, "connection": redis.Redis.from_url(URL)})


def start_worker(arguments, log):
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        _become_worker(arguments, log)
    return pid


def wait(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _become_worker(arguments, log):
    code = 1
    try:
        os.setsid()
        # A worker must not outlive the tests, however they end.
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
        _redirect(log)
        rq.cli.main(["worker", "--url", URL, *arguments])
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(bool(end.code))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _redirect(log):
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (out, 1), (out, 2)):
        os.dup2(source, target)


def _retry(options):
    return rq.Retry(**options)


def _repeat(options):
    return rq.Repeat(**options)


def _callback(path):
    return rq.job.Callback(path)


def _same(option):
    return option


CONVERTERS = {
    "retry": _retry,
    "repeat": _repeat,
    "on_success": _callback,
    "on_failure": _callback,
    "on_stopped": _callback,
}
ACTS = {"enqueue": enqueue, "evaluate": evaluate, "start_worker": start_worker, "wait": wait}

if __name__ == "__main__":
    main()
