"""opsboard in proxied mode: its settings in the test's own process, and its web process for a proxy to reach."""

from __future__ import annotations

import runpy
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.support.real_rq import ROOT, wait_until
from tests.support.web import GUNICORN, WebServer

HOST = "ops.example.org"
PROXIED = {"OPSBOARD_MODE": "proxied", "OPSBOARD_HOST": HOST}
CLIENT = "198.51.100.7"
"""The address of a browser somewhere, as the proxy tells it."""
FORWARDED: dict[str, Any] = {"HTTP_HOST": HOST, "HTTP_X_FORWARDED_PROTO": "https", "HTTP_X_FORWARDED_FOR": CLIENT}
"""What a request carries when the proxy hands it on."""


def proxied_settings() -> dict[str, Any]:
    """The settings that proxied mode changes, as the product's own file gives them."""
    local, proxied = (_read(tuple(sorted(environ.items()))) for environ in ({}, PROXIED))
    return {name: value for name, value in proxied.items() if local.get(name) != value} | {"OPSBOARD_DEMO": False}


@cache
def _read(environ: tuple[tuple[str, str], ...]) -> Mapping[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")
        for name, value in environ:
            patch.setenv(name, value)
        read = runpy.run_path(str(ROOT / "opsboard/settings.py"))
    return {name: value for name, value in read.items() if name.isupper()}


@dataclass
class ProxiedServer(WebServer):
    """One running gunicorn that is to be reached through a proxy. `more` goes into its environment."""

    more: dict[str, str] = field(default_factory=dict)

    def environ(self, **more: str) -> dict[str, str]:
        return super().environ(**{**PROXIED, **self.more, **more})


@dataclass
class SocketServer(ProxiedServer):
    """The same on a Unix socket in a folder of its own, whose path has to be short."""

    path: Path = Path()

    @contextmanager
    def running(self, like: WebServer | None = None) -> Iterator[SocketServer]:
        self.more |= {"OPSBOARD_BIND": f"unix:{self.path}"}
        if like is None:
            self.manage("migrate", "--verbosity", "0")
        else:
            self.folder.mkdir()
            shutil.copy(like.folder / "opsboard.sqlite3", self.folder)
        with (self.folder / "web.log").open("ab") as log:
            process = subprocess.Popen(GUNICORN, cwd=ROOT, env=self.environ(), stderr=log)
        try:
            wait_until(self.path.exists, "gunicorn listens")
            yield self
        finally:
            process.terminate()
            process.wait(timeout=20)

    def ask(self, raw: str) -> str:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(10)
            connection.connect(str(self.path))
            connection.sendall(raw.encode("latin-1"))
            return b"".join(iter(lambda: connection.recv(65536), b"")).decode("latin-1")
