"""The web process as it is shipped, gunicorn on a port of its own; a tunnel to it, and a browser made of sockets."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from html import unescape
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from urllib.parse import urlencode

from opsboard.runner.valkey import free_port
from tests.support.real_rq import ROOT, wait_until

GUNICORN = [sys.executable, "-m", "gunicorn", "-c", "opsboard/gunicorn_conf.py"]


@dataclass
class WebServer:
    """One running gunicorn. `folder` is its var/, with a database of its own."""

    folder: Path
    redis_url: str
    port: int = field(default_factory=free_port)
    admin_password: str = ""

    @contextmanager
    def running(self, like: WebServer | None = None) -> Iterator[WebServer]:
        """Set up (a copy of the database of `like`, where given), start, wait for an answer; end it after use."""
        if like is None:
            self.manage("migrate", "--verbosity", "0")
            said = self.manage("grant_first_access", "default:orders")
            self.admin_password = said.partition("password ")[2].partition(" ")[0]
        else:
            self.folder.mkdir()
            shutil.copy(like.folder / "opsboard.sqlite3", self.folder)
            self.admin_password = like.admin_password
        # To a file: a pipe that nobody reads is full after some hundred requests, and then the server waits.
        with (self.folder / "web.log").open("ab") as log:
            process = subprocess.Popen(GUNICORN, cwd=ROOT, env=self.environ(), stderr=log)
        try:
            wait_until(lambda: can_connect(self.port), "gunicorn listens")
            self.pid = process.pid
            yield self
        finally:
            process.terminate()
            process.wait(timeout=20)

    def environ(self, **more: str) -> dict[str, str]:
        """Nothing of the test run's own settings."""
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        ours = {"OPSBOARD_VAR": str(self.folder), "REDIS_URL": self.redis_url, "PORT": str(self.port)}
        return {**kept, **ours, **more}

    def manage(self, *command: str) -> str:
        """Run a command of manage.py and return what it prints."""
        whole = [sys.executable, "manage.py", *command]
        return subprocess.run(whole, cwd=ROOT, env=self.environ(), check=True, capture_output=True, text=True).stdout

    def ask(self, raw: str) -> str:
        """Send these bytes as they are and return all that comes back."""
        with socket.create_connection(("127.0.0.1", self.port), 10) as connection:
            connection.sendall(raw.encode("latin-1"))
            return b"".join(iter(lambda: connection.recv(65536), b"")).decode("latin-1")


class Browser:
    """Keeps cookies by host and not by port, sends Origin and Referer, follows nothing by itself: as browsers do."""

    def __init__(self) -> None:
        self.cookies: dict[str, str] = {}
        self.at = ""

    def get(self, port: int, path: str) -> Answer:
        return self._ask("GET", port, path, None)

    def post(self, port: int, path: str, form: dict[str, str], **headers: str) -> Answer:
        return self._ask("POST", port, path, form, headers)

    def submit(self, port: int, page: str, action: str, **filled: str) -> Answer:
        """Open a page and send its form for `action`, hidden fields and all."""
        form = self.get(port, page).form(action, own="" if action == page else None)
        return self.post(port, action, {**form, **filled})

    def _ask(
        self, method: str, port: int, path: str, form: dict[str, str] | None, more: dict[str, str] | None = None
    ) -> Answer:
        headers = {"Host": f"localhost:{port}", "Cookie": "; ".join(f"{k}={v}" for k, v in self.cookies.items())}
        if self.at:
            headers["Referer"] = self.at
        if form is not None:
            headers |= {"Origin": f"http://localhost:{port}", "Content-Type": "application/x-www-form-urlencoded"}
            headers |= more or {}
        connection = HTTPConnection("127.0.0.1", port, timeout=15)
        connection.request(method, path, urlencode(form) if form is not None else None, headers)
        answer = Answer.of(connection.getresponse())
        connection.close()
        self._remember(answer)
        self.at = f"http://localhost:{port}{path}" if method == "GET" else self.at
        return answer

    def _remember(self, answer: Answer) -> None:
        for line in answer.set_cookies:
            name, _, value = line.partition(";")[0].partition("=")
            if value in {"", '""'}:
                self.cookies.pop(name, None)
            else:
                self.cookies[name] = value


@dataclass(frozen=True)
class Answer:
    status: int
    location: str
    text: str
    set_cookies: list[str]

    @classmethod
    def of(cls, response: HTTPResponse) -> Answer:
        text = response.read().decode()
        cookies = response.headers.get_all("Set-Cookie") or []
        return cls(response.status, response.headers.get("Location", ""), text, cookies)

    def form(self, action: str, *, own: str | None = None) -> dict[str, str]:
        """The hidden fields of the form that is sent to `action`."""
        forms = re.findall(r"<form([^>]*)>(.*?)</form>", self.text, re.DOTALL)
        # A form without an address is sent to the page's own.
        found = [body for tag, body in forms if 'method="post"' in tag and _attribute(tag, "action") in {action, own}]
        assert found, f"no form for {action}"
        fields = re.findall(r'<input[^>]*type="hidden"[^>]*>', found[0])
        return {unescape(_attribute(field, "name")): unescape(_attribute(field, "value")) for field in fields}


@contextmanager
def tunnel(to: int) -> Iterator[int]:
    """What `ssh -L` does at its end: another local port whose bytes are handed on unchanged. Yields the port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=_serve, args=(listener, to))
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            # Whatever became of the test: the run would wait for this thread for ever.
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def can_connect(port: int, host: str = "127.0.0.1") -> bool:
    with suppress(OSError), socket.create_connection((host, port), 0.5):
        return True
    return False


def listening_addresses(port: int) -> set[str]:
    """The addresses, in the kernel's hexadecimal, on which anything of this machine listens at this port."""
    lines = [
        line.split() for kind in ("tcp", "tcp6") for line in Path(f"/proc/net/{kind}").read_text().splitlines()[1:]
    ]
    listening = [line[1].split(":") for line in lines if line[3] == "0A"]
    return {address for address, number in listening if int(number, 16) == port}


def _serve(listener: socket.socket, to: int) -> None:
    """One connection after the other, each to its end, until the listener is shut down."""
    with suppress(OSError):
        while True:
            near, _address = listener.accept()
            with near, socket.create_connection(("127.0.0.1", to), 10) as far:
                back = threading.Thread(target=_pump, args=(far, near))
                back.start()
                _pump(near, far)
                back.join()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while chunk := source.recv(65536):
            target.sendall(chunk)
        target.shutdown(socket.SHUT_WR)


def _attribute(tag: str, name: str) -> str:
    found = re.search(rf'\b{name}="([^"]*)"', tag)
    return found[1] if found else ""
