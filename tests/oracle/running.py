"""Starts the oracle as a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from opsboard.runner.lifeline import die_with_parent
from opsboard.runner.valkey import free_port
from tests.support.real_rq import ROOT, wait_until
from tests.support.web import can_connect


@dataclass(frozen=True, kw_only=True)
class RunningOracle:
    """A service that answers at `url`, and whose memory is the file `book`."""

    url: str
    pid: int
    book: Path


@contextmanager
def running_oracle(book: Path, port: int | None = None) -> Iterator[RunningOracle]:
    """Start it in a session of its own, so that no signal to a group reaches it; end it after use."""
    port = port or free_port()
    command = [sys.executable, "-m", "tests.oracle.service", "--port", str(port), "--book", str(book)]
    # It ends with the tests alone: whatever else they kill, the book is kept.
    process = subprocess.Popen(command, cwd=ROOT, start_new_session=True, preexec_fn=die_with_parent())
    try:
        wait_until(lambda: can_connect(port), "the oracle listens")
        yield RunningOracle(url=f"http://127.0.0.1:{port}", pid=process.pid, book=book)
    finally:
        process.terminate()
        process.wait(10)
