"""What is answered in local mode, and what is refused before anything else looks at it."""

from __future__ import annotations

import pytest

from opsboard.access.addresses import is_loopback
from opsboard.access.local import refusal

LOCAL = {"REMOTE_ADDR": "127.0.0.1", "HTTP_HOST": "localhost:8000", "SERVER_PORT": "8000"}


@pytest.mark.parametrize(
    "host",
    ["localhost", "LOCALHOST", "localhost:1", "localhost:18000", "127.0.0.1", "127.0.0.1:65535", "[::1]", "[::1]:8000"],
)
def test_a_loopback_name_with_any_port_is_answered(host):
    assert refusal({**LOCAL, "HTTP_HOST": host}) is None


@pytest.mark.parametrize(
    "host",
    [
        "",
        " localhost",
        "evil.example",
        "evil.example:8000",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "localhost.",
        "evil.example@localhost",
        "localhost,evil.example",
        "localhost:8000:8000",
        "localhost:",
        "localhost:\uff18\uff10",
        "localhost\n",
        "127.0.0.2",
        "127.1",
        "0.0.0.0",
        "::1",
        "[::1",
        "[::ffff:127.0.0.1]",
        "\uff4cocalhost",
        "localho\u017ft",
    ],
)
def test_any_other_host_is_refused(host):
    assert refusal({**LOCAL, "HTTP_HOST": host}) == "It was not addressed to localhost, 127.0.0.1 or [::1]."


def test_a_request_without_a_host_is_refused():
    assert refusal({"REMOTE_ADDR": "127.0.0.1"}) == "It was not addressed to localhost, 127.0.0.1 or [::1]."


@pytest.mark.parametrize(
    "peer", ["192.0.2.7", "10.0.0.1", "::2", "fe80::1", "0.0.0.0", "::ffff:192.0.2.7", "localhost"]
)
def test_a_peer_elsewhere_is_refused(peer):
    assert refusal({**LOCAL, "REMOTE_ADDR": peer}) == "It did not come from this machine."


@pytest.mark.parametrize("environ", [{"HTTP_HOST": "localhost"}, {"HTTP_HOST": "localhost", "REMOTE_ADDR": ""}])
def test_a_peer_without_an_address_is_refused_since_a_proxy_on_a_unix_socket_has_none(environ):
    assert refusal(environ) == "It did not come from this machine."


@pytest.mark.parametrize("peer", ["127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"])
def test_every_address_of_this_machine_is_loopback(peer):
    assert is_loopback(peer)
    assert refusal({**LOCAL, "REMOTE_ADDR": peer}) is None


@pytest.mark.parametrize(
    "name",
    [
        "FORWARDED",
        "VIA",
        "X_REAL_IP",
        "X_FORWARDED_HOST",
        "X_FORWARDED_FOR",
        "X_FORWARDED_PROTO",
        "X_FORWARDED_ANYTHING",
    ],
)
def test_a_sign_of_a_proxy_is_refused_even_when_empty(name):
    assert refusal({**LOCAL, f"HTTP_{name}": ""}) == "It came through a proxy."


def test_a_whole_url_as_target_is_refused_since_only_proxies_get_one():
    assert refusal({**LOCAL, "RAW_URI": "http://evil.example/login/"}) == "It came through a proxy."
    assert refusal({**LOCAL, "RAW_URI": "/login/"}) is None


@pytest.mark.parametrize("path", ["/login/", "/", "/healthz", "/static/css/main.css", "/nowhere/"])
def test_a_foreign_host_gets_the_same_page_on_every_address(client, path):
    answer = client.get(path, headers={"host": "evil.example:8000"})
    assert answer.status_code == 400
    assert "ssh -L 80:127.0.0.1:80 user@this-machine" in answer.text
    assert "evil" not in answer.text


def test_what_came_through_a_proxy_is_told_both_ways_in(client):
    answer = client.get("/login/", headers={"host": "localhost", "x-forwarded-for": "192.0.2.1"})
    assert answer.status_code == 400
    assert "ssh -L 80:127.0.0.1:80 user@this-machine" in answer.text
    assert "OPSBOARD_MODE=proxied" in answer.text


def test_the_refusal_asks_no_database_and_sets_no_cookie(client):
    answer = client.post("/login/", headers={"host": "evil.example"})
    assert answer.status_code == 400
    assert not answer.cookies
