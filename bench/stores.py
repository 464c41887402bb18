"""What a benchmark runs on: stores of its own, and the environment of the processes that are measured."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from opsboard.runner.valkey import EmbeddedValkey, free_port

ROOT = Path(__file__).resolve().parents[1]


def environ_of(folder: Path, database_url: str, redis_url: str) -> dict[str, str]:
    """For processes on these stores."""
    return {
        "PATH": os.environ["PATH"],
        "DJANGO_SETTINGS_MODULE": "opsboard.settings",
        "OPSBOARD_VAR": str(folder),
        "DATABASE_URL": database_url,
        "OPSBOARD_EMBEDDED_REDIS_URL": redis_url,
        "BENCH_SHOW": os.environ.get("BENCH_SHOW", ""),
    }


def run_python(environ: dict[str, str], *arguments: str) -> str:
    """Run our own Python to its end, and return what it has printed."""
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, env=environ, check=True, stdout=subprocess.PIPE, text=True).stdout


def fsync_ms(folder: Path) -> float:
    """What a commit costs this disk: the median of 200."""
    took = []
    with (folder / "fsync").open("wb") as file:
        for _ in range(200):
            began = time.perf_counter()
            file.write(bytes(4096))
            file.flush()
            os.fdatasync(file.fileno())
            took.append((time.perf_counter() - began) * 1e3)
    return statistics.median(took)


@contextmanager
def a_valkey(folder: Path) -> Iterator[str]:
    """The address of a job store, gone after use."""
    server = EmbeddedValkey(folder=folder / "valkey", port=free_port())
    process = server.start()
    yield server.url
    process.terminate()
    process.wait(10)


@contextmanager
def a_database(name: str, folder: Path) -> Iterator[str]:
    """The address of an empty database, of one's own or that of BENCH_DATABASE_URL."""
    (folder / name).mkdir()
    if name == "sqlite":
        yield f"sqlite:///{folder / name / 'bench.sqlite3'}"
    elif "BENCH_DATABASE_URL" in os.environ:
        yield os.environ["BENCH_DATABASE_URL"]
    else:
        with _cluster(folder / name) as url:
            yield url


@contextmanager
def _cluster(folder: Path) -> Iterator[str]:
    """A PostgreSQL of our own, with fsync as it comes."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not found:
        sys.exit("There is no PostgreSQL here: apt-get install postgresql, or --databases sqlite.")
    programs, port = found[-1], free_port()
    if os.geteuid() == 0:
        folder.parent.chmod(0o755)
        subprocess.run(["chown", "postgres", folder], check=True)
    _as_postgres(programs / "initdb", "-D", folder / "data", "-A", "trust", "-U", "postgres", "-E", "UTF8")
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=''"
    _as_postgres(programs / "pg_ctl", "-D", folder / "data", "-l", folder / "log", "-w", "-o", options, "start")
    try:
        yield f"postgres://postgres@127.0.0.1:{port}/postgres"
    finally:
        _as_postgres(programs / "pg_ctl", "-D", folder / "data", "-m", "immediate", "stop")


def _as_postgres(*command: Path | str) -> None:
    """PostgreSQL refuses to run as root."""
    words = [str(word) for word in command]
    if os.geteuid() == 0:
        words = ["runuser", "-u", "postgres", "--", *words]
    subprocess.run(words, cwd="/", check=True, stdout=subprocess.DEVNULL)
