"""System checks: what would open local mode is an error, with its remedy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error

from opsboard.access import LOOPBACK_NAMES

ACCESS = "opsboard.access.LocalOnlyMiddleware"
BEFORE_ACCESS = frozenset(
    {
        "django.middleware.security.SecurityMiddleware",
        "django.middleware.clickjacking.XFrameOptionsMiddleware",
        "csp.middleware.CSPMiddleware",
        "opsboard.security.SecurityHeadersMiddleware",
    }
)
SIGN_IN = "opsboard.signin.SignInRequiredMiddleware"
CSRF = "django.middleware.csrf.CsrfViewMiddleware"
LOCKOUT = "axes.middleware.AxesMiddleware"


def check_local_mode(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """Every way in which the settings would answer to more than this machine, or to someone not signed in."""
    return [*_check_names(), *_check_middleware(), *_check_cookies(), *_check_csp(), *_check_accounts()]


def _check_names() -> Iterator[CheckMessage]:
    if set(settings.ALLOWED_HOSTS) - set(LOOPBACK_NAMES):
        yield Error(
            "ALLOWED_HOSTS names more than this machine.",
            hint="Leave it to opsboard.settings; local mode answers to localhost, 127.0.0.1 and [::1] only.",
            id="opsboard.E001",
        )


def _check_middleware() -> Iterator[CheckMessage]:
    for name in (ACCESS, SIGN_IN, CSRF, LOCKOUT, *sorted(BEFORE_ACCESS)):
        if name not in settings.MIDDLEWARE:
            yield Error(f"{name} is missing.", hint="Put it back into MIDDLEWARE.", id="opsboard.E002")
    before = settings.MIDDLEWARE[: settings.MIDDLEWARE.index(ACCESS)] if ACCESS in settings.MIDDLEWARE else []
    for name in set(before) - BEFORE_ACCESS:
        yield Error(
            f"{name} would answer before the request is known to be local.",
            hint=f"Move it below {ACCESS} in MIDDLEWARE.",
            id="opsboard.E003",
        )


def _check_cookies() -> Iterator[CheckMessage]:
    for kind in ("SESSION", "CSRF"):
        http_only = getattr(settings, f"{kind}_COOKIE_HTTPONLY")
        same_site = getattr(settings, f"{kind}_COOKIE_SAMESITE")
        if not http_only or same_site not in {"Lax", "Strict"}:
            yield Error(
                f"The {kind.lower()} cookie can be read by scripts or sent by other sites.",
                hint=f"Set {kind}_COOKIE_HTTPONLY = True and {kind}_COOKIE_SAMESITE = 'Lax'.",
                id="opsboard.E004",
            )


def _check_csp() -> Iterator[CheckMessage]:
    directives = (getattr(settings, "CONTENT_SECURITY_POLICY", None) or {}).get("DIRECTIVES", {})
    words = [str(word) for sources in directives.values() for word in sources]
    wanted = directives.get("default-src") and directives.get("frame-ancestors")
    if not wanted or any("unsafe" in word or word == "*" for word in words):
        yield Error(
            "The content security policy is missing or allows inline code.",
            hint="Put script and style into files, and the policy of opsboard.settings back.",
            id="opsboard.E005",
        )


def _check_accounts() -> Iterator[CheckMessage]:
    if getattr(settings, "ANONYMOUS_USER_NAME", "") is not None:
        yield Error(
            "Someone who is not signed in could be given rights.",
            hint="Set ANONYMOUS_USER_NAME = None.",
            id="opsboard.E006",
        )
