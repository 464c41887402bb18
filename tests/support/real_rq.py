"""A real RQ of a chosen version, in an interpreter of its own: enqueues jobs and runs stock `rq worker` processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from opsboard.runner.processes import end_session, processes

ROOT = Path(__file__).resolve().parents[2]
VERSIONS = ("3.0", "2.12")
"""The RQ versions the tests meet: our own, and the one in the virtual environment beside, made by `make test`."""
_INTERPRETERS = {"3.0": Path(sys.executable), "2.12": ROOT / ".venv-rq2/bin/python"}


class RealRQ:
    """RQ `version` on the Redis at `url`. `environ` is for what must differ, such as RQ_KEY_PREFIX.

    Jobs are named by path, `fx.boom` and the like; nothing of RQ is imported into the test process.
    """

    def __init__(self, version: str, url: str, folder: Path, environ: dict[str, str] | None = None) -> None:
        self.version, self.url = version, url
        self.log = folder / f"rq-{version}.log"
        self._workers: list[RealWorker] = []
        self._driver = subprocess.Popen(
            [_INTERPRETERS[version], "-W", "ignore", ROOT / "tests/support/rq_driver.py"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=_environment(url) | (environ or {}),
            start_new_session=True,
        )

    def enqueue(self, function: str, *args: Any, queue: str = "orders", **options: Any) -> str:
        """Enqueue by path and return the job's id. Options go to RQ's `enqueue`, by RQ's names, but for these:

        `kwargs` a dict; `expression` Python for the whole tuple of arguments, such as "(fx.Parcel(7),)";
        `retry` a dict of RQ's Retry, `repeat` of its Repeat; `on_success`, `on_failure`, `on_stopped` dotted paths;
        `serializer` "json" or a path; `at` an ISO time, or `seconds` from now, to schedule.
        """
        return str(self._ask("enqueue", function=function, args=args, queue=queue, **options))

    def evaluate(self, expression: str) -> Any:
        """One Python expression, run where RQ is; it knows `connection`, rq, redis, fx, os, datetime, timedelta."""
        return self._ask("evaluate", expression=expression)

    def burst(self, *queues: str, arguments: tuple[str, ...] = ()) -> None:
        """Run `rq worker --burst` to its end; every job that is due has then been tried."""
        code = self.start(*queues, arguments=("--burst", *arguments), ready=False).wait()
        assert code == 0, f"rq worker ended with {code}: {self.log.read_text()[-2000:]}"

    def fail(self, function: str, *args: Any, **options: Any) -> str:
        """Enqueue, run a worker to the end, and return the id: one job with its end recorded by RQ itself."""
        job_id = self.enqueue(function, *args, **options)
        serializer = options.get("serializer")
        self.burst(options.get("queue", "orders"), arguments=("--serializer", serializer) if serializer else ())
        return job_id

    def start(self, *queues: str, name: str = "", arguments: tuple[str, ...] = (), ready: bool = True) -> RealWorker:
        """Start a stock worker in a session of its own; with `ready`, wait until it has registered itself."""
        name = name or f"w{len(self._workers)}-{os.urandom(4).hex()}"
        command = ["--name", name, *arguments, *(queues or ("orders",))]
        worker = RealWorker(self, name, int(self._ask("start_worker", arguments=command, log=str(self.log))))
        self._workers.append(worker)
        if ready:
            key = f"rq:worker:{name}"
            wait_until(lambda: self.evaluate(f"connection.hexists({key!r}, 'birth')"), f"{name} registers")
        return worker

    def end_workers(self) -> None:
        """Kill whatever still runs, workers and their horses."""
        for worker in self._workers:
            worker.kill_session()
        self._workers.clear()

    def close(self) -> None:
        """End the workers and the interpreter."""
        self.end_workers()
        self._driver.communicate()

    def _ask(self, act: str, **request: Any) -> Any:
        assert self._driver.stdin and self._driver.stdout
        self._driver.stdin.write(json.dumps({"act": act, **request}, default=str) + "\n")
        self._driver.stdin.flush()
        line = self._driver.stdout.readline()
        assert line, f"the interpreter of RQ {self.version} has ended"
        answer = json.loads(line)
        assert "error" not in answer, answer.get("error")
        return answer["value"]


class RealWorker:
    """One running `rq worker`; `pid` is the worker's, its horses are its children."""

    def __init__(self, rq: RealRQ, name: str, pid: int) -> None:
        self.name, self.pid = name, pid
        self._rq = rq
        self._code: int | None = None

    @property
    def horse(self) -> int | None:
        """The process that runs a job now."""
        # RQ gives a horse a process group of its own; the scheduler, also a child, stays in the worker's.
        found = [one.pid for one in processes() if one.parent == self.pid and one.group == one.pid]
        return found[0] if found else None

    def wait_for_horse(self) -> int:
        """The pid of the horse, as soon as there is one."""
        wait_until(lambda: self.horse, f"{self.name} runs a job")
        horse = self.horse
        assert horse, "the job ended before it could be looked at"
        return horse

    def kill_horse(self, number: signal.Signals = signal.SIGKILL) -> None:
        """End the process that runs the job; the worker notices and records it."""
        os.kill(self.wait_for_horse(), number)

    def kill(self) -> None:
        """SIGKILL to the worker alone: its horse runs on, an orphan."""
        os.kill(self.pid, signal.SIGKILL)
        self.wait()

    def stop(self) -> int:
        """Warm shutdown; returns the exit code."""
        os.kill(self.pid, signal.SIGTERM)
        return self.wait()

    def wait(self) -> int:
        """The exit code, once the worker has ended (negative: the signal that ended it)."""
        if self._code is None:
            self._code = int(self._rq._ask("wait", pid=self.pid))
        return self._code

    def kill_session(self) -> None:
        """SIGKILL to the worker and all it started: what the loss of a host looks like."""
        end_session(self.pid)
        self.wait()


def wait_until(condition: Callable[[], Any], what: str, seconds: float = 15.0) -> Any:
    """Poll until `condition` holds and return its value; fails by naming `what` did not happen."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.02)
    return found


def _environment(url: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("RQ_", "PYTHON", "DJANGO_"))}
    return kept | {"FX_REDIS_URL": url, "PYTHONUNBUFFERED": "1"}
