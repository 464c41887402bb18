"""One world: a database, a job store, an oracle, workers and an observer, as processes that can be killed.

The process that makes a world speaks Django to its database, so there is one world at a time in a process.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import rq
from redis import Redis

from opsboard.runner.lifeline import die_with_parent
from opsboard.runner.processes import descendants, process, processes
from opsboard.runner.valkey import EmbeddedValkey, free_port
from tests.kills.hands import LONG_AGO
from tests.oracle.running import running_oracle
from tests.support.real_rq import ROOT

STUCK_SECONDS = 5.0
"""A worker begins a job sooner than that after it took it."""
PYTHONS = {"old": ROOT / ".venv-rq2/bin/python"}


@dataclass
class Zygote:
    """The process of one RQ version that forks workers."""

    process: subprocess.Popen[str]

    def ask(self, **request: Any) -> int:
        """Have it fork; the child's pid."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, "the process that forks workers has ended"
        return int(line)


@dataclass
class World:
    """Stores by address, and the processes that use them. `workers`: by name, with pid and queue."""

    folder: Path
    redis: Redis
    oracle: str
    zygotes: dict[str, Zygote] = field(default_factory=dict)
    workers: dict[str, tuple[int, str]] = field(default_factory=dict)
    dead: set[str] = field(default_factory=set)
    sessions: set[int] = field(default_factory=set)
    taken: dict[str, float] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    submitters: list[int] = field(default_factory=list)
    observer: subprocess.Popen[bytes] | None = None

    def submit(self, **request: Any) -> None:
        """Have a process of its own submit a job, for better or worse."""
        self.submitters.append(self._zygote("new").ask(act="submit", **request))

    def are_submitted(self) -> bool:
        """Whether those processes have ended."""
        return not any(process(pid) for pid in self.submitters)

    def staff(self, queues: dict[str, int]) -> None:
        """Let so many workers live for each queue; who has died is replaced."""
        for name, (pid, _queue) in list(self.workers.items()):
            if process(pid) is None:
                self.dead.add(name)
                del self.workers[name]
        for queue, wanted in queues.items():
            living = [name for name, (_pid, its) in self.workers.items() if its == queue]
            for number in range(wanted - len(living)):
                self._start_worker(queue, scheduler=not living and not number)

    def observe(self) -> None:
        """Let an observer live."""
        if self.observer is None or self.observer.poll() is not None:
            command = [sys.executable, "manage.py", "observe"]
            self.observer = self._started(command, "observer")

    def horses(self) -> list[int]:
        """The processes that run jobs now, orphans not included."""
        known = [pid for pid, _queue in self.workers.values()]
        return [one.pid for pid in known for one in descendants(pid) if one.group == one.pid]

    def forget_the_dead(self) -> None:
        """As if time had gone by: what workers held in RQ who are dead, and whose horses are, is over."""
        for queue in {its for _pid, its in self.workers.values()}:
            listed: list[Any] = self.redis.zrange(f"rq:wip:{queue}", 0, -1)
            for run in listed:
                job_id, _, execution = run.decode().partition(":")
                if self._is_nobodys(job_id):
                    self.redis.zadd(f"rq:wip:{queue}", {run: LONG_AGO}, xx=True)
                    self.redis.zadd(f"rq:executions:{job_id}", {execution: LONG_AGO + 60}, xx=True)
                    self.redis.delete(f"rq:execution:{job_id}:{execution}")

    def clear_up(self) -> None:
        """RQ's own housekeeping, as if a minute had gone by: of jobs that a worker took, and died before it began."""
        for name in {its for _pid, its in self.workers.values()}:
            queue = rq.Queue(name, connection=self.redis)
            taken = queue.intermediate_queue.get_job_ids()
            since = {job_id: self.taken.get(job_id, time.monotonic()) for job_id in taken}
            self.taken = {job_id: at for job_id, at in self.taken.items() if job_id not in taken} | since
            if stuck := [job_id for job_id, at in since.items() if time.monotonic() - at > STUCK_SECONDS]:
                for job_id in stuck:
                    self.redis.set(queue.intermediate_queue.get_first_seen_key(job_id), LONG_AGO)
                queue.intermediate_queue.cleanup(rq.SimpleWorker([queue], connection=self.redis), queue)

    def end(self) -> None:
        """Kill whatever runs."""
        # Whatever else such a session holds outlives its worker: orphans, and a scheduler.
        for pid in [one.pid for one in processes() if one.session in self.sessions]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if self.observer:
            self.observer.kill()
            self.observer.wait()
        for zygote in self.zygotes.values():
            zygote.process.kill()
            zygote.process.communicate()

    def marked(self, kind: str) -> dict[int, str]:
        """The processes that left a mark of that kind and live: by pid, the name of the mark."""
        found = {}
        for name in set(os.listdir(self.folder / kind)) - self.gone:
            text = (self.folder / kind / name).read_text().split()
            if text and process(pid := int(text[0])):
                found[pid] = name
            elif text:
                self.gone.add(name)
        return found

    # ------------------------------------------------------------------------------------------------------------------

    def _is_nobodys(self, job_id: str) -> bool:
        holder: Any = self.redis.hget(f"rq:job:{job_id}", "worker_name")
        if holder is None or holder.decode() not in self.dead:
            return False
        described: Any = self.redis.hget(f"rq:job:{job_id}", "description")
        key = described.decode().partition(":")[2] if described else ""
        return not any(mark.startswith(f"{key}@") for mark in self.marked("fired").values())

    def _start_worker(self, queue: str, *, scheduler: bool) -> None:
        age, _, kind = queue.rpartition("_")
        name = f"{queue}-{secrets.token_hex(4)}"
        zygote = self._zygote(age or "new")
        pid = zygote.ask(act="worker", name=name, queue=queue, kind=kind, scheduler=scheduler)
        self.workers[name] = (pid, queue)
        self.sessions.add(pid)

    def _zygote(self, age: str) -> Zygote:
        if age not in self.zygotes:
            command = [str(PYTHONS.get(age, sys.executable)), "-W", "ignore", "-m", "tests.chaos.zygote"]
            points = {"OPSBOARD_TEST_POINTS": "tests.chaos.events:at"}
            settings = {"DJANGO_SETTINGS_MODULE": "tests.chaos.bare_settings"} if age == "old" else {}
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            self.zygotes[age] = Zygote(self._started(command, f"workers-{age}", points | settings, **pipes))
        return self.zygotes[age]

    def _started(self, command: list[str], log: str, environ: dict[str, str] | None = None, **pipes: Any) -> Any:
        with (self.folder / f"{log}.log").open("ab") as said:
            return subprocess.Popen(
                command,
                cwd=ROOT,
                env={**os.environ, **(environ or {})},
                start_new_session=True,
                preexec_fn=die_with_parent(signal.SIGKILL),
                **({"stdout": said} | pipes),
                stderr=said,
            )


@contextmanager
def new_world(folder: Path, database_url: str) -> Iterator[World]:
    """Start the stores, load Django on them and migrate; end everything after use."""
    for name in ("fired", "frozen", "results", "var"):
        (folder / name).mkdir(parents=True)
    valkey = EmbeddedValkey(folder=folder / "valkey", port=free_port())
    server = valkey.start()
    try:
        with running_oracle(folder / "book.jsonl") as oracle:
            _set_up(folder, database_url, valkey.url, oracle.url)
            world = World(folder, Redis.from_url(valkey.url), oracle.url)
            try:
                yield world
            finally:
                world.end()
    finally:
        server.terminate()
        server.wait(10)


# ----------------------------------------------------------------------------------------------------------------------


def _set_up(folder: Path, database_url: str, redis_url: str, oracle_url: str) -> None:
    for name in [name for name in os.environ if name.startswith(("OPSBOARD_", "REDIS_", "RQ_"))]:
        del os.environ[name]
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "tests.chaos.settings",
        "OPSBOARD_VAR": str(folder / "var"),
        "OPSBOARD_SECRET_KEY": "only-for-tests-" * 4,
        "DATABASE_URL": database_url,
        "REDIS_URL": redis_url,
        "CHAOS_FOLDER": str(folder),
        "CHAOS_ORACLE": oracle_url,
    }
    import django
    from django.core.management import call_command

    django.setup()
    from tests.support import database

    os.environ["CHAOS_DATABASE"] = json.dumps(database.entry())
    call_command("migrate", verbosity=0)
