"""`make run` as a person meets it: a terminal's output, signals, and the processes that it leaves or doesn't."""

from __future__ import annotations

import fcntl
import os
import re
import select
import signal
import subprocess
import termios
import threading
from pathlib import Path

from opsboard.runner.processes import Process, descendants, end_session, processes
from opsboard.runner.valkey import free_port
from tests.support.real_rq import ROOT, wait_until

LAST_LINE = "Ctrl-C stops everything"
START_SECONDS = 90


class MakeRun:
    """One `make run` in a folder of its own; `environ` is added to a plain environment."""

    def __init__(self, folder: Path, **environ: str) -> None:
        environ = {"OPSBOARD_VAR": str(folder), "PORT": str(free_port())} | environ
        self.folder, self.port = Path(environ["OPSBOARD_VAR"]), environ["PORT"]
        self.lines: list[str] = []
        self._terminal, theirs = os.openpty()
        _without_echo(theirs)
        self.process = subprocess.Popen(
            ["make", "--no-print-directory", "run"],
            cwd=ROOT,
            env=_plain_environment() | environ,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=_sit_down_at_terminal,
        )
        os.close(theirs)
        self._closing = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._seen: dict[int, Process] = {}

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    @property
    def redis_url(self) -> str:
        """The embedded store, with the account that may do everything."""
        config = (self.folder / "valkey/valkey.conf").read_text()
        found = dict(re.findall(r'^(port|requirepass) "(.*)"$', config, re.MULTILINE))
        return f"redis://:{found['requirepass']}@127.0.0.1:{found['port']}/0"

    def wait_until_settled(self) -> MakeRun:
        """Wait for the last line of its greeting, or for its end."""
        wait_until(lambda: LAST_LINE in self.text or self._has_ended(), "make run is ready", START_SECONDS)
        self._seen = {one.pid: one for one in descendants(self.process.pid)}
        return self

    def child(self, words: str) -> int:
        """The pid of the eldest of its processes whose command line holds these words."""
        found = [pid for pid in sorted(self._seen) if words in _command_line(pid)]
        assert found, f"no process of make run is called {words}: {self.text}"
        return found[0]

    def has_child(self, words: str) -> bool:
        """Whether one of its processes has these words in its command line."""
        return any(words in _command_line(pid) for pid in self._seen)

    def send(self, number: signal.Signals) -> None:
        """A signal to make alone."""
        self.process.send_signal(number)

    def press_ctrl_c(self) -> None:
        """At the keyboard, so that the terminal does what it does."""
        os.write(self._terminal, b"\x03")

    def close_window(self) -> None:
        """The terminal goes away: a hang-up for those in the foreground, and nowhere left to print to."""
        self._closing.set()
        self._reader.join(10)
        os.close(self._terminal)

    def wait(self) -> int:
        """Its exit code, once it has ended and said all."""
        code = self.process.wait(60)
        self._reader.join(10)
        return code

    def left_over(self) -> list[Process]:
        """Of the processes it had when it was ready, those that are still there."""
        assert self._seen, f"make run was never ready: {self.text}"
        return [one for one in processes() if one.pid in self._seen]

    def end(self) -> None:
        """For a test that has failed half-way: stop it, and kill what it should not have left."""
        if not self._has_ended():
            self.process.terminate()
            self.process.wait(60)
        for one in processes():
            if one.pid in self._seen:
                end_session(one.session)
        if not self._closing.is_set():
            self.close_window()

    def _has_ended(self) -> bool:
        return self.process.poll() is not None

    def _read(self) -> None:
        rest = ""
        while not self._closing.is_set():
            if not select.select([self._terminal], [], [], 0.1)[0]:
                continue
            try:
                *lines, rest = (rest + os.read(self._terminal, 65536).decode()).split("\n")
            except OSError:
                # How a terminal says that nobody has it open any more.
                return
            self.lines += [line.rstrip("\r") for line in lines]


def _sit_down_at_terminal() -> None:
    """Take the terminal for the new session: it gets the Ctrl-C, and the hang-up when the window is closed."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    # Whoever runs the tests may ignore them, and handed that down.
    for number in (signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)


def _without_echo(terminal: int) -> None:
    attributes = termios.tcgetattr(terminal)
    attributes[3] &= ~termios.ECHO
    termios.tcsetattr(terminal, termios.TCSANOW, attributes)


def _plain_environment() -> dict[str, str]:
    kept = ("PATH", "HOME", "LANG", "TERM", "TMPDIR")
    return {name: os.environ[name] for name in kept if name in os.environ}


def _command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""
