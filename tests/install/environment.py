"""What tests do with the project that has the wheel installed."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import dj_database_url
import psycopg
from redis import Redis
from rq.job import Job


@dataclass(frozen=True, kw_only=True)
class Project:
    """A Django project on disk, its interpreter, and the environment that its processes start with."""

    python: Path
    folder: Path
    environ: Mapping[str, str]

    def having(self, **environ: str) -> Project:
        """The same with other variables; '' takes one away."""
        merged = {name: value for name, value in ({**self.environ, **environ}).items() if value}
        return replace(self, environ=merged)

    def without_tables(self) -> Project:
        """The same with a database, or a schema of it, that has none."""
        database = json.loads(self.environ["DATABASE"])
        if database["ENGINE"].endswith("sqlite3"):
            database["NAME"] += "-empty"
        else:
            database["OPTIONS"] = {"options": "-c search_path=nowhere"}
        return self.having(DATABASE=json.dumps(database))

    @property
    def database_url(self) -> str:
        """Where opsboard would find it."""
        database = json.loads(self.environ["DATABASE"])
        if database["ENGINE"].endswith("sqlite3"):
            return f"sqlite:///{database['NAME']}"
        return f"postgres://{database['USER']}@{database['HOST']}:{database['PORT']}/{database['NAME']}"

    def run(self, *arguments: str) -> str:
        """What its interpreter prints, standard output only; it must end well."""
        command = [str(self.python), "-W", "error::DeprecationWarning:jobs", *arguments]
        done = subprocess.run(command, cwd=self.folder, env=self.environ, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + (done.stderr if "check" in arguments else "")

    def manage(self, *arguments: str) -> str:
        """A management command."""
        return self.run("manage.py", *arguments)

    def do(self, code: str) -> list[str]:
        """The words that a few lines of the project's own code print."""
        head = "import django; django.setup()\nfrom shop.models import *\nfrom shop.tasks import *\n"
        return self.run("-c", head + code).split()

    def work(self, worker: str = "rq.worker.Worker") -> None:
        """A stock `rq worker` until the queue is empty; of Django it is told by its environment at most."""
        self.run(
            "-m", "rq.cli", "worker", "--burst", "--worker-class", worker, "--url", self.environ["REDIS_URL"], "mail"
        )

    def error_of(self, job_id: str) -> str:
        """What RQ has on record of why a job failed."""
        with Redis.from_url(self.environ["REDIS_URL"]) as client:
            result = Job.fetch(job_id, connection=client).latest_result()
        return (result.exc_string or "") if result else ""


@contextmanager
def database_of(folder: Path) -> Iterator[dict[str, Any]]:
    """Django's description of a new database: a file in the folder, or one beside that of TEST_DATABASE_URL."""
    url = os.environ.get("TEST_DATABASE_URL")
    if not url:
        yield {"ENGINE": "django.db.backends.sqlite3", "NAME": str(folder / "shop.sqlite3")}
        return
    name = f"opsboard_install_{os.getpid()}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        yield {**dj_database_url.parse(url), "NAME": name}
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
