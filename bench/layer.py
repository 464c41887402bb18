"""What the job-safety layer adds to a job: `make bench-layer`, or `python -m bench.layer --rounds 5 --jobs 40`.

Jobs of three kinds (plain, an operation without an effect, one with one effect whose call costs nothing) run in random
order through a fork worker and through RQ's SimpleWorker, on SQLite (WAL, synchronous=FULL) and on PostgreSQL with its
own defaults, in turns, so that what else happens on the machine meets all alike. Printed are the 10th, 50th and 95th
percentile of a whole job, what the layer adds to the plain one, CPU, statements and commits, and what a commit costs
this disk by itself, since that bounds it all: `--folder /dev/shm` leaves the disk out. BENCH_DATABASE_URL names a
PostgreSQL; else one is started.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from opsboard.runner.valkey import EmbeddedValkey, free_port

ROOT = Path(__file__).resolve().parents[1]
WORKERS = ("simple", "fork")
KINDS = ("plain", "no_effect", "one_effect")
AIMS_MS = {"sqlite": 3.0, "postgresql": 6.0}
"""What one effect may add."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=40, help="of each kind, in each round")
    parser.add_argument("--databases", default="sqlite,postgresql")
    parser.add_argument("--folder", help="where the stores are put; the system's temporary folder unless named")
    asked = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="opsboard-bench-", dir=asked.folder)))
        places = {name: stack.enter_context(_database(name, folder)) for name in asked.databases.split(",")}
        redis_url = stack.enter_context(_valkey(folder))
        environs = {name: _environ(folder / name, url, redis_url) for name, url in places.items()}
        for environ in environs.values():
            _python(environ, "manage.py", "migrate", "--verbosity=0")
        print(f"fsync of 4 kB on this disk, by itself: {_fsync_ms(folder):.2f} ms (median of 200)\n")
        _report(_measure(environs, asked.rounds, asked.jobs))


def _measure(environs: dict[str, dict[str, str]], rounds: int, jobs: int) -> dict[tuple[str, str], dict[str, Any]]:
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for _ in range(rounds):
        for worker in WORKERS:
            for database, environ in environs.items():
                got = json.loads(_python(environ, "-m", "bench.measuring", worker, str(jobs)).splitlines()[-1])
                kept = found.setdefault((database, worker), {"costs": defaultdict(list), "statements": {}})
                kept["statements"] = got["statements"] or kept["statements"]
                for kind, costs in got["costs"].items():
                    kept["costs"][kind] += costs
    return found


# What is printed ------------------------------------------------------------------------------------------------------


def _report(found: dict[tuple[str, str], dict[str, Any]]) -> None:
    heads = ("database, worker", "job", "p10 ms", "median ms", "p95 ms", "CPU ms", "adds ms", "adds CPU ms")
    print("|", " | ".join((*heads, "statements", "commits")), "|")
    print("|---" * (len(heads) + 2) + "|")
    for (database, worker), measured in found.items():
        costs, statements = measured["costs"], found[database, "simple"]["statements"]
        plain = _median(costs["plain"], 0), _median(costs["plain"], 1)
        for kind in KINDS:
            clock, cpu = _median(costs[kind], 0), _median(costs[kind], 1)
            adds = f"{clock - plain[0]:.2f} | {cpu - plain[1]:.2f}" if kind != "plain" else " | "
            counts = statements[kind]
            print(
                f"| {database}, {worker} | {kind} | {_quantile(costs[kind], 10):.2f} | {clock:.2f} "
                f"| {_quantile(costs[kind], 95):.2f} | {cpu:.2f} | {adds} "
                f"| {counts['statements']} | {counts['commits']} |"
            )
    print()
    for (database, worker), measured in found.items():
        costs = measured["costs"]
        added = _median(costs["one_effect"], 0) - _median(costs["plain"], 0)
        fastest = _quantile(costs["one_effect"], 10) - _quantile(costs["plain"], 10)
        verdict = "within" if added <= AIMS_MS[database] else "over"
        print(
            f"{database}, {worker}: one effect adds {added:.2f} ms ({fastest:.2f} in the fastest tenth), "
            f"{verdict} the aim of {AIMS_MS[database]:.0f} ms"
        )


def _median(costs: list[list[float]], which: int) -> float:
    return statistics.median(cost[which] for cost in costs)


def _quantile(costs: list[list[float]], percent: int) -> float:
    return statistics.quantiles((cost[0] for cost in costs), n=100)[percent - 1]


# What it runs on ------------------------------------------------------------------------------------------------------


def _environ(folder: Path, database_url: str, redis_url: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "DJANGO_SETTINGS_MODULE": "opsboard.settings",
        "OPSBOARD_VAR": str(folder),
        "DATABASE_URL": database_url,
        "OPSBOARD_EMBEDDED_REDIS_URL": redis_url,
        "BENCH_SHOW": os.environ.get("BENCH_SHOW", ""),
    }


def _python(environ: dict[str, str], *arguments: str) -> str:
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, env=environ, check=True, stdout=subprocess.PIPE, text=True).stdout


def _fsync_ms(folder: Path) -> float:
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
def _valkey(folder: Path) -> Iterator[str]:
    server = EmbeddedValkey(folder=folder / "valkey", port=free_port())
    process = server.start()
    yield server.url
    process.terminate()
    process.wait(10)


@contextmanager
def _database(name: str, folder: Path) -> Iterator[str]:
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


if __name__ == "__main__":
    main()
