"""gunicorn's configuration: one loopback port, nothing trusted, and a refusal to listen anywhere else."""

from __future__ import annotations

import os
import sys
from typing import Any, NoReturn

import gunicorn.http.wsgi
import gunicorn.util
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from opsboard.access import is_loopback
from opsboard.connections import require_connections
from opsboard.env import env_int

UNREADABLE_HEADERS = (
    "Connection: close",
    "Content-Type: text/plain; charset=utf-8",
    "Cache-Control: no-store, private",
    "Content-Security-Policy: default-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
    "X-Frame-Options: DENY",
    "X-Content-Type-Options: nosniff",
    "Referrer-Policy: same-origin",
    "Cross-Origin-Opener-Policy: same-origin",
    "Cross-Origin-Resource-Policy: same-origin",
)
OPEN_BIND = "opsboard listens on 127.0.0.1 only; take --bind out, choose the port with PORT, and use an ssh tunnel."


def stop(sentence: str) -> NoReturn:
    """End the start with one sentence instead of a traceback."""
    print(f"Error: {sentence}", file=sys.stderr)  # noqa: T201
    raise SystemExit(2)


def read_port() -> int:
    """The port that PORT names; 8000 without it."""
    try:
        return env_int("PORT", 8000, least=1, most=65535)
    except ImproperlyConfigured as error:
        stop(str(error))


def write_error(sock: Any, status: int, reason: str, message: str) -> None:
    """The answer to a request that gunicorn can't read, such as one with two Host headers. It repeats nothing of it."""
    body = f"{status} {reason}\n"
    lines = (f"HTTP/1.1 {status} {reason}", *UNREADABLE_HEADERS, f"Content-Length: {len(body)}", "", body)
    gunicorn.util.write_nonblock(sock, "\r\n".join(lines).encode("latin-1"))


bind = [f"127.0.0.1:{read_port()}"]
wsgi_app = "opsboard.wsgi"
worker_class = "gthread"
workers = 2
threads = 4
timeout = 30
graceful_timeout = 30
keepalive = 5
# Ids and queue names of 512 letters, percent-encoded, are longer than the default of 4094.
limit_request_line = 8190
# Every peer is 127.0.0.1, so none may say what scheme, host or path it was asked for.
forwarded_allow_ips = ""
forwarder_headers = ""
secure_scheme_headers: dict[str, str] = {}
control_socket_disable = True
# Heartbeats in memory: on a busy disk they come late, and a live worker is killed for it.
worker_tmp_dir = "/dev/shm" if os.path.isdir("/dev/shm") else None  # noqa: S108
accesslog = None
errorlog = "-"

# The Server header would name the software to whoever asks.
gunicorn.http.wsgi.SERVER = "opsboard"
# gunicorn has no hook for these answers, and its own carry no headers and repeat the request.
gunicorn.util.write_error = write_error
# Read by opsboard.wsgi, which refuses to start under gunicorn without the hooks below.
os.environ["OPSBOARD_BIND_CHECKED"] = "1"


def on_starting(server: Any) -> None:
    """Before any socket is opened: refuse addresses that are not loopback, from whatever option they came."""
    for address in server.cfg.address:
        _require_loopback(address)
    _require_settings()


def on_reload(server: Any) -> None:
    """After SIGHUP: the same for what was read anew."""
    on_starting(server)


def when_ready(server: Any) -> None:
    """Before the first worker: the same for sockets that were handed in, whose addresses no option names."""
    for listener in server.LISTENERS:
        _require_loopback(listener.getsockname())


def _require_settings() -> None:
    """Read the settings once before any worker does, to end with a sentence instead of a traceback from each."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "opsboard.settings")
    try:
        require_connections(settings.OPSBOARD_CONNECTIONS)
    except ImproperlyConfigured as error:
        stop(str(error))


def _require_loopback(address: Any) -> None:
    host = address[0] if isinstance(address, tuple) else ""
    if isinstance(address, int) or host == "localhost" or is_loopback(host):
        return
    stop(OPEN_BIND)
