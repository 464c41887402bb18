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
import statistics
import tempfile
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench.stores import a_database, a_valkey, environ_of, fsync_ms, run_python

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
        places = {name: stack.enter_context(a_database(name, folder)) for name in asked.databases.split(",")}
        redis_url = stack.enter_context(a_valkey(folder))
        environs = {name: environ_of(folder / name, url, redis_url) for name, url in places.items()}
        for environ in environs.values():
            run_python(environ, "manage.py", "migrate", "--verbosity=0")
        print(f"fsync of 4 kB on this disk, by itself: {fsync_ms(folder):.2f} ms (median of 200)\n")
        _report(_measure(environs, asked.rounds, asked.jobs))


def _measure(environs: dict[str, dict[str, str]], rounds: int, jobs: int) -> dict[tuple[str, str], dict[str, Any]]:
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for _ in range(rounds):
        for worker in WORKERS:
            for database, environ in environs.items():
                got = json.loads(run_python(environ, "-m", "bench.measuring", worker, str(jobs)).splitlines()[-1])
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


if __name__ == "__main__":
    main()
