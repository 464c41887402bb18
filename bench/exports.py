"""What an export costs: `make bench-exports`, or `python -m bench.exports --rows 1000000 --rounds 3`.

A real worker builds exports of so many orders, on SQLite and on PostgreSQL, while the memory of its process and of its
job's is read off every few milliseconds. Beside it, in processes of their own, the same rows are only fetched, written
by the plain csv.writer loop that everybody would write, fetched through Django, and put through all that an export does
to them but for the disk. CPU time tells them apart on a machine that others use. BENCH_DATABASE_URL names a PostgreSQL;
else one is started.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.stores import ROOT, a_database, a_valkey, environ_of, run_python
from opsboard.runner.processes import descendants

STEPS = {
    "fetch": "fetched by the driver",
    "plain": "the plain csv.writer loop",
    "rows": "fetched through Django",
    "whole": "all but disk and job",
}
AIM_MB = 150
"""The most that any one process may take."""
POLL_SECONDS = 0.005
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Process:
    """What was last seen of a process: its largest resident memory, and its CPU time."""

    peak_mb: float = 0.0
    cpu: float = 0.0

    def look(self, pid: int) -> None:
        try:
            status = Path(f"/proc/{pid}/status").read_text()
            stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return
        if "VmHWM:" in status:
            self.peak_mb = max(self.peak_mb, int(status.partition("VmHWM:")[2].split()[0]) / 1024)
            self.cpu = (int(stat[11]) + int(stat[12])) / TICKS


@dataclass
class Built:
    """One export by a real worker. `seconds`: as long as the process of its job lived."""

    worker: Process
    job: Process
    seconds: float
    size_mb: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--databases", default="sqlite,postgresql")
    parser.add_argument("--folder", help="where the stores are put; the system's temporary folder unless named")
    asked = parser.parse_args()
    for name in asked.databases.split(","):
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="opsboard-bench-", dir=asked.folder)))
            url = stack.enter_context(a_database(name, folder))
            environ = environ_of(folder / name, url, stack.enter_context(a_valkey(folder)))
            _bench(name, environ, asked.rows, asked.rounds)


def _bench(name: str, environ: dict[str, str], rows: int, rounds: int) -> None:
    run_python(environ, "manage.py", "migrate", "--verbosity=0")
    laid = _step(environ, "lay", str(rows))
    print(f"{name}: {rows:,} orders made in {laid['seconds']:.0f} s ({laid['cpu']:.0f} s CPU)\n")
    steps: dict[str, list[dict[str, float]]] = {step: [] for step in STEPS}
    built = []
    for _ in range(rounds):
        for step, found in steps.items():
            found.append(_step(environ, step))
        built.append(_build(environ))
    _report(name, rows, {step: min(found, key=lambda one: one["cpu"]) for step, found in steps.items()}, built)


def _step(environ: dict[str, str], *arguments: str) -> Any:
    return json.loads(run_python(environ, "-m", "bench.exporting", *arguments).splitlines()[-1])


def _build(environ: dict[str, str]) -> Built:
    export_id = _step(environ, "ask")
    file = Path(environ["OPSBOARD_VAR"]) / "exports" / f"export-{export_id}.csv"
    command = [sys.executable, "manage.py", "rqworker", "exports", "--burst"]
    log = Path(environ["OPSBOARD_VAR"]) / "worker.log"
    worker, job, began, seconds = Process(), Process(), 0.0, 0.0
    with log.open("wb") as said, subprocess.Popen(command, cwd=ROOT, env=environ, stderr=said) as process:
        while process.poll() is None:
            worker.look(process.pid)
            for child in descendants(process.pid):
                began = began or time.perf_counter()
                job.look(child.pid)
                seconds = time.perf_counter() - began
            time.sleep(POLL_SECONDS)
    if not file.exists():
        sys.exit(f"The export was not built:\n{log.read_text()}")
    size = file.stat().st_size / 1e6
    file.unlink()
    return Built(worker, job, seconds, size)


# What is printed ------------------------------------------------------------------------------------------------------


def _report(name: str, rows: int, steps: dict[str, dict[str, float]], built: list[Built]) -> None:
    print("| what | rows/s | rows/s of CPU | µs CPU a row |\n|---|---|---|---|")
    for step, found in steps.items():
        _line(STEPS[step], rows, found["seconds"], found["cpu"])
    best = min(built, key=lambda one: one.job.cpu)
    _line("a worker's export", rows, best.seconds, best.job.cpu)
    peaks = [max(one.worker.peak_mb, one.job.peak_mb) for one in built]
    verdict = "within" if max(peaks) <= AIM_MB else "over"
    print(
        f"\n{name}: at most {max(one.worker.peak_mb for one in built):.0f} MB in the worker, "
        f"{max(one.job.peak_mb for one in built):.0f} MB in the process of its job, {verdict} the aim of {AIM_MB} MB; "
        f"a file of {best.size_mb:.0f} MB"
    )
    print(f"{name}: {_bound(rows, steps, best)}\n")


def _line(what: str, rows: int, seconds: float, cpu: float) -> None:
    print(f"| {what} | {rows / seconds:,.0f} | {rows / cpu:,.0f} | {cpu / rows * 1e6:.2f} |")


def _bound(rows: int, steps: dict[str, dict[str, float]], best: Built) -> str:
    """Where the time of an export goes."""
    cpu = best.job.cpu
    fetching, writing = steps["rows"]["cpu"], steps["whole"]["cpu"] - steps["rows"]["cpu"]
    rest, waiting = cpu - fetching - writing, max(best.seconds - cpu, 0.0)
    return (
        f"of {best.seconds:.1f} s a worker's export is {cpu / best.seconds:.0%} busy: fetching through Django "
        f"{fetching:.1f} s, cells and CSV {writing:.1f} s, disk and job {rest:.1f} s; for {waiting:.1f} s it "
        "waits: for the database, the disk, or a free processor"
    )


if __name__ == "__main__":
    main()
