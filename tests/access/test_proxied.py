"""What is answered in proxied mode, what is refused before anything else looks at it, and what is believed."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from opsboard.access.proxied import client_address, refusal
from tests.access.test_headers import check_headers
from tests.conftest import PASSWORD
from tests.support.proxied import CLIENT, FORWARDED, HOST

HANDED_ON = {**FORWARDED, "REMOTE_ADDR": "127.0.0.1"}
NO_PROXY = "It did not come from the proxy."
NO_NAME = "It was not addressed to a name of this opsboard."
NO_HTTPS = "The proxy does not say, once, that it was asked by https."
NO_CLIENT = "The proxy does not say which address asked it."
PATHS = ["/login/", "/", "/healthz", "/static/css/main.css", "/nowhere/"]

pytestmark = pytest.mark.usefixtures("proxied")


# Peers ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("peer", ["127.0.0.1", "::1", "::ffff:127.0.0.1"])
def test_the_proxy_on_this_machine_is_answered(peer):
    assert refusal({**HANDED_ON, "REMOTE_ADDR": peer}) is None


@pytest.mark.parametrize("peer", ["127.0.0.2", "192.0.2.7", "10.0.0.5", "::2", "", "localhost", CLIENT])
def test_another_peer_is_refused_whatever_it_claims(peer):
    assert refusal({**HANDED_ON, "REMOTE_ADDR": peer}) == NO_PROXY


def test_a_request_without_a_peer_is_refused_where_we_listen_on_an_address():
    assert refusal(FORWARDED) == NO_PROXY


@pytest.mark.parametrize(
    ("peer", "answer"),
    [
        ("10.1.2.3", None),
        ("fd00:1:2:3::4", None),
        ("127.0.0.1", NO_PROXY),
        ("10.2.0.1", NO_PROXY),
        ("fd01::1", NO_PROXY),
    ],
)
def test_a_network_that_is_named_is_trusted_instead(settings, peer, answer):
    settings.OPSBOARD_TRUSTED_PROXIES = ["10.1.0.0/16", "fd00:1:2::/48"]
    assert refusal({**HANDED_ON, "REMOTE_ADDR": peer}) == answer


def test_on_a_unix_socket_a_peer_has_no_address_and_nobody_has_one(settings):
    settings.OPSBOARD_BIND, settings.OPSBOARD_TRUSTED_PROXIES = "unix:/run/opsboard/web.sock", []
    assert refusal({**HANDED_ON, "REMOTE_ADDR": ""}) is None
    assert refusal(HANDED_ON) == NO_PROXY


@pytest.mark.parametrize("networks", [["0.0.0.0/0"], ["::/0"], ["nonsense"], []])
def test_settings_that_trust_everybody_trust_nobody(settings, networks):
    settings.OPSBOARD_TRUSTED_PROXIES = networks
    assert refusal(HANDED_ON) == NO_PROXY


# Names ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", [HOST, "OPS.example.ORG", f"{HOST}:443"])
def test_our_name_is_answered(host):
    assert refusal({**HANDED_ON, "HTTP_HOST": host}) is None


@pytest.mark.parametrize(
    "host",
    [
        "",
        "localhost",
        "127.0.0.1:8000",
        "example.org",
        f"{HOST}:80",
        f"{HOST}:8443",
        f"{HOST}:443:443",
        f"{HOST}:",
        f"{HOST}.",
        f"{HOST}.evil.example",
        f"evil.{HOST}",
        f"evil.example@{HOST}",
        f"{HOST},evil.example",
        f"{HOST},{HOST}",
        f" {HOST}",
        f"{HOST}\n",
    ],
)
def test_any_other_host_is_refused(host):
    assert refusal({**HANDED_ON, "HTTP_HOST": host}) == NO_NAME


def test_each_of_several_names_is_answered_as_itself(settings, client):
    settings.OPSBOARD_HOSTS = settings.ALLOWED_HOSTS = [HOST, "jobs.example.org"]
    answer = Client(**{**FORWARDED, "HTTP_HOST": "jobs.example.org"}).get("/login/")
    assert "Behind a proxy: jobs.example.org" in answer.text


def test_a_whole_url_as_target_is_refused():
    assert refusal({**HANDED_ON, "RAW_URI": f"https://{HOST}/login/"}) == (
        "It asks for a whole URL, which only proxies are sent."
    )


# What the proxy says --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "proto", ["", "http", "HTTPS", "https,https", "https, http", "http,https", " https", "https ", "on", "wss"]
)
def test_anything_but_https_once_is_refused(proto):
    assert refusal({**HANDED_ON, "HTTP_X_FORWARDED_PROTO": proto}) == NO_HTTPS


def test_a_proxy_that_says_nothing_is_told_what_to_send():
    answer = Client(HTTP_HOST=HOST).get("/login/")
    assert answer.status_code == 400
    assert NO_HTTPS in answer.text
    assert "redirects plain http itself" in answer.text
    assert "X-Forwarded-Proto: https" in answer.text


@pytest.mark.parametrize("given", ["", "unknown", "192.0.2.1:4711", "192.0.2.1,", "192.0.2.1, _hidden", "*"])
def test_a_proxy_that_does_not_say_who_asked_is_refused(given):
    assert refusal({**HANDED_ON, "HTTP_X_FORWARDED_FOR": given}) == NO_CLIENT


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("198.51.100.7", "198.51.100.7"),
        ("127.0.0.1, 198.51.100.7", "198.51.100.7"),
        ("10.0.0.1,::1,  198.51.100.7 ", "198.51.100.7"),
        ("::ffff:198.51.100.7", "198.51.100.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("::1", "::"),
    ],
)
def test_only_the_last_address_counts_and_of_ipv6_its_network(rf, given, address):
    assert client_address(rf.get("/", **{**HANDED_ON, "HTTP_X_FORWARDED_FOR": given})) == address


def test_other_claims_are_taken_out_unread(settings, proxied):
    settings.ROOT_URLCONF = "tests.access.urls"
    claims = {"FORWARDED": "host=evil", "X_FORWARDED_HOST": "evil", "X_FORWARDED_PORT": "1", "X_REAL_IP": "192.0.2.1"}
    answer = proxied.get("/public/", **{f"HTTP_{name}": value for name, value in claims.items()}, HTTP_VIA="1.1 work")
    assert answer.status_code == 200
    meta = answer.wsgi_request.META
    assert {name for name in meta if "FORWARDED" in name} == {"HTTP_X_FORWARDED_PROTO", "HTTP_X_FORWARDED_FOR"}
    assert "HTTP_X_REAL_IP" not in meta
    assert answer.wsgi_request.get_host() == HOST
    assert answer.wsgi_request.build_absolute_uri("/") == f"https://{HOST}/"


# Every address --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "changed",
    [
        {"HTTP_HOST": "evil.example"},
        {"HTTP_HOST": "localhost"},
        {"REMOTE_ADDR": "192.0.2.7"},
        {"HTTP_X_FORWARDED_PROTO": "http"},
        {"HTTP_X_FORWARDED_FOR": "evil"},
    ],
    ids=str,
)
def test_the_same_page_refuses_on_every_address(path, changed):
    answer = Client(**{**FORWARDED, **changed}).get(path)
    assert answer.status_code == 400
    assert "This request was refused" in answer.text
    assert "evil" not in answer.text and HOST not in answer.text
    assert not answer.cookies
    check_headers(answer)
    assert answer.headers["Cache-Control"] == "no-store, private"


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/login/", "/healthz", "/static/css/main.css", "/nowhere/"])
def test_browsers_are_told_to_come_by_https_for_a_year(proxied, path):
    answer = proxied.get(path)
    assert answer.headers["Strict-Transport-Security"] == "max-age=31536000"
    answer.close()


# Signing in -----------------------------------------------------------------------------------------------------------


def sign_in(browser, **more):
    page = browser.get("/login/")
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)[1]
    form = {"username": "vera", "password": PASSWORD, "csrfmiddlewaretoken": token}
    return browser.post("/login/", form, **{"HTTP_ORIGIN": f"https://{HOST}", **more})


@pytest.mark.django_db
@pytest.mark.parametrize("host", [HOST, f"{HOST}:443"])
def test_the_cookies_are_secure_and_bound_to_the_host_and_the_installation(proxied, settings, viewer, host):
    browser = Client(enforce_csrf_checks=True, **{**FORWARDED, "HTTP_HOST": host})
    assert sign_in(browser).status_code == 302
    mine = settings.OPSBOARD_INSTANCE
    assert set(browser.cookies) == {f"__Host-opsboard_session_{mine}", f"__Host-opsboard_csrf_{mine}"}
    for cookie in browser.cookies.values():
        flags = (cookie["secure"], cookie["httponly"], cookie["samesite"], cookie["path"], cookie["domain"])
        assert flags == (True, True, "Lax", "/", "")


@pytest.mark.django_db
@pytest.mark.parametrize("origin", [f"http://{HOST}", "https://evil.example", f"https://evil.{HOST}", "null"])
def test_a_form_of_another_origin_is_refused(proxied, viewer, origin):
    assert sign_in(proxied, HTTP_ORIGIN=origin).status_code == 403


@pytest.mark.django_db
@pytest.mark.parametrize(
    "name", ["AUTHORIZATION", "REMOTE_USER", "X_REMOTE_USER", "X_FORWARDED_USER", "X_AUTH_REQUEST_USER"]
)
def test_the_barrier_of_a_proxy_signs_nobody_in(proxied, superuser, name):
    for environ in ({f"HTTP_{name}": "root"}, {"REMOTE_USER": "root"}):
        answer = proxied.get("/", **environ)
        assert (answer.status_code, answer.headers["Location"]) == (302, "/login/?next=%2F")


@pytest.mark.django_db
def test_the_header_says_how_it_is_reached(proxied):
    assert f"Behind a proxy: {HOST}" in proxied.get("/login/").text
