"""Starts processes, passes on what they say, and ends them all together: none outlives the supervisor."""

from __future__ import annotations

import os
import selectors
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import BinaryIO

from opsboard.runner.lifeline import Lifeline, die_with_parent
from opsboard.runner.processes import end_session

TICK_SECONDS = 0.2
KEPT_LINES = 50


class StopAsked(Exception):
    """A person, or the system, has asked for the end: Ctrl-C, a signal, a terminal that closed."""


class ChildEnded(Exception):
    """A process that should run on has ended, or one that should succeed has failed. The text says which, and how."""


@dataclass
class Child:
    """One started process. `grace_seconds` is how long it may take to stop; `lines` are the last it has said."""

    name: str
    process: subprocess.Popen[bytes]
    log: BinaryIO
    is_quiet: bool
    grace_seconds: float
    rest: bytes = b""
    lines: list[str] = field(default_factory=list)


class Supervisor:
    """One loop for all children: their output, their ends, and the signals that mean stop.

    `say` prints one line; what a child says is kept in a file of its name in `logs`, from its last start on; `keep` are
    file descriptors that every child inherits.
    """

    def __init__(self, say: Callable[[str], None], *, logs: Path, keep: Sequence[int] = ()) -> None:
        self._say, self._logs, self._keep = say, logs, tuple(keep)
        self._selector = selectors.DefaultSelector()
        self._children: list[Child] = []
        self._lifeline = Lifeline()
        self._asked = 0

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take over the signals that mean stop; at the end, however it comes, stop what was started."""
        woken, wakes = socket.socketpair()
        woken.setblocking(False)
        wakes.setblocking(False)
        before = signal.set_wakeup_fd(wakes.fileno())
        self._selector.register(woken, selectors.EVENT_READ, None)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # Who started us in the background has set these to be ignored; so be it.
            if number == signal.SIGTERM or signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self._ask)
        try:
            yield
        finally:
            self._stop_all()
            signal.set_wakeup_fd(before)
            self._selector.close()
            woken.close()
            wakes.close()

    def start(
        self,
        name: str,
        command: Sequence[str],
        environ: Mapping[str, str],
        *,
        is_quiet: bool = False,
        grace_seconds: float = 10.0,
    ) -> Child:
        """Start a process in a session of its own, so that a Ctrl-C reaches us alone and we end it in order.

        What a quiet one says is printed only if it ends by itself.
        """
        process = subprocess.Popen(  # noqa: S603 - the commands are ours
            command,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=self._keep,
            start_new_session=True,
            preexec_fn=die_with_parent(),
        )
        child = Child(name, process, (self._logs / f"{name}.log").open("wb"), is_quiet, grace_seconds)
        assert process.stdout
        self._selector.register(process.stdout, selectors.EVENT_READ, child)
        self._children.append(child)
        return child

    def finish(
        self, name: str, command: Sequence[str], environ: Mapping[str, str], *, is_quiet: bool = False
    ) -> list[str]:
        """Run a command to its end and return its lines, printed already unless quiet. Raises ChildEnded, StopAsked."""
        child = self.start(name, command, environ, is_quiet=is_quiet)
        while child.process.poll() is None:
            self._turn()
        self._children.remove(child)
        self._drain(child)
        if child.process.returncode:
            raise self._ended(child)
        return child.lines

    def wait_for(self, condition: Callable[[], bool], what: str, *, seconds: float) -> None:
        """Wait while all run on. Raises ChildEnded, StopAsked, TimeoutError with `what` did not come."""
        deadline = time.monotonic() + seconds
        while not condition():
            self._turn()
            self._require_all()
            if time.monotonic() > deadline:
                raise TimeoutError(f"{what} took longer than {seconds:.0f} seconds")

    def watch(self) -> None:
        """Wait until somebody asks for the end. Raises StopAsked, or ChildEnded when a process ends by itself."""
        while True:
            self._turn()
            self._require_all()

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self._asked += 1

    def _turn(self) -> None:
        self._read_output(TICK_SECONDS)
        if self._asked or self._lifeline.is_cut():
            raise StopAsked

    def _read_output(self, seconds: float) -> None:
        for key, _events in self._selector.select(seconds):
            if key.data is None:
                key.fileobj.recv(64)  # type: ignore[union-attr]  # the socket that signals wake
            else:
                self._read(key.data)

    def _read(self, child: Child) -> bool:
        """Print what a child has said since; False when it has said all."""
        assert child.process.stdout
        said = os.read(child.process.stdout.fileno(), 65536)
        child.log.write(said)
        child.log.flush()
        *lines, child.rest = (child.rest + said).split(b"\n")
        if not said:
            self._selector.unregister(child.process.stdout)
            child.process.stdout.close()
            child.log.close()
            lines = [child.rest] if child.rest else []
        for line in lines:
            self._take(child, line.decode(errors="replace").rstrip("\r"))
        return bool(said)

    def _take(self, child: Child, line: str) -> None:
        child.lines.append(line)
        del child.lines[:-KEPT_LINES]
        if not child.is_quiet:
            self._print(child, line)

    def _print(self, child: Child, line: str) -> None:
        self._say(f"{child.name:<8}| {line}")

    def _drain(self, child: Child) -> None:
        while child.process.stdout and not child.process.stdout.closed and self._has_more(child):
            self._read(child)

    def _has_more(self, child: Child) -> bool:
        """Whether there is something to read now: a grandchild may hold the pipe open for longer."""
        return any(key.data is child for key, _events in self._selector.select(0))

    def _require_all(self) -> None:
        for child in self._children:
            if child.process.poll() is not None:
                self._drain(child)
                raise self._ended(child)

    def _ended(self, child: Child) -> ChildEnded:
        for line in child.lines if child.is_quiet else []:
            self._print(child, line)
        return ChildEnded(f"{child.name} {_how(child.process.returncode)}")

    def _stop_all(self) -> None:
        """In reverse order of the start, each given its time; a second Ctrl-C ends the patience."""
        self._asked = 0
        for child in reversed(self._children):
            self._stop(child)
            self._drain(child)

    def _stop(self, child: Child) -> None:
        deadline = time.monotonic() + child.grace_seconds
        if child.process.poll() is None:
            child.process.terminate()
        while child.process.poll() is None and time.monotonic() < deadline and not self._asked:
            self._read_output(TICK_SECONDS)
        if child.process.poll() is None:
            self._say(f"{child.name} did not stop in time and is killed.")
        # What it started and left behind goes too.
        end_session(child.process.pid)
        child.process.wait()


def _how(code: int) -> str:
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
