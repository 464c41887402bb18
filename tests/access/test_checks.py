"""System checks: what would open local mode is an error. For the other see test_proxied_checks."""

from __future__ import annotations

import pytest
from django.core.checks import run_checks
from django.core.management import CommandError, call_command

from opsboard.access.addresses import LOOPBACK_NAMES
from opsboard.checks import ACCESS, check_access


@pytest.fixture(autouse=True)
def _as_shipped(settings):
    """Django's test runner adds a host of its own."""
    settings.ALLOWED_HOSTS = list(LOOPBACK_NAMES)


def ids():
    return {message.id for message in check_access(None)}


def without(settings, name):
    return [one for one in settings.MIDDLEWARE if one != name]


def test_the_settings_as_shipped_are_clean_for_deployment(settings):
    settings.STATICFILES_DIRS = []
    # The tests' own database may forget what it likes.
    settings.SILENCED_SYSTEM_CHECKS = [*settings.SILENCED_SYSTEM_CHECKS, "opsboard_jobs.W004"]
    messages = run_checks(include_deployment_checks=True)
    assert [message for message in messages if not message.is_silenced()] == []


def test_our_checks_are_among_those_that_django_runs(settings):
    settings.ALLOWED_HOSTS = ["*"]
    assert "opsboard.E001" in {message.id for message in run_checks(tags=["security"])}


@pytest.mark.parametrize("host", ["*", "opsboard.example", ".localhost", "0.0.0.0"])
def test_a_host_elsewhere_is_an_error(settings, host):
    settings.ALLOWED_HOSTS = ["localhost", host]
    assert ids() == {"opsboard.E001"}


@pytest.mark.parametrize(
    "name",
    [
        ACCESS["local"],
        "opsboard.signin.SignInRequiredMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "axes.middleware.AxesMiddleware",
        "csp.middleware.CSPMiddleware",
        "django.middleware.clickjacking.XFrameOptionsMiddleware",
        "opsboard.security.SecurityHeadersMiddleware",
    ],
)
def test_a_guard_that_is_missing_is_an_error(settings, name):
    settings.MIDDLEWARE = without(settings, name)
    assert ids() == {"opsboard.E002"}


def test_whatever_answers_before_the_check_is_an_error(settings):
    rest = without(settings, "whitenoise.middleware.WhiteNoiseMiddleware")
    settings.MIDDLEWARE = ["whitenoise.middleware.WhiteNoiseMiddleware", *rest]
    assert ids() == {"opsboard.E003"}


@pytest.mark.parametrize(("name", "value"), [("HTTPONLY", False), ("SAMESITE", "None"), ("SAMESITE", None)])
@pytest.mark.parametrize("kind", ["SESSION", "CSRF"])
def test_a_cookie_that_others_get_is_an_error(settings, kind, name, value):
    setattr(settings, f"{kind}_COOKIE_{name}", value)
    assert ids() == {"opsboard.E004"}


@pytest.mark.parametrize(
    "policy",
    [
        None,
        {},
        {"DIRECTIVES": {"default-src": ["'self'"]}},
        {"DIRECTIVES": {"default-src": ["'none'"], "script-src": ["'unsafe-inline'"], "frame-ancestors": ["'none'"]}},
        {"DIRECTIVES": {"default-src": ["*"], "frame-ancestors": ["'none'"]}},
    ],
)
def test_a_weak_content_security_policy_is_an_error(settings, policy):
    settings.CONTENT_SECURITY_POLICY = policy
    assert ids() == {"opsboard.E005"}


@pytest.mark.parametrize("name", ["", "AnonymousUser"])
def test_an_account_for_everybody_is_an_error(settings, name):
    settings.ANONYMOUS_USER_NAME = name
    assert ids() == {"opsboard.E006"}


@pytest.mark.parametrize("address", ["0.0.0.0:8000", "[::]:8000", "192.0.2.1:8000", "example.org:8000", "0:8000"])
def test_the_development_server_listens_on_this_machine_only(address):
    with pytest.raises(CommandError, match=r"opsboard listens on 127\.0\.0\.1 only"):
        call_command("runserver", address, skip_checks=True, use_reloader=False)
