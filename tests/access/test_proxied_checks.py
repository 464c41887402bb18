"""System checks: what would open proxied mode is an error, each way with its id and its remedy."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from django.core.checks import run_checks

from opsboard.checks import ACCESS, check_access
from tests.support.proxied import HOST, PROXIED
from tests.support.real_rq import ROOT

pytestmark = pytest.mark.usefixtures("proxied")


@pytest.fixture(autouse=True)
def _as_shipped(settings):
    """Django's test runner adds a host of its own."""
    settings.ALLOWED_HOSTS = [HOST]


def ids():
    found = check_access(None)
    assert all(message.hint for message in found)
    return {message.id for message in found}


def test_the_settings_as_shipped_are_clean_for_deployment(settings):
    settings.STATICFILES_DIRS = []
    # The tests' own database may forget what it likes.
    settings.SILENCED_SYSTEM_CHECKS = [*settings.SILENCED_SYSTEM_CHECKS, "opsboard_jobs.W004"]
    messages = run_checks(include_deployment_checks=True)
    assert [message for message in messages if not message.is_silenced()] == []


def test_none_of_what_djangos_own_checks_say_of_cookies_and_https_is_silenced(settings):
    settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = False
    settings.SECURE_HSTS_SECONDS = 0
    said = {message.id for message in run_checks(include_deployment_checks=True) if not message.is_silenced()}
    assert {"security.W004", "security.W012", "security.W016"} <= said


@pytest.mark.parametrize(
    ("more", "status"), [({}, 0), ({"OPSBOARD_HSTS_SUBDOMAINS": "1"}, 0), ({"OPSBOARD_HOST": "*"}, 1)]
)
def test_the_command_says_so_by_its_exit(tmp_path, more, status):
    kept = {"PATH": os.environ["PATH"], "OPSBOARD_VAR": str(tmp_path / "var"), **PROXIED, **more}
    command = [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"]
    done = subprocess.run(command, cwd=ROOT, env=kept, capture_output=True, text=True)
    assert min(done.returncode, 1) == status, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "hosts", [[], ["*"], [f".{HOST}"], [HOST, "*"], [HOST, "evil.example"], ["localhost"], ["10.0.0.5"], ["testserver"]]
)
def test_other_names_than_those_that_were_named_are_an_error(settings, hosts):
    settings.ALLOWED_HOSTS = hosts
    assert ids() == {"opsboard.E001"}


@pytest.mark.parametrize("host", ["*", ".example.org", "10.0.0.5", "localhost"])
def test_a_pattern_is_an_error_also_where_it_was_named(settings, host):
    settings.ALLOWED_HOSTS = settings.OPSBOARD_HOSTS = [host]
    assert ids() == {"opsboard.E001"}


def test_the_guard_of_the_other_mode_is_not_the_one_that_is_wanted(settings):
    settings.MIDDLEWARE = [one.replace(ACCESS["proxied"], ACCESS["local"]) for one in settings.MIDDLEWARE]
    assert ids() == {"opsboard.E002"}


def test_whatever_answers_before_the_check_is_an_error(settings):
    settings.MIDDLEWARE = ["whitenoise.middleware.WhiteNoiseMiddleware", *settings.MIDDLEWARE]
    assert ids() == {"opsboard.E003"}


@pytest.mark.parametrize("mode", ["", "open", "Proxied"])
def test_a_mode_that_does_not_exist_is_an_error(settings, mode):
    settings.OPSBOARD_MODE = mode
    assert ids() == {"opsboard.E007"}


@pytest.mark.parametrize("name", ["RemoteUserMiddleware", "PersistentRemoteUserMiddleware"])
def test_to_be_signed_in_by_a_header_is_an_error(settings, name):
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, f"django.contrib.auth.middleware.{name}"]
    assert ids() == {"opsboard.E008"}


def test_to_be_let_in_by_a_header_is_an_error(settings):
    settings.AUTHENTICATION_BACKENDS = [
        *settings.AUTHENTICATION_BACKENDS,
        "django.contrib.auth.backends.RemoteUserBackend",
    ]
    assert ids() == {"opsboard.E008"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AXES_ENABLED", False),
        ("AXES_LOCKOUT_PARAMETERS", ["ip_address"]),
        ("AXES_HANDLER", "axes.handlers.dummy.AxesDummyHandler"),
        ("AXES_CLIENT_IP_CALLABLE", None),
        ("AUTHENTICATION_BACKENDS", ["django.contrib.auth.backends.ModelBackend"]),
    ],
)
def test_guessing_without_end_is_an_error(settings, name, value):
    setattr(settings, name, value)
    assert ids() == {"opsboard.E009"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("USE_X_FORWARDED_HOST", True),
        ("USE_X_FORWARDED_PORT", True),
        ("SECURE_PROXY_SSL_HEADER", None),
        ("SECURE_PROXY_SSL_HEADER", ("HTTP_X_FORWARDED_SSL", "on")),
    ],
)
def test_to_believe_another_header_is_an_error(settings, name, value):
    setattr(settings, name, value)
    assert ids() == {"opsboard.E010"}


@pytest.mark.parametrize("bind", ["0.0.0.0:8000", "[::]:8000", ":8000", "", "fd://3", "unix:@opsboard"])
def test_to_listen_on_every_address_is_an_error(settings, bind):
    settings.OPSBOARD_BIND = bind
    assert ids() == {"opsboard.E011"}


@pytest.mark.parametrize("proxies", [[], ["0.0.0.0/0"], ["::/0"], ["127.0.0.1", "10.0.0.0/8"], ["*"]])
def test_to_trust_more_than_a_proxy_is_an_error(settings, proxies):
    settings.OPSBOARD_TRUSTED_PROXIES = proxies
    assert ids() == {"opsboard.E012"}


def test_a_socket_needs_no_address_to_trust(settings):
    settings.OPSBOARD_BIND, settings.OPSBOARD_TRUSTED_PROXIES = "unix:/run/opsboard/web.sock", []
    assert ids() == set()


def test_debug_pages_are_an_error(settings):
    settings.DEBUG = True
    assert ids() == {"opsboard.E013"}


def test_the_demo_is_an_error(settings):
    settings.OPSBOARD_DEMO = True
    assert ids() == {"opsboard.E014"}


@pytest.mark.parametrize("key", ["short", "ab" * 40, "x" * 49])
def test_a_key_that_can_be_guessed_is_an_error(settings, key):
    settings.SECRET_KEY = key
    assert ids() == {"opsboard.E015"}


@pytest.mark.parametrize(
    ("name", "value"), [("SECURE", False), ("NAME", "sessionid"), ("DOMAIN", ".example.org"), ("PATH", "/board/")]
)
@pytest.mark.parametrize("kind", ["SESSION", "CSRF"])
def test_a_cookie_that_travels_further_is_an_error(settings, kind, name, value):
    setattr(settings, f"{kind}_COOKIE_{name}", value)
    assert ids() == {"opsboard.E016"}


def test_https_that_is_not_insisted_on_is_an_error(settings):
    settings.SECURE_HSTS_SECONDS = 0
    assert ids() == {"opsboard.E017"}
