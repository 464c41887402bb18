"""Proxied mode as it is shipped: gunicorn on a Unix socket, with what a proxy and what others would send to it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.support.proxied import CLIENT, HOST, ProxiedServer, SocketServer
from tests.support.real_rq import ROOT
from tests.support.web import GUNICORN, listening_addresses

NAMED, HTTPS, FOR = f"Host: {HOST}", "X-Forwarded-Proto: https", f"X-Forwarded-For: {CLIENT}"
STORE = "redis://127.0.0.1:1/0"


@pytest.fixture(scope="module")
def short_folder():
    """Of a path that a Unix socket can have, and closed to others."""
    folder = Path(tempfile.mkdtemp(prefix="opsboard-"))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def server(tmp_path_factory, short_folder):
    folder = tmp_path_factory.mktemp("web") / "var"
    with SocketServer(folder, STORE, path=short_folder / "web.sock").running() as running:
        yield running


def request(*headers, path="/login/"):
    return "\r\n".join((f"GET {path} HTTP/1.1", *headers, "Connection: close", "", ""))


def status(answer):
    return answer.partition(" ")[2][:3]


def test_what_the_proxy_hands_on_is_answered_with_all_that_https_asks_for(server):
    answer = server.ask(request(NAMED, HTTPS, FOR))
    assert status(answer) == "200"
    assert "Strict-Transport-Security: max-age=31536000\r\n" in answer
    assert "Set-Cookie: __Host-opsboard_csrf_" in answer and "; Secure\r\n" in answer
    assert f"Behind a proxy: {HOST}" in answer
    assert "gunicorn" not in answer.lower()


@pytest.mark.parametrize("path", ["/healthz", "/static/css/main.css", "/"])
@pytest.mark.parametrize(
    "headers",
    [
        [NAMED],
        [NAMED, HTTPS],
        [NAMED, FOR],
        [HTTPS, FOR],
        ["Host: evil.example", HTTPS, FOR],
        ["Host: localhost", HTTPS, FOR],
        [NAMED, "Host: evil.example", HTTPS, FOR],
        ["Host: evil.example", NAMED, HTTPS, FOR],
        [NAMED, NAMED, HTTPS, FOR],
        [NAMED, "X-Forwarded-Proto: http", FOR],
        [NAMED, HTTPS, HTTPS, FOR],
        [NAMED, "X-Forwarded-Proto: http", HTTPS, FOR],
        [NAMED, "X_Forwarded_Proto: https", FOR],
        [NAMED, "X-Forwarded-Ssl: on", "X-Forwarded-Protocol: ssl", FOR],
        [NAMED, HTTPS, "X_Forwarded_For: 192.0.2.1"],
        [NAMED, HTTPS, FOR, "X-Forwarded-For: evil"],
    ],
    ids=str,
)
def test_what_it_would_not_send_is_refused_on_every_address(server, path, headers):
    answer = server.ask(request(*headers, path=path))
    assert status(answer) == "400"
    assert "evil" not in answer
    for header in ("X-Frame-Options: DENY", "frame-ancestors 'none'", "Cache-Control: no-store", "nosniff"):
        assert header in answer


def test_nobody_tells_gunicorn_another_path_or_host(server):
    more = ["SCRIPT_NAME: /login", "Script-Name: /login", "X-Forwarded-Host: evil.example", "X-Forwarded-Prefix: /x"]
    answer = server.ask(request(NAMED, HTTPS, FOR, *more))
    assert status(answer) == "200"
    assert "evil" not in answer
    assert status(server.ask(request(NAMED, HTTPS, FOR, path=f"https://{HOST}/login/"))) == "400"


def test_nothing_listens_on_an_address(server):
    assert not listening_addresses(server.port)


# What is refused at start ---------------------------------------------------------------------------------------------


def start(folder, *options, handed_in=(), **environ):
    """Start gunicorn where it must not start, and return the one sentence that it says."""
    server = ProxiedServer(folder, STORE)
    kept = server.environ(PORT=str(server.port), **environ)
    done = subprocess.run(
        [*GUNICORN, *options], cwd=ROOT, env=kept, pass_fds=handed_in, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert not listening_addresses(server.port)
    return done.stderr[done.stderr.index("Error: ") :]


@pytest.mark.parametrize("place", ["0.0.0.0:{port}", "127.0.0.1:{port}", "unix:{folder}/web.sock"])
def test_a_place_that_the_settings_do_not_name_fails_at_start(tmp_path, place):
    said = start(tmp_path, "--bind", place.format(port=1, folder=tmp_path))
    assert said == "Error: opsboard listens where OPSBOARD_BIND says, and nowhere else; take --bind out.\n"


def test_a_socket_that_is_handed_in_open_fails_at_start(tmp_path):
    with socket.create_server(("0.0.0.0", 0)) as open_socket:
        said = start(tmp_path, "--bind", f"fd://{open_socket.fileno()}", handed_in=[open_socket.fileno()])
    assert "Error: opsboard listens where OPSBOARD_BIND says" in said


@pytest.mark.parametrize(
    ("option", "name"),
    [
        ("--forwarded-allow-ips=*", "forwarded_allow_ips"),
        ("--forwarder-headers=SCRIPT_NAME,PATH_INFO", "forwarder_headers"),
        ("--proxy-protocol=v1", "proxy_protocol"),
        ("--header-map=dangerous", "header_map"),
        ("--permit-obsolete-folding", "permit_obsolete_folding"),
    ],
)
def test_an_option_by_which_gunicorn_believes_more_fails_at_start(tmp_path, option, name):
    said = start(tmp_path, GUNICORN_CMD_ARGS=option)
    assert said == f"Error: opsboard sets {name} itself; take it out of gunicorn's options and of GUNICORN_CMD_ARGS.\n"


def test_a_socket_that_everybody_may_reach_fails_at_start(tmp_path, short_folder):
    folder = short_folder / "open"
    folder.mkdir()
    os.chmod(folder, 0o755)
    said = start(tmp_path, OPSBOARD_BIND=f"unix:{folder}/web.sock")
    assert said.startswith("Error: Everybody may reach the socket of OPSBOARD_BIND; run chmod 750 on its folder")
    assert not list(folder.iterdir())
    said = start(tmp_path, OPSBOARD_BIND=f"unix:{folder}/missing/web.sock")
    assert said.startswith("Error: The folder of OPSBOARD_BIND does not exist; ")


@pytest.mark.parametrize(
    ("environ", "sentence"),
    [
        ({"OPSBOARD_HOST": ""}, "Error: OPSBOARD_HOST must be the name in the browser's address"),
        ({"OPSBOARD_BIND": "0.0.0.0:8000"}, "Error: OPSBOARD_BIND must be one address and port"),
        ({"OPSBOARD_TRUSTED_PROXIES": "0.0.0.0/0"}, "Error: OPSBOARD_TRUSTED_PROXIES must be IP addresses"),
        ({"OPSBOARD_DEBUG": "1"}, "Error: OPSBOARD_DEBUG shows code and settings"),
    ],
)
def test_a_setting_that_would_open_it_fails_at_start(tmp_path, environ, sentence):
    assert start(tmp_path, **environ).startswith(sentence)
