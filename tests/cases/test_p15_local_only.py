"""P15: local-only mode against DNS rebinding, and through a tunnel. The web process is the one that is shipped."""

from __future__ import annotations

import socket
import subprocess

import pytest
from redis import Redis

from tests.support.real_rq import ROOT
from tests.support.web import GUNICORN, Browser, WebServer, listening_addresses, tunnel

PATHS = ["/login/", "/", "/failed/", "/jobs/default/orders/p15/", "/access/", "/healthz", "/static/css/main.css", "/x/"]
LOOPBACK = "0100007F"


@pytest.fixture(scope="module")
def server(valkey, tmp_path_factory):
    folder = tmp_path_factory.mktemp("web") / "var"
    with WebServer(folder, f"{valkey.url.rpartition('/')[0]}/5").running() as running:
        yield running


@pytest.fixture
def browser():
    return Browser()


def request(path, *headers):
    return "\r\n".join((f"GET {path} HTTP/1.1", *headers, "Connection: close", "", ""))


def sign_in(browser, port, password):
    return browser.submit(port, "/login/", "/login/", username="admin", password=password)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "headers",
    [
        ["Host: evil.example:8000"],
        ["Host: 127.0.0.1.evil.example"],
        ["Host: localhost.evil.example"],
        ["Host: "],
        [],
        ["Host: localhost", "Host: evil.example"],
        ["Host: evil.example", "Host: localhost"],
        ["Host: localhost", "X-Forwarded-Host: evil.example"],
        ["Host: localhost", "Forwarded: host=evil.example"],
        ["Host: localhost", "Via: 1.1 evil.example"],
        ["Host: localhost", "X-Real-IP: 192.0.2.1"],
    ],
    ids=str,
)
def test_p15_a_foreign_host_gets_400_on_every_address(server, path, headers):
    answer = server.ask(request(path, *headers))
    assert answer.startswith("HTTP/1.1 400 ")
    assert "evil" not in answer
    for header in ("X-Frame-Options: DENY", "frame-ancestors 'none'", "Cache-Control: no-store", "nosniff"):
        assert header in answer


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "[::1]"])
@pytest.mark.parametrize("port", ["", ":80", ":8000", ":18000", ":65535"])
def test_p15_a_loopback_name_with_any_port_works(server, name, port):
    assert server.ask(request("/login/", f"Host: {name}{port}")).startswith("HTTP/1.1 200 ")


def test_p15_a_proxy_cannot_claim_https_a_path_or_another_target(server):
    local = "Host: localhost"
    assert server.ask(request("/login/", local, "X-Forwarded-Proto: https")).startswith("HTTP/1.1 400 ")
    assert server.ask(request("http://evil.example/login/", local)).startswith("HTTP/1.1 400 ")
    assert server.ask(request("/login/", local, "SCRIPT_NAME: /login")).startswith("HTTP/1.1 200 ")


def test_p15_what_gunicorn_itself_refuses_carries_our_headers_and_repeats_nothing(server):
    for raw in (
        "SECRET\r\n\r\n",
        request("/" + "s" * 9000, "Host: localhost"),
        request("/", "Host: localhost", "SECRET"),
    ):
        answer = server.ask(raw)
        assert answer.startswith("HTTP/1.1 4")
        assert "frame-ancestors 'none'" in answer
        assert "SECRET" not in answer


def test_p15_the_software_is_not_named(server):
    assert "gunicorn" not in server.ask(request("/login/", "Host: localhost")).lower()


def test_p15_nothing_listens_elsewhere(server):
    assert listening_addresses(server.port) == {LOOPBACK}


@pytest.mark.parametrize("bind", ["0.0.0.0", "[::]", "", "192.0.2.1", "unix:{folder}/web.sock"])
@pytest.mark.parametrize("how", ["option", "variable"])
def test_p15_a_setting_that_would_open_it_fails_at_start(tmp_path, bind, how):
    server = WebServer(tmp_path / "var", "redis://127.0.0.1:1/0")
    place = bind.format(folder=tmp_path) if bind.startswith("unix") else f"{bind}:{server.port}"
    given = {"GUNICORN_CMD_ARGS": f"--bind {place}"} if how == "variable" else {}
    option = ["--bind", place] if how == "option" else []
    done = subprocess.run([*GUNICORN, *option], cwd=ROOT, env=server.environ(**given), capture_output=True, timeout=30)
    assert done.returncode == 2
    assert b"Error: opsboard listens on 127.0.0.1 only; take --bind out" in done.stderr
    assert b"Traceback" not in done.stderr
    assert not listening_addresses(server.port)
    assert not (tmp_path / "web.sock").exists()


def test_p15_a_socket_that_is_handed_in_open_fails_at_start(tmp_path):
    server = WebServer(tmp_path / "var", "redis://127.0.0.1:1/0")
    with socket.create_server(("0.0.0.0", server.port)) as open_socket:
        done = subprocess.run(
            [*GUNICORN, "--bind", f"fd://{open_socket.fileno()}"],
            cwd=ROOT,
            env=server.environ(),
            pass_fds=[open_socket.fileno()],
            capture_output=True,
            timeout=30,
        )
    assert done.returncode == 2
    assert b"Error: opsboard listens on 127.0.0.1 only" in done.stderr


def test_p15_gunicorn_without_our_configuration_does_not_serve(tmp_path):
    server = WebServer(tmp_path / "var", "redis://127.0.0.1:1/0")
    command = [GUNICORN[0], "-m", "gunicorn", "opsboard.wsgi", "--bind", f"0.0.0.0:{server.port}"]
    done = subprocess.run(command, cwd=ROOT, env=server.environ(), capture_output=True, timeout=30)
    assert done.returncode == 3
    assert b"Start it with: gunicorn -c opsboard/gunicorn_conf.py" in done.stderr


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("OPSBOARD_MODE", "open", b"OPSBOARD_MODE must be one of local, proxied"),
        ("OPSBOARD_HOST", "ops.example.org", b"OPSBOARD_HOST does nothing in local mode"),
        ("PORT", "http", b"PORT must be a whole number"),
        ("REDIS_URL", "", b"No job store is named"),
        ("REDIS_URL", "http://:s3cret@h", b"REDIS_URL can't be read"),
    ],
)
def test_p15_a_bad_setting_ends_the_start_with_one_sentence(tmp_path, name, value, sentence):
    server = WebServer(tmp_path / "var", "redis://127.0.0.1:1/0")
    done = subprocess.run(GUNICORN, cwd=ROOT, env=server.environ(**{name: value}), capture_output=True, timeout=30)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert b"Traceback" not in done.stderr
    assert b"s3cret" not in done.stderr


@pytest.mark.parametrize("rq_version", ["3.0"])
def test_p15_through_a_tunnel_one_signs_in_retries_a_job_and_signs_out(server, browser, valkey, rq_version, real_rq):
    job = "/jobs/default/orders/p15/"
    real_rq.fail("fx.boom", 4711, job_id="p15")
    with Redis(port=valkey.port) as redis, tunnel(server.port) as port:
        redis.swapdb(0, 5)
        assert sign_in(browser, port, server.admin_password).location == "/start/"
        browser.submit(port, "/job-types/fx.boom/", "/job-types/fx.boom/", idempotency="repeatable")
        answer = browser.submit(port, job, f"{job}retry/")
        assert (answer.status, answer.location) == (302, job)
        assert Redis(port=valkey.port, db=5).lrange("rq:queue:orders", 0, -1) == [b"p15"]
        assert browser.submit(port, job, "/logout/").location == "/login/?signed_out=1"
        assert browser.get(port, job).location.startswith("/login/?next=")


def test_p15_through_a_tunnel_no_cookie_asks_for_https_and_no_answer_leads_to_it(server, browser):
    with tunnel(server.port) as port:
        page = browser.get(port, "/login/")
        answer = sign_in(browser, port, server.admin_password)
    assert answer.status == 302
    assert len(page.set_cookies + answer.set_cookies) >= 2
    assert not [line for line in page.set_cookies + answer.set_cookies if "secure" in line.lower()]


@pytest.mark.parametrize("origin", ["http://evil.example", "http://localhost:1", "https://localhost", "null"])
def test_p15_through_a_tunnel_another_origin_is_refused(server, browser, origin):
    with tunnel(server.port) as port:
        form = browser.get(port, "/login/").form("/login/")
        form |= {"username": "admin", "password": server.admin_password}
        assert browser.post(port, "/login/", form, Origin=origin).status == 403
        assert browser.post(port, "/login/", form).status == 302


def test_p15_two_tunnels_do_not_sign_each_other_out(server, browser, tmp_path):
    other = WebServer(tmp_path / "var", server.redis_url)
    with other.running(like=server), tunnel(server.port) as one, tunnel(other.port) as two:
        for port in (one, two):
            assert sign_in(browser, port, server.admin_password).location == "/start/"
        assert browser.get(one, "/access/").status == 200
        assert browser.get(two, "/access/").status == 200
