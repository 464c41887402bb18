"""Ties processes to the life of the one that started them, so that none is left behind."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable

from opsboard.runner.processes import PROC, process

_PR_SET_PDEATHSIG = 1
_STOP_SIGNALS = (1 << (signal.SIGHUP - 1)) | (1 << (signal.SIGINT - 1))


def die_with_parent(number: signal.Signals = signal.SIGTERM) -> Callable[[], None] | None:
    """A `preexec_fn` that asks the kernel to send `number` to the child when its parent dies; None where it can't."""
    if sys.platform != "linux":
        return None
    libc, parent = ctypes.CDLL(None, use_errno=True), os.getpid()

    def ask() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, int(number))
        if os.getppid() != parent:
            # The parent died before the kernel was asked.
            os.kill(os.getpid(), number)

    return ask


class Lifeline:
    """Watches the `make` that started us. Under any other parent, a shell for one, it is never cut.

    make passes SIGTERM on to us. On SIGINT and SIGHUP it only waits for us to end, since a terminal sends those to
    both; sent to make alone they are seen by make's being in its handler, where it blocks them.
    """

    def __init__(self) -> None:
        parent = process(os.getppid())
        self._parent = parent.pid if parent and parent.name in ("make", "gmake") else None

    def is_cut(self) -> bool:
        """Whether make has gone, or has been told to go."""
        if self._parent is None:
            return False
        return os.getppid() != self._parent or bool(_blocked_signals(self._parent) & _STOP_SIGNALS)


def _blocked_signals(pid: int) -> int:
    try:
        lines = (PROC / str(pid) / "status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1], 16) for line in lines if line.startswith("SigBlk:")), 0)
