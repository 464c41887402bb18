"""gunicorn's configuration: one place to listen, no header believed, and a refusal to listen anywhere else."""

from __future__ import annotations

import os
import sys
from typing import Any, NoReturn

import gunicorn.http.wsgi
import gunicorn.util
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from opsboard.access.addresses import is_loopback, parse_address, parse_bind
from opsboard.access.reading import Access, read_access
from opsboard.connections import require_connections

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
OTHER_BIND = "opsboard listens where OPSBOARD_BIND says, and nowhere else; take --bind out."
NO_FOLDER = "The folder of OPSBOARD_BIND does not exist; make it, owned by this user, with the proxy's group."
OPEN_FOLDER = "Everybody may reach the socket of OPSBOARD_BIND; run chmod 750 on its folder, with the proxy's group."


def stop(sentence: str) -> NoReturn:
    """End the start with one sentence instead of a traceback."""
    print(f"Error: {sentence}", file=sys.stderr)  # noqa: T201
    raise SystemExit(2)


def require_access() -> Access:
    """How opsboard is to be reached."""
    try:
        return read_access(os.environ)
    except ImproperlyConfigured as error:
        stop(str(error))


def write_error(sock: Any, status: int, reason: str, message: str) -> None:
    """The answer to a request that gunicorn can't read, such as one with two Host headers. It repeats nothing of it."""
    body = f"{status} {reason}\n"
    lines = (f"HTTP/1.1 {status} {reason}", *UNREADABLE_HEADERS, f"Content-Length: {len(body)}", "", body)
    gunicorn.util.write_nonblock(sock, "\r\n".join(lines).encode("latin-1"))


ACCESS = require_access()
bind = [ACCESS.bind]
wsgi_app = "opsboard.wsgi"
worker_class = "gthread"
workers = 2
threads = 4
timeout = 30
graceful_timeout = 30
keepalive = 5
# Ids and queue names of 512 letters, percent-encoded, are longer than the default of 4094.
limit_request_line = 8190
# What a proxy says is judged in opsboard.access and nowhere else. gunicorn would believe every peer of a Unix socket,
# and in local mode every peer is 127.0.0.1: so none may tell it scheme, path or address.
forwarded_allow_ips = ""
forwarder_headers = ""
secure_scheme_headers: dict[str, str] = {}
header_map = "drop"
proxy_protocol = "off"
protocol = "http"
BELIEVED: dict[str, Any] = {
    "forwarded_allow_ips": [],
    "forwarder_headers": [],
    "secure_scheme_headers": {},
    "header_map": "drop",
    "proxy_protocol": "off",
    "protocol": "http",
    # What a proxy and gunicorn would read differently.
    "strip_header_spaces": False,
    "permit_obsolete_folding": False,
}
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
    """Before any socket is opened: refuse other addresses and weaker parsing, from whatever option they came."""
    _require_own_parsing(server.cfg)
    for address in server.cfg.address:
        # A socket that is handed in is looked at when it can be asked.
        if not isinstance(address, int):
            _require_place(address)
    _require_settings()


def on_reload(server: Any) -> None:
    """After SIGHUP: the same for what was read anew."""
    on_starting(server)


def when_ready(server: Any) -> None:
    """Before the first worker: the same for sockets that were handed in, whose addresses no option names."""
    for listener in server.LISTENERS:
        _require_place(listener.getsockname())


def _require_settings() -> None:
    """Read the settings once before any worker does, to end with a sentence instead of a traceback from each."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "opsboard.settings")
    try:
        require_connections(settings.OPSBOARD_CONNECTIONS)
    except ImproperlyConfigured as error:
        stop(str(error))


def _require_own_parsing(cfg: Any) -> None:
    for name, ours in BELIEVED.items():
        if getattr(cfg, name) != ours:
            stop(f"opsboard sets {name} itself; take it out of gunicorn's options and of GUNICORN_CMD_ARGS.")


def _require_place(address: Any) -> None:
    """In local mode any loopback address; in proxied mode what OPSBOARD_BIND names, as a socket not for everybody."""
    place = (str(parse_address(address[0]) or address[0]), address[1]) if isinstance(address, tuple) else address
    if not ACCESS.is_proxied:
        if not isinstance(place, tuple) or not (place[0] == "localhost" or is_loopback(place[0])):
            stop(OPEN_BIND)
    elif place != parse_bind(ACCESS.bind):
        stop(OTHER_BIND)
    elif isinstance(place, str):
        _require_closed_folder(place)


def _require_closed_folder(path: str) -> None:
    """A peer on a Unix socket has no address. Who may connect is told by the folder: the socket itself is for all."""
    try:
        mode = os.stat(os.path.dirname(path)).st_mode
    except OSError:
        stop(NO_FOLDER)
    if mode & 0o007:
        stop(OPEN_FOLDER)
