"""The site for nginx that is shipped, in a real nginx: TLS on the outside, the proxied mode behind it."""

from __future__ import annotations

import re
import shutil
import socket
import sqlite3
import ssl
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest
from redis import Redis

from tests.support.nginx import MISSING, SITE, Nginx, standing_in
from tests.support.proxied import HOST, ProxiedServer, SocketServer
from tests.support.real_rq import ROOT, wait_until

pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)
DATABASE = 6
"""Of Redis, where no other test has jobs."""
LOGIN_ATTEMPTS = 40
"""More than the site lets one address make at once."""


@pytest.fixture(scope="module")
def server(valkey, tmp_path_factory):
    folder = tmp_path_factory.mktemp("web") / "var"
    with ProxiedServer(folder, f"{valkey.url.rpartition('/')[0]}/{DATABASE}").running() as running:
        yield running


@pytest.fixture(scope="module")
def nginx(server, tmp_path_factory):
    with Nginx(tmp_path_factory.mktemp("proxy") / "nginx", f"127.0.0.1:{server.port}").running() as running:
        yield running


@pytest.fixture(scope="module")
def stand_in():
    with standing_in(megabytes=64, stalled_seconds=1) as running:
        yield running


@pytest.fixture(scope="module")
def before_stand_in(stand_in, tmp_path_factory):
    with Nginx(tmp_path_factory.mktemp("proxy") / "nginx", f"127.0.0.1:{stand_in.port}").running() as running:
        yield running


def request(path="/login/", *headers, method="GET", host=HOST):
    return "\r\n".join((f"{method} {path} HTTP/1.1", f"Host: {host}", *headers, "Connection: close", "", ""))


def status(answer):
    return answer.partition(" ")[2][:3]


def header_lines(answer, name):
    head = answer.partition("\r\n\r\n")[0]
    return [line for line in head.split("\r\n") if line.lower().startswith(f"{name.lower()}:")]


# People ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rq_version", ["3.0"])
def test_over_tls_one_signs_in_retries_a_job_and_signs_out(server, nginx, valkey, rq_version, real_rq):
    browser, port, job = nginx.browser("127.0.1.1"), nginx.https, "/jobs/default/orders/p6/"
    real_rq.fail("fx.boom", 4711, job_id="p6")
    with Redis(port=valkey.port) as redis:
        redis.swapdb(0, DATABASE)
    answer = browser.submit(port, "/login/", "/login/", username="admin", password=server.admin_password)
    assert answer.status == 302
    assert f"Behind a proxy: {HOST}" in browser.get(port, "/").text
    browser.submit(port, "/job-types/fx.boom/", "/job-types/fx.boom/", idempotency="repeatable")
    answer = browser.submit(port, job, f"{job}retry/")
    assert (answer.status, answer.location) == (302, job)
    with Redis(port=valkey.port, db=DATABASE) as redis:
        assert redis.lrange("rq:queue:orders", 0, -1) == [b"p6"]
    assert browser.submit(port, job, "/logout/").location == "/login/?signed_out=1"
    assert browser.get(port, job).location.startswith("/login/?next=")


def test_the_cookies_are_secure_and_https_is_asked_for_once(nginx):
    answer = nginx.ask(request())
    assert status(answer) == "200"
    assert header_lines(answer, "Strict-Transport-Security") == ["Strict-Transport-Security: max-age=31536000"]
    (cookie,) = header_lines(answer, "Set-Cookie")
    assert cookie.startswith("Set-Cookie: __Host-opsboard_csrf_")
    assert {"Secure", "HttpOnly", "SameSite=Lax", "Path=/"} <= set(cookie.split("; "))
    assert "nginx/" not in answer


def test_another_origin_is_refused(server, nginx):
    browser = nginx.browser("127.0.1.2")
    form = browser.get(nginx.https, "/login/").form("/login/", own="")
    form |= {"username": "admin", "password": server.admin_password}
    assert browser.post(nginx.https, "/login/", form, Origin="https://evil.example").status == 403
    assert browser.post(nginx.https, "/login/", form).status == 302


def test_on_a_unix_socket_it_is_the_same(server, tmp_path):
    folder = Path(tempfile.mkdtemp(prefix="opsboard-"))
    socket_server = SocketServer(tmp_path / "var", server.redis_url, path=folder / "s")
    with socket_server.running(like=server), Nginx(tmp_path / "nginx", f"unix:{folder}/s").running() as proxy:
        answer = proxy.ask(request())
        assert status(answer) == "200"
        assert f"Behind a proxy: {HOST}" in answer
    shutil.rmtree(folder)


# Names ----------------------------------------------------------------------------------------------------------------


def test_plain_http_is_redirected_to_the_same_page(nginx):
    answer = nginx.ask_plainly(request("/failed/?view=list"))
    assert status(answer) == "301"
    assert header_lines(answer, "Location") == [f"Location: https://{HOST}/failed/?view=list"]


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "localhost", f"evil.{HOST}", f"{HOST}.evil.example"])
def test_another_name_gets_no_answer_at_all(nginx, host):
    assert nginx.ask_plainly(request(host=host)) == ""
    assert nginx.ask(request(host=host)) == ""


@pytest.mark.parametrize("name", ["evil.example", "localhost"])
def test_another_name_sees_no_certificate(nginx, name):
    with pytest.raises(ssl.SSLError, match="UNRECOGNIZED_NAME"):
        nginx.ask(request(), name=name)


# What is forged -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "forged",
    [
        "X-Forwarded-Proto: http",
        "X-Forwarded-Proto: http\r\nX-Forwarded-Proto: http",
        "X_Forwarded_Proto: http",
        "X-Forwarded-Host: evil.example",
        "Forwarded: for=127.0.0.1;host=evil.example;proto=http",
        "X-Forwarded-For: evil",
        "Via: 1.1 office",
    ],
)
def test_what_a_client_forges_changes_nothing(nginx, forged):
    answer = nginx.ask(request("/login/", forged))
    assert status(answer) == "200"
    assert "evil" not in answer


def test_a_forged_address_is_not_the_one_that_wrong_passwords_are_counted_by(server, nginx):
    browser = nginx.browser("127.0.1.3")
    form = browser.get(nginx.https, "/login/").form("/login/", own="")
    form |= {"username": "nobody", "password": "wrong"}
    answers = [
        browser.post(nginx.https, "/login/", form, **{"X-Forwarded-For": f"192.0.2.{number}"}) for number in range(8)
    ]
    assert [answer.status for answer in answers] == [200] * 7 + [429]
    assert "axes_reset_username" in answers[-1].text
    with sqlite3.connect(server.folder / "opsboard.sqlite3") as database:
        counted = database.execute("SELECT ip_address FROM axes_accessattempt WHERE username = 'nobody'").fetchall()
    database.close()
    assert counted == [("127.0.1.3",)]


def test_who_goes_round_the_proxy_is_refused_whatever_he_sends(server):
    whole = request("/login/", "X-Forwarded-Proto: https", "X-Forwarded-For: 192.0.2.1")
    with socket.create_connection(("127.0.0.1", server.port), 20, ("127.0.1.4", 0)) as connection:
        connection.sendall(whole.encode())
        answer = b"".join(iter(lambda: connection.recv(65536), b"")).decode()
    assert status(answer) == "400"
    assert "It did not come from the proxy." in answer
    assert status(server.ask(whole)) == "200"


def test_the_log_says_who_and_where_and_no_search_words(nginx):
    nginx.ask(request("/failed/?q=s3cret", "Referer: https://ops.example.org/?q=s3cret"), client="127.0.1.14")
    nginx.ask_plainly(request("/failed/?q=s3cret"))
    log = nginx.folder / "access.log"
    assert wait_until(lambda: "127.0.1.14" in log.read_text(), "the request is logged")
    assert "GET /failed/ 302" in log.read_text()
    assert not [path for path in nginx.folder.glob("*.log") if "s3cret" in path.read_text()]


# Limits ---------------------------------------------------------------------------------------------------------------


def test_attempts_to_sign_in_are_limited_by_address_and_the_page_is_not(nginx):
    def attempt():
        return status(nginx.ask(request(method="POST"), client="127.0.1.5"))

    answers = [attempt()]
    while answers[-1] != "429" and len(answers) < LOGIN_ATTEMPTS:
        answers.append(attempt())
    assert set(answers[:8]) == {"403"}
    assert answers[-1] == "429"
    assert status(nginx.ask(request(), client="127.0.1.5")) == "200"
    assert status(nginx.ask(request(method="POST"), client="127.0.1.6")) == "403"


def test_what_is_too_large_for_a_form_is_refused_unread(nginx):
    with nginx.open(request("/login/", "Content-Length: 2000000", method="POST"), client="127.0.1.7") as connection:
        assert status(connection.recv(64).decode("latin-1")) == "413"


# What opsboard is handed ----------------------------------------------------------------------------------------------


def test_path_range_and_name_are_handed_on_and_the_address_in_place_of_a_forged_one(before_stand_in, stand_in):
    forged = [f"{name}: 192.0.2.1" for name in ("X-Forwarded-For", "X-Real-IP", "Forwarded", "X-Forwarded-Host")]
    path = "/jobs/default/a%2Fb%20%C3%B6/..%2F/x//y/?next=%2F"
    with before_stand_in.open(request(path, *forged, "Range: bytes=5-"), client="127.0.1.8") as connection:
        assert connection.recv(1)
    asked, headers = next((asked, dict(headers)) for asked, headers in stand_in.requests if "/a%2Fb" in asked)
    assert asked == path
    told = {"Host": HOST, "X-Forwarded-Proto": "https", "X-Forwarded-For": "127.0.1.8", "Range": "bytes=5-"}
    assert headers == {**told, "Connection": "close"}


def test_a_download_is_kept_on_no_disk_and_waits_for_its_reader(before_stand_in, stand_in):
    path = "/exports/1/file/"
    with before_stand_in.open(request(path), client="127.0.1.9") as connection:
        assert connection.recv(1)
        assert wait_until(lambda: stand_in.ends.get(path), "nobody takes more", 60) == "stalled"


def test_downloads_leave_half_of_the_threads_to_pages(before_stand_in):
    def open_download(client):
        connection = stack.enter_context(before_stand_in.open(request("/exports/7/file/"), client=client))
        return status(connection.recv(64).decode("latin-1"))

    with ExitStack() as stack:
        assert [open_download("127.0.1.10") for _ in range(3)] == ["200", "200", "429"]
        assert [open_download(f"127.0.1.{last}") for last in (11, 12, 13)] == ["200", "200", "429"]
        page = stack.enter_context(before_stand_in.open(request("/exports/7/"), client="127.0.1.10"))
        assert status(page.recv(64).decode("latin-1")) == "200"


# The file -------------------------------------------------------------------------------------------------------------


def test_downloads_are_limited_to_half_of_the_threads_that_there_are():
    shipped = (ROOT / "opsboard/gunicorn_conf.py").read_text()
    workers, threads = (
        int(re.search(rf"^{name} = ([0-9]+)$", shipped, re.MULTILINE)[1]) for name in ("workers", "threads")
    )
    limit = int(re.search(r"limit_conn opsboard_downloads ([0-9]+);", SITE.read_text())[1])
    assert limit * 2 <= workers * threads


def test_the_site_says_nothing_that_opsboard_says_itself():
    text = SITE.read_text()
    assert "add_header" not in text
    assert "proxy_hide_header" not in text
    assert "proxy_cookie" not in text
