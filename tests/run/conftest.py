"""Whole runs. They start one at a time: they share the folder of collected static files, and the machine is small."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.make_run import MakeRun
from tests.support.real_rq import ROOT


@pytest.fixture
def make_run(tmp_path) -> Iterator[Callable[..., MakeRun]]:
    """Start `make run` with this environment and wait; all of a test share one folder, and none outlives it."""
    started: list[MakeRun] = []

    def start(**environ: str) -> MakeRun:
        with _alone():
            started.append(MakeRun(tmp_path / "var", **environ))
            return started[-1].wait_until_settled()

    yield start
    for run in started:
        run.end()


@pytest.fixture(scope="module")
def _migrated(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("migrated")
    file = folder / "own.sqlite3"
    environ = {"PATH": os.environ["PATH"], "OPSBOARD_VAR": str(folder / "var"), "DATABASE_URL": f"sqlite:///{file}"}
    command = [sys.executable, "manage.py", "migrate", "--no-input", "--verbosity", "0"]
    subprocess.run(command, cwd=ROOT, env=environ, check=True)
    return file


@pytest.fixture
def bare_run(make_run, tmp_path, _migrated) -> MakeRun:
    """A run with a database named by the person, and therefore without the demo: up sooner."""
    own = shutil.copy(_migrated, tmp_path / "own.sqlite3")
    return make_run(DATABASE_URL=f"sqlite:///{own}", GUNICORN_CMD_ARGS="--workers=1")


@pytest.fixture(scope="module")
def shop(tmp_path_factory) -> Iterator[MakeRun]:
    """A newcomer's first run, for tests that only look."""
    with _alone():
        run = MakeRun(tmp_path_factory.mktemp("shop") / "var", OPSBOARD_DEMO_PASSWORD="demo password")
        run.wait_until_settled()
    yield run
    run.end()


@contextmanager
def _alone() -> Iterator[None]:
    with (Path(tempfile.gettempdir()) / "opsboard-tests-run.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
