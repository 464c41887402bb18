"""A real nginx with the site that is shipped, on loopback ports and with a certificate of the test's own."""

from __future__ import annotations

import os
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPSConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlencode

from opsboard.runner.valkey import free_port
from tests.support.proxied import HOST
from tests.support.real_rq import ROOT, wait_until
from tests.support.web import Answer, Browser, can_connect

SITE = ROOT / "deploy/nginx/opsboard.conf"
NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
MISSING = "" if NGINX and shutil.which("openssl") else "needs nginx and openssl: apt-get install nginx-light openssl"

_FRAME = """
{user}
pid {folder}/nginx.pid;
events {{}}
http {{
    access_log {folder}/other.log;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/site.conf;
}}
"""


@dataclass
class Nginx:
    """One running nginx in front of `upstream`. Its peers may call from any address of 127.0.0.0/8."""

    folder: Path
    upstream: str
    http: int = field(default_factory=free_port)
    https: int = field(default_factory=free_port)

    @contextmanager
    def running(self) -> Iterator[Nginx]:
        self.folder.mkdir()
        make_certificate(self.folder)
        (self.folder / "site.conf").write_text(self._site())
        # Where root runs the tests, a worker of another account would not get into their folders.
        user = "user root;" if os.geteuid() == 0 else ""
        (self.folder / "nginx.conf").write_text(_FRAME.format(user=user, folder=self.folder))
        command = [NGINX or "nginx", "-e", "nginx.log", "-p", str(self.folder), "-c", "nginx.conf", "-g", "daemon off;"]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            wait_until(lambda: can_connect(self.https) or process.poll() is not None, "nginx listens")
            assert process.poll() is None, (self.folder / "nginx.log").read_text()
            yield self
        finally:
            process.terminate()
            process.wait(timeout=20)

    def ask(self, raw: str, *, client: str = "127.0.0.1", name: str = HOST) -> str:
        """Send these bytes over TLS to the host of that name, and return all that comes back."""
        with (
            self._connected(client, self.https) as plain,
            self._trust().wrap_socket(plain, server_hostname=name) as tls,
        ):
            return _exchange(tls, raw)

    def ask_plainly(self, raw: str) -> str:
        with self._connected("127.0.0.1", self.http) as plain:
            return _exchange(plain, raw)

    def open(self, raw: str, *, client: str) -> ssl.SSLSocket:
        """The same, for an answer that is not read yet. Whoever calls closes it."""
        tls = self._trust().wrap_socket(self._connected(client, self.https), server_hostname=HOST)
        tls.sendall(raw.encode("latin-1"))
        return tls

    def browser(self, client: str) -> TlsBrowser:
        return TlsBrowser(client, self._trust())

    def _site(self) -> str:
        """What is shipped, with other places: every one of them must be there to be changed."""
        text = SITE.read_text()
        lines = [line for line in text.splitlines() if not line.strip().startswith("listen [::]:")]
        assert len(text.splitlines()) - len(lines) == 4
        site = "\n".join(lines)
        for shipped, here in {
            "server 127.0.0.1:8000;": f"server {self.upstream};",
            "listen 80": f"listen 127.0.0.1:{self.http}",
            "listen 443": f"listen 127.0.0.1:{self.https}",
            "/var/log/nginx/opsboard.log": f"{self.folder}/access.log",
            f"/etc/letsencrypt/live/{HOST}/fullchain.pem": f"{self.folder}/certificate.pem",
            f"/etc/letsencrypt/live/{HOST}/privkey.pem": f"{self.folder}/key.pem",
        }.items():
            assert shipped in site, shipped
            site = site.replace(shipped, here)
        return site

    def _connected(self, client: str, port: int) -> socket.socket:
        return socket.create_connection(("127.0.0.1", port), 20, (client, 0))

    def _trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self.folder / "certificate.pem")


class TlsBrowser(Browser):
    """The same browser at the same pages, over TLS and under the host's name."""

    def __init__(self, client: str, trust: ssl.SSLContext) -> None:
        super().__init__()
        self.client, self.trust = client, trust

    def _ask(
        self, method: str, port: int, path: str, form: dict[str, str] | None, more: dict[str, str] | None = None
    ) -> Answer:
        headers = {"Host": HOST, "Cookie": "; ".join(f"{k}={v}" for k, v in self.cookies.items())}
        if self.at:
            headers["Referer"] = self.at
        if form is not None:
            headers |= {"Origin": f"https://{HOST}", "Content-Type": "application/x-www-form-urlencoded"}
        connection = HTTPSConnection(HOST, port, timeout=20)
        plain = socket.create_connection(("127.0.0.1", port), 20, (self.client, 0))
        connection.sock = self.trust.wrap_socket(plain, server_hostname=HOST)
        connection.request(method, path, urlencode(form) if form is not None else None, {**headers, **(more or {})})
        answer = Answer.of(connection.getresponse())
        connection.close()
        self._remember(answer)
        self.at = f"https://{HOST}{path}" if method == "GET" else self.at
        return answer


@dataclass
class StandIn:
    """In opsboard's place: keeps what it was asked, and answers with a body that is longer than any buffer."""

    port: int
    requests: list[tuple[str, list[tuple[str, str]]]] = field(default_factory=list)
    ends: dict[str, str] = field(default_factory=dict)
    """By path: what became of the answer."""


@contextmanager
def standing_in(megabytes: int, stalled_seconds: float) -> Iterator[StandIn]:
    """An answer ends as "sent", or as "stalled" when so long nobody took any more of it."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            stand_in.requests.append((self.path, self.headers.items()))
            self.send_response(200)
            self.send_header("Content-Length", str(megabytes << 20))
            self.end_headers()
            self.connection.settimeout(stalled_seconds)
            try:
                for _ in range(megabytes):
                    self.connection.sendall(bytes(1 << 20))
                stand_in.ends[self.path] = "sent"
            except OSError:
                stand_in.ends[self.path] = "stalled"
                self.close_connection = True

        def log_message(self, *_words: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        stand_in = StandIn(server.server_address[1])
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield stand_in
        finally:
            server.shutdown()
            thread.join()


def make_certificate(folder: Path) -> None:
    """Of the host's name, signed by itself."""
    new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "key.pem"]
    names = ["-subj", f"/CN={HOST}", "-addext", f"subjectAltName=DNS:{HOST}"]
    command = ["openssl", "req", "-x509", *new_key, "-out", "certificate.pem", "-days", "2", *names]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def _exchange(connection: socket.socket, raw: str) -> str:
    connection.sendall(raw.encode("latin-1"))
    received = b""
    with suppress(ConnectionError):
        while chunk := connection.recv(65536):
            received += chunk
    return received.decode("latin-1")
