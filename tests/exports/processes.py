"""The services of an installation as processes that can be stopped and killed: web, workers and observer on one store.

What they do is told by their environment alone; the process that starts them speaks to the same database.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

from django.contrib.auth.models import User
from django.test import Client
from django.test.utils import override_settings
from redis import Redis

from exports.tasks import build_export, mail_export
from jobs.broker.deliveries import declared_by
from opsboard.runner.lifeline import die_with_parent
from opsboard.runner.processes import end_session, process, processes
from opsboard.runner.valkey import EmbeddedValkey, free_port
from tests.exports.harm import FOLDER, POINTS
from tests.support.real_rq import ROOT, wait_until
from tests.support.web import GUNICORN, Answer, Browser, can_connect

SECRET_KEY = "only-for-tests-" * 4
SETTINGS = "tests.exports.process_settings"
WORKER = [sys.executable, "manage.py", "rqworker", "--verbosity", "0", "--with-scheduler", "mail", "exports"]
OBSERVER = [sys.executable, "manage.py", "observe"]
QUEUE_GRACE_SECONDS = 1
IN_THE_END = ("completed", "failed", "cancelled", "unknown")


@dataclass
class Service:
    """One running service, a session of its own. `said`: where its log lines go."""

    process: subprocess.Popen[bytes]
    said: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def horse(self) -> int | None:
        """The process that runs a job now."""
        # RQ gives a horse a process group of its own; the scheduler, also a child, stays in the worker's.
        found = [one.pid for one in processes() if one.parent == self.pid and one.group == one.pid]
        return found[0] if found else None

    @property
    def is_running(self) -> bool:
        return self.process.poll() is None

    def stop(self, seconds: float = 60.0) -> int:
        """A word to the first process alone, as systemd says it with KillMode=mixed; its exit code."""
        self.process.terminate()
        return self.process.wait(seconds)

    def end(self) -> None:
        """SIGKILL to it and all that it started, as when a host is lost."""
        end_session(self.pid)
        self.process.wait(20)


@dataclass
class Site:
    """An installation in a folder. `more`: what its processes find in their environment besides the usual."""

    folder: Path
    redis_url: str
    database_url: str
    more: dict[str, str] = field(default_factory=dict)
    port: int = field(default_factory=free_port)
    services: list[Service] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.files.mkdir(parents=True)
        self.mails.mkdir()

    @property
    def files(self) -> Path:
        return self.folder / "exports"

    @property
    def mails(self) -> Path:
        return self.folder / "mails"

    @property
    def environ(self) -> dict[str, str]:
        """Nothing of what the machine that runs the tests has configured."""
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
        return {
            **kept,
            "DJANGO_SETTINGS_MODULE": SETTINGS,
            "OPSBOARD_VAR": str(self.folder),
            "OPSBOARD_SECRET_KEY": SECRET_KEY,
            "OPSBOARD_EXPORTS": "1",
            "OPSBOARD_EXPORTS_DIR": str(self.files),
            "OPSBOARD_DIE_WITH_WORKER": "1",
            "OPSBOARD_QUEUE_GRACE_SECONDS": str(QUEUE_GRACE_SECONDS),
            "EXPORTS_MAILS": str(self.mails),
            "REDIS_URL": self.redis_url,
            "DATABASE_URL": self.database_url,
            "PORT": str(self.port),
            **self.more,
        }

    def start(self, command: list[str], *, limit: Callable[[], object] | None = None, **more: str) -> Service:
        """Start a command of ours; its life ends with this process at the latest. `limit` is called in it before."""
        tie = die_with_parent(signal.SIGKILL)

        def prepare() -> None:
            for step in filter(None, (limit, tie)):
                step()

        said = self.folder / f"{len(self.services)}.log"
        with said.open("wb") as log:
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env={**self.environ, **more},
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=prepare,
            )
        service = Service(process, said)
        self.services.append(service)
        return service

    def worker(
        self, command: list[str] | None = None, *, limit: Callable[[], object] | None = None, **more: str
    ) -> Service:
        """A worker, as it is shipped."""
        return self.start(command or WORKER, limit=limit, **more)

    def observer(self) -> Service:
        return self.start(OBSERVER)

    def web(self) -> Service:
        """gunicorn as it is shipped, once it listens."""
        web = self.start(GUNICORN)
        wait_until(lambda: can_connect(self.port) or not web.is_running, "gunicorn listens", 60)
        assert web.is_running, web.said.read_text()
        return web

    def browser_of(self, person: User) -> Browser:
        """A browser with a session of that person."""
        client, browser = Client(), Browser()
        client.force_login(person, backend="django.contrib.auth.backends.ModelBackend")
        browser.cookies = {name: morsel.value for name, morsel in client.cookies.items()}
        return browser

    def look(self, browser: Browser, path: str) -> Answer:
        return browser.get(self.port, path)

    def mails_about(self, export_id: int) -> int:
        """How many mails say that this export is ready."""
        said = "".join(path.read_text() for path in sorted(self.mails.iterdir()))
        return len(re.findall(rf"^Message-ID: <export-{export_id}\.", said, re.MULTILINE))

    def names(self) -> list[str]:
        """What is in the folder of files, left-overs too."""
        return sorted(os.listdir(self.files))

    def end(self) -> None:
        """Kill whatever runs."""
        for service in self.services:
            service.end()
        self.services.clear()


@contextmanager
def a_site(folder: Path, database_url: str, **more: str) -> Iterator[Site]:
    """An installation with a job store of its own, where nothing runs yet; all ends after use."""
    valkey = EmbeddedValkey(folder=folder / "valkey", port=free_port())
    server = valkey.start()
    site = Site(folder, valkey.url, database_url, more)
    try:
        yield site
    finally:
        site.end()
        server.terminate()
        server.wait(10)


@contextmanager
def a_harmed_site(folder: Path, database_url: str, **more: str) -> Iterator[Site]:
    """One in `folder`/site to whose workers is done what tests.exports.harm finds planned in `folder`/harm."""
    (folder / "harm").mkdir()
    harmed = {FOLDER: str(folder / "harm"), "OPSBOARD_TEST_POINTS": POINTS, **more}
    with a_site(folder / "site", database_url, **harmed) as site:
        yield site


def queues_of(site: Site) -> AbstractContextManager[None]:
    """What this process submits goes to the job store of the site."""
    return submitting_to(site.redis_url, grace=int(site.environ["OPSBOARD_QUEUE_GRACE_SECONDS"]))


@contextmanager
def submitting_to(redis_url: str, *, grace: int = QUEUE_GRACE_SECONDS) -> Iterator[None]:
    """What this process submits goes to that job store, and is looked after as soon as what a site submits."""
    client = Redis.from_url(redis_url)
    with ExitStack() as patched, override_settings(OPSBOARD_QUEUE_GRACE_SECONDS=grace):
        for job in (build_export, mail_export):
            declared = declared_by(job.delay)
            assert declared is not None
            patched.enter_context(patch.object(declared.queue, "connection", client))
        yield
    client.close()


def has_gone(pid: int) -> bool:
    """Whether there is no such process any more."""
    return process(pid) is None


def kill(*pids: int, number: signal.Signals = signal.SIGKILL) -> None:
    """A signal to each, in that order."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
