"""What `make run` is going to start, read from the environment before anything is started."""

from __future__ import annotations

import fcntl
import os
import re
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from opsboard.access.reading import PROXIED
from opsboard.demo import WORKED
from opsboard.env import env_int, env_str
from opsboard.runner.valkey import DURABLE, EmbeddedValkey, free_port, new_password

ROOT = Path(__file__).resolve().parents[2]
_OWN_STORE = re.compile(r"REDIS_URL|OPSBOARD_REDIS_\w+_URL")


class Refused(Exception):
    """Nothing was started; the text is one sentence with the remedy."""


@dataclass(frozen=True, kw_only=True)
class Process:
    """One row of the table of processes: `arguments` go to our own Python. A quiet one talks to its log file only."""

    name: str
    arguments: tuple[str, ...]
    environ: Mapping[str, str]
    is_quiet: bool = False
    grace_seconds: float = 10.0


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Where, on which stores, and with what environment; `valkey` is None when the job stores are the user's own."""

    port: int
    folder: Path
    environ: Mapping[str, str]
    valkey: EmbeddedValkey | None
    has_demo: bool

    @property
    def logs(self) -> Path:
        return self.folder / "log"

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    @property
    def processes(self) -> tuple[Process, ...]:
        """What runs until the end, in the order of the start."""
        web = Process(
            name="web",
            arguments=("-m", "gunicorn", "--config", "opsboard/gunicorn_conf.py", "--log-level", "warning"),
            environ={**self.environ, **_least_rights(self.valkey)},
        )
        observer = Process(
            name="observer",
            arguments=("manage.py", "observe"),
            environ={**self.environ, **_least_rights(self.valkey)},
            # It may be waiting for a database that another process has locked.
            grace_seconds=25.0,
        )
        if self.valkey is None:
            return web, observer
        worker = Process(
            name="worker",
            arguments=("manage.py", "rqworker", "--with-scheduler", *WORKED),
            # A job's process that outlived its worker would hold its operation until the lease is over.
            environ={"OPSBOARD_DIE_WITH_WORKER": "1", **self.environ, **self._of_worker()},
            # RQ logs each job's arguments, and a page of traceback for each that fails.
            is_quiet=True,
        )
        return web, worker, observer

    def _of_worker(self) -> dict[str, str]:
        settings = {"DJANGO_SETTINGS_MODULE": "opsboard.demo.settings"} if self.has_demo else {}
        return {**settings, "OPSBOARD_LOG_LEVEL": "INFO"}


def read_plan(environ: Mapping[str, str]) -> Plan:
    """The plan for this environment. Raises ImproperlyConfigured when PORT can't be read, Refused for proxied mode."""
    if env_str("OPSBOARD_MODE", environ=environ).lower() == PROXIED:
        raise Refused("make run is for this machine; how to run opsboard behind a proxy is told in docs/deploy.md.")
    folder = Path(env_str("OPSBOARD_VAR", str(ROOT / "var"), environ=environ)).resolve()
    has_own_stores = any(_OWN_STORE.fullmatch(name) and environ[name].strip() for name in environ)
    valkey = None if has_own_stores else _embedded(folder)
    return Plan(
        port=env_int("PORT", 8000, least=1, most=65535, environ=environ),
        folder=folder,
        environ=_child_environ(environ, folder, valkey),
        valkey=valkey,
        has_demo=valkey is not None and not env_str("DATABASE_URL", environ=environ),
    )


@contextmanager
def holding(plan: Plan) -> Iterator[int]:
    """Keep this folder and this port for one run, and hand out the lock's file descriptor. Raises Refused.

    Every child inherits the descriptor: the folder is not free again before the last of them, Valkey with its file
    among them, has ended.
    """
    plan.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    plan.logs.mkdir(exist_ok=True)
    with (plan.folder / "run.lock").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            where = file.read().strip() or "where is not known"
            raise Refused(
                f"opsboard already runs in this folder ({where}), or is just stopping; end it with Ctrl-C there."
            ) from None
        _require_free(plan.port)
        file.truncate(0)
        file.write(f"{plan.address}, process {os.getpid()}")
        file.flush()
        yield file.fileno()


def _embedded(folder: Path) -> EmbeddedValkey:
    """With a password, since every user of the machine may connect: new at each start, kept in the server's file."""
    password = new_password()
    accounts = re.findall(r"^user .*$", (ROOT / "deploy/redis-acl.conf").read_text(), re.MULTILINE)
    return EmbeddedValkey(
        folder=folder / "valkey",
        port=free_port(),
        password=password,
        settings={**DURABLE, "logfile": str(folder / "log" / "valkey.log")},
        users=[account.replace("CHANGE-ME", password) for account in accounts],
    )


def _least_rights(valkey: EmbeddedValkey | None) -> dict[str, str]:
    """What our processes get instead of the account that may do everything: the two that we advise others to use."""
    if valkey is None:
        return {}
    return {
        "OPSBOARD_EMBEDDED_REDIS_URL": valkey.url_for("opsboard-actor"),
        "REDIS_READ_URL": valkey.url_for("opsboard-reader"),
    }


def _child_environ(environ: Mapping[str, str], folder: Path, valkey: EmbeddedValkey | None) -> dict[str, str]:
    others = {"OPSBOARD_EMBEDDED_REDIS_URL"}
    ours = {
        "DJANGO_SETTINGS_MODULE": "opsboard.settings",
        "OPSBOARD_VAR": str(folder),
        "PYTHONUNBUFFERED": "1",
    }
    if valkey is not None:
        others |= {"REDIS_READ_URL", "RQ_KEY_PREFIX", "OPSBOARD_REDIS_PREFIX"}
        ours |= {"OPSBOARD_EMBEDDED_REDIS_URL": valkey.url, "OPSBOARD_WORKER_QUEUES": ",".join(WORKED)}
    kept = {name: value for name, value in environ.items() if name not in others}
    # A line per request is for a server's log, not for the terminal of somebody who is looking around.
    return {"OPSBOARD_LOG_LEVEL": "WARNING", **kept, **ours}


def _require_free(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except PermissionError:
            raise Refused(f"Port {port} needs rights that you don't have; choose another: make run PORT=8000") from None
        except OSError:
            other = port + 1 if port < 65535 else 8000
            raise Refused(f"Port {port} is taken by another program; choose another: make run PORT={other}") from None


PYTHON = sys.executable
