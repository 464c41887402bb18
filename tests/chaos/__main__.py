"""The matrix from a terminal, and as tests start it: `python -m tests.chaos --database sqlite --rows full`.

Ends with 1 when a row did not come out as the table says, or an invariant did not hold.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.chaos.matrix import choose, run_matrix
from tests.chaos.reports import Report
from tests.chaos.storm import run_storm
from tests.support.postgresql import a_database


def main(arguments: list[str]) -> int:
    """Run what is asked for, and say what came of it."""
    told = _parser().parse_args(arguments)
    if told.database == "both":
        return max(_apart(arguments, name) for name in ("sqlite", "postgresql"))
    folder = Path(tempfile.mkdtemp(prefix="opsboard-chaos-"))
    begun = time.monotonic()
    try:
        with a_database(told.database, folder) as url:
            report = _run(told, folder / "world", url)
    finally:
        if not told.keep:
            shutil.rmtree(folder, ignore_errors=True)
    report.seconds = round(time.monotonic() - begun, 1)
    if told.report:
        told.report.write_text(json.dumps(report.to_json()))
    sys.stdout.write(report.text(told.database, is_whole=told.rows == "full") + "\n")
    return 0 if report.is_clean else 1


# ----------------------------------------------------------------------------------------------------------------------


def _run(told: argparse.Namespace, folder: Path, url: str) -> Report:
    if told.minutes:
        return run_storm(folder, url, minutes=told.minutes, seed=told.seed)
    return run_matrix(folder, url, choose(told.rows, told.only, told.database))


def _apart(arguments: list[str], database: str) -> int:
    """In a process of its own, since Django has one set of settings."""
    return subprocess.call([sys.executable, "-m", "tests.chaos", *arguments, "--database", database])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tests.chaos", description=__doc__)
    parser.add_argument("--database", choices=("sqlite", "postgresql", "both"), default="sqlite")
    parser.add_argument("--rows", choices=("some", "full"), default="some")
    parser.add_argument("--only", default="", help="rows whose name has this in it")
    parser.add_argument("--minutes", type=float, default=0.0, help="go on at random for so long, instead of the table")
    parser.add_argument("--seed", type=int, default=0, help="of the random ones; 0 takes a new one")
    parser.add_argument("--report", type=Path, help="a file for the results, as JSON")
    parser.add_argument("--keep", action="store_true", help="leave the folder with the logs and the oracle's book")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
