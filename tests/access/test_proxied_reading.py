"""What the environment may say about access, and the sentence for what it may not."""

from __future__ import annotations

import pytest
from django.core.exceptions import ImproperlyConfigured

from opsboard.access.addresses import is_host_name, parse_bind, parse_proxy
from opsboard.access.reading import read_access
from opsboard.runner.plan import Refused, read_plan

STORE = {"REDIS_URL": "redis://127.0.0.1:1/0"}
PROXIED = {**STORE, "OPSBOARD_MODE": "proxied", "OPSBOARD_HOST": "ops.example.org"}


def sentence(environ):
    with pytest.raises(ImproperlyConfigured) as caught:
        read_access(environ)
    return str(caught.value)


def test_local_mode_is_what_nothing_set_means():
    access = read_access({})
    assert (access.mode, access.hosts, access.bind) == ("local", ("localhost", "127.0.0.1", "[::1]"), "127.0.0.1:8000")
    assert (access.trusted_proxies, access.hsts_seconds, access.has_hsts_subdomains) == ((), 0, False)
    assert access.site_url == "http://localhost:8000"


def test_proxied_mode_has_its_safe_defaults():
    access = read_access({**PROXIED, "PORT": "9000"})
    assert (access.mode, access.hosts, access.bind) == ("proxied", ("ops.example.org",), "127.0.0.1:9000")
    assert access.trusted_proxies == ("127.0.0.1/32", "::1/128")
    assert (access.hsts_seconds, access.has_hsts_subdomains) == (31_536_000, False)
    assert access.site_url == "https://ops.example.org"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OPSBOARD_HOST", "ops.example.org"),
        ("OPSBOARD_TRUSTED_PROXIES", "127.0.0.1"),
        ("OPSBOARD_BIND", "127.0.0.1:8000"),
        ("OPSBOARD_HSTS_SECONDS", "300"),
        ("OPSBOARD_HSTS_SUBDOMAINS", "0"),
    ],
)
def test_what_would_do_nothing_in_local_mode_is_refused(name, value):
    said = sentence({**STORE, name: value})
    assert said == f"{name} does nothing in local mode; take it out, or set OPSBOARD_MODE=proxied."


@pytest.mark.parametrize("mode", ["open", "proxy", "local,proxied"])
def test_another_mode_is_refused(mode):
    assert sentence({"OPSBOARD_MODE": mode}).startswith("OPSBOARD_MODE must be one of local, proxied; ")


@pytest.mark.parametrize("value", ["1", "yes"])
def test_debug_pages_and_a_name_do_not_go_together(value):
    assert sentence({**PROXIED, "OPSBOARD_DEBUG": value}).startswith("OPSBOARD_DEBUG shows code and settings ")
    assert read_access({**PROXIED, "OPSBOARD_DEBUG": "0"})


def test_the_demo_is_not_served_under_a_name():
    demo = {**PROXIED, "REDIS_URL": "", "OPSBOARD_EMBEDDED_REDIS_URL": "redis://127.0.0.1:1/0"}
    assert sentence(demo).startswith("OPSBOARD_MODE can't be proxied for the demo, ")


def test_make_run_starts_nothing_behind_a_proxy():
    with pytest.raises(Refused, match=r"make run is for this machine; .* docs/deploy\.md"):
        read_plan(PROXIED)


# Names ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    [
        "",
        ",",
        "*",
        "*.example.org",
        ".example.org",
        "ops.example.org.",
        "ops.example.org:443",
        "https://ops.example.org",
        "ops.example.org/board",
        "ops_board.example.org",
        "-ops.example.org",
        "ops-.example.org",
        "ops..example.org",
        "ops example.org",
        "öps.example.org",
        "10.0.0.5",
        "127.1",
        "2130706433",
        "[::1]",
        "fd00::1",
        "localhost",
        "ops.localhost",
        f"{'a' * 64}.example.org",
        ".".join(["a" * 60] * 5),
        "ops.example.org,*",
    ],
)
def test_what_is_no_whole_name_is_no_host(host):
    assert sentence({**PROXIED, "OPSBOARD_HOST": host}).startswith("OPSBOARD_HOST must be the name in the browser's ")


@pytest.mark.parametrize("host", ["ops", "ops.example.org", "xn--bcher-kva.example", "3com.example", "a-b.c1"])
def test_a_whole_name_is_a_host(host):
    assert is_host_name(host)
    assert read_access({**PROXIED, "OPSBOARD_HOST": host}).hosts == (host,)


def test_several_names_are_kept_once_each_and_in_lower_case():
    hosts = read_access({**PROXIED, "OPSBOARD_HOST": "Ops.Example.org, jobs.example.org,ops.example.org"}).hosts
    assert hosts == ("ops.example.org", "jobs.example.org")


# The proxy ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "proxies",
    [
        "*",
        "0.0.0.0",
        "0.0.0.0/0",
        "0.0.0.0/1,128.0.0.0/1",
        "::",
        "::/0",
        "2000::/3",
        "10.0.0.0/8",
        "10.0.0.0/15",
        "fd00::/8",
        "::ffff:0:0/96",
        "::ffff:10.0.0.5",
        "224.0.0.1",
        "ff02::1",
        "10.0.0.5/24",
        "10.0.0",
        "10.0.0.5:80",
        "proxy.example.org",
        "unix:",
        "127.0.0.1,10.0.0.0/8",
    ],
)
def test_who_may_be_anybody_is_no_proxy(proxies):
    said = sentence({**PROXIED, "OPSBOARD_TRUSTED_PROXIES": proxies})
    assert said.startswith("OPSBOARD_TRUSTED_PROXIES must be IP addresses of the proxy, ")


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("10.0.0.5", ("10.0.0.5/32",)),
        ("10.1.0.0/16, fd00:1:2::/48", ("10.1.0.0/16", "fd00:1:2::/48")),
        ("::1,127.0.0.1,::1", ("::1/128", "127.0.0.1/32")),
    ],
)
def test_addresses_and_narrow_networks_may_be_proxies(given, kept):
    assert read_access({**PROXIED, "OPSBOARD_TRUSTED_PROXIES": given}).trusted_proxies == kept


def test_the_widest_network_is_the_one_that_the_sentence_names():
    assert parse_proxy("10.1.0.0/16") and not parse_proxy("10.0.0.0/15")
    assert parse_proxy("fd00:1:2::/48") and not parse_proxy("fd00:1:2::/47")


# Where to listen ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bind",
    [
        "0.0.0.0:8000",
        "[::]:8000",
        "[::ffff:0.0.0.0]:8000",
        "[0:0:0:0:0:0:0:0]:8000",
        "0:8000",
        "*:8000",
        ":8000",
        "8000",
        "127.0.0.1",
        "127.0.0.1:0",
        "127.0.0.1:65536",
        "127.0.0.1:http",
        "::1:8000",
        "224.0.0.1:8000",
        "localhost:8000",
        "ops.example.org:8000",
        "fd://3",
        "unix:web.sock",
        "unix:@opsboard",
        "unix:/run/../web.sock",
        "unix:/run/opsboard/",
        "unix://run/web.sock",
        "unix:/run/web:1.sock",
        f"unix:/{'a' * 101}",
    ],
)
def test_what_is_not_one_place_is_nowhere_to_listen(bind):
    given = {**PROXIED, "OPSBOARD_BIND": bind, "OPSBOARD_TRUSTED_PROXIES": "10.0.0.5"}
    assert sentence(given).startswith("OPSBOARD_BIND must be one address and port, or a Unix socket, and no wildcard; ")


@pytest.mark.parametrize(
    ("bind", "place"),
    [
        ("127.0.0.1:8000", ("127.0.0.1", 8000)),
        ("[::1]:1", ("::1", 1)),
        ("10.0.0.9:65535", ("10.0.0.9", 65535)),
        ("[FD00:0::9]:8000", ("fd00::9", 8000)),
        ("unix:/run/opsboard/web.sock", "/run/opsboard/web.sock"),
    ],
)
def test_one_address_or_a_socket_is_a_place(bind, place):
    assert parse_bind(bind) == place


def test_an_address_that_others_reach_wants_to_know_its_proxy():
    other = {**PROXIED, "OPSBOARD_BIND": "10.0.0.9:8000"}
    assert sentence(other).startswith("OPSBOARD_TRUSTED_PROXIES must name the proxy's address, ")
    assert read_access({**other, "OPSBOARD_TRUSTED_PROXIES": "10.0.0.5"}).bind == "10.0.0.9:8000"


def test_a_socket_has_no_peers_with_addresses():
    socket = {**PROXIED, "OPSBOARD_BIND": "unix:/run/opsboard/web.sock"}
    assert read_access(socket).trusted_proxies == ()
    said = sentence({**socket, "OPSBOARD_TRUSTED_PROXIES": "127.0.0.1"})
    assert said.startswith("OPSBOARD_TRUSTED_PROXIES does nothing on a Unix socket, ")


# Https for ever -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", ["0", "-1", "a year", "63072001"])
def test_a_time_that_is_none_is_refused(seconds):
    assert sentence({**PROXIED, "OPSBOARD_HSTS_SECONDS": seconds}).startswith("OPSBOARD_HSTS_SECONDS must be ")


def test_it_can_be_short_and_reach_subdomains_when_asked():
    access = read_access({**PROXIED, "OPSBOARD_HSTS_SECONDS": "300", "OPSBOARD_HSTS_SUBDOMAINS": "1"})
    assert (access.hsts_seconds, access.has_hsts_subdomains) == (300, True)
