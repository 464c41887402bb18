"""System checks: what would open opsboard further than its mode says is an error, with its remedy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error

from opsboard.access.addresses import LOOPBACK_NAMES, WIDEST, is_host_name, parse_bind, parse_proxy
from opsboard.access.reading import LOCAL, PROXIED
from opsboard.instance import KEY_LENGTH

ACCESS = {
    LOCAL: "opsboard.access.local.LocalOnlyMiddleware",
    PROXIED: "opsboard.access.proxied.ProxiedMiddleware",
}
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
LOCKOUT_BACKEND = "axes.backends.AxesStandaloneBackend"
LOCKOUT_HANDLER = "opsboard.lockout.LockoutHandler"
CLIENT_ADDRESS = "opsboard.access.proxied.client_address"
LEAST_LETTERS = 5
"""So many different ones Django wants to see in a secret key."""


def check_access(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """Every way in which the settings would answer to more than their mode says, or to someone not signed in."""
    if settings.OPSBOARD_MODE not in ACCESS:
        return [
            Error(
                "OPSBOARD_MODE is neither local nor proxied.", hint="Leave it to opsboard.settings.", id="opsboard.E007"
            )
        ]
    always = [*_check_names(), *_check_middleware(), *_check_cookies(), *_check_csp(), *_check_accounts()]
    return [*always, *_check_guessing(), *_check_forwarding(), *_check_proxied()]


# In both modes --------------------------------------------------------------------------------------------------------


def _check_names() -> Iterator[CheckMessage]:
    if settings.OPSBOARD_MODE == LOCAL and set(settings.ALLOWED_HOSTS) - set(LOOPBACK_NAMES):
        yield Error(
            "ALLOWED_HOSTS names more than this machine.",
            hint="Leave it to opsboard.settings; local mode answers to localhost, 127.0.0.1 and [::1] only.",
            id="opsboard.E001",
        )
    if settings.OPSBOARD_MODE == PROXIED and not _are_names(settings.ALLOWED_HOSTS):
        yield Error(
            "ALLOWED_HOSTS names nothing, a pattern, an address, or another name than OPSBOARD_HOST.",
            hint="Leave it to opsboard.settings, and set OPSBOARD_HOST to whole names like ops.example.org.",
            id="opsboard.E001",
        )


def _are_names(hosts: list[str]) -> bool:
    return bool(hosts) and set(hosts) == set(settings.OPSBOARD_HOSTS) and all(map(is_host_name, hosts))


def _check_middleware() -> Iterator[CheckMessage]:
    access = ACCESS[settings.OPSBOARD_MODE]
    for name in (access, SIGN_IN, CSRF, LOCKOUT, *sorted(BEFORE_ACCESS)):
        if name not in settings.MIDDLEWARE:
            yield Error(f"{name} is missing.", hint="Put it back into MIDDLEWARE.", id="opsboard.E002")
    before = settings.MIDDLEWARE[: settings.MIDDLEWARE.index(access)] if access in settings.MIDDLEWARE else []
    for name in set(before) - BEFORE_ACCESS:
        yield Error(
            f"{name} would answer before it is known where the request came from.",
            hint=f"Move it below {access} in MIDDLEWARE.",
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
    if any("RemoteUser" in name for name in (*settings.MIDDLEWARE, *settings.AUTHENTICATION_BACKENDS)):
        yield Error(
            "A header would be enough to be signed in.",
            hint="Take RemoteUser… out of MIDDLEWARE and AUTHENTICATION_BACKENDS; a proxy's own barrier comes on top.",
            id="opsboard.E008",
        )


def _check_guessing() -> Iterator[CheckMessage]:
    by_name = "username" in settings.AXES_LOCKOUT_PARAMETERS
    is_counted = settings.AXES_HANDLER == LOCKOUT_HANDLER and settings.AXES_CLIENT_IP_CALLABLE == CLIENT_ADDRESS
    is_first = settings.AUTHENTICATION_BACKENDS[:1] == [LOCKOUT_BACKEND]
    if not (getattr(settings, "AXES_ENABLED", True) and by_name and is_counted and is_first):
        yield Error(
            "Passwords could be guessed without end.",
            hint="Leave the AXES_ settings and AUTHENTICATION_BACKENDS to opsboard.settings.",
            id="opsboard.E009",
        )


def _check_forwarding() -> Iterator[CheckMessage]:
    wanted = ("HTTP_X_FORWARDED_PROTO", "https") if settings.OPSBOARD_MODE == PROXIED else None
    is_believed = settings.USE_X_FORWARDED_HOST or settings.USE_X_FORWARDED_PORT
    if is_believed or wanted != settings.SECURE_PROXY_SSL_HEADER:
        yield Error(
            "Headers would be believed that a client can write itself.",
            hint="Leave SECURE_PROXY_SSL_HEADER to opsboard.settings, and USE_X_FORWARDED_HOST and …_PORT off.",
            id="opsboard.E010",
        )


# In proxied mode ------------------------------------------------------------------------------------------------------


def _check_proxied() -> Iterator[CheckMessage]:
    if settings.OPSBOARD_MODE == PROXIED:
        yield from _check_peers()
        yield from _check_secrets()
        yield from _check_https()


def _check_peers() -> Iterator[CheckMessage]:
    place, proxies = parse_bind(settings.OPSBOARD_BIND), settings.OPSBOARD_TRUSTED_PROXIES
    if place is None:
        yield Error(
            "OPSBOARD_BIND is a wildcard, or no address and port.",
            hint="Name the one address that the proxy connects to, or a Unix socket.",
            id="opsboard.E011",
        )
    if (isinstance(place, tuple) and not proxies) or None in map(parse_proxy, proxies):
        yield Error(
            "OPSBOARD_TRUSTED_PROXIES names nobody, or more machines than a proxy has.",
            hint=f"Name IP addresses, or networks of at most a /{WIDEST[4]} (IPv6: /{WIDEST[6]}).",
            id="opsboard.E012",
        )


def _check_secrets() -> Iterator[CheckMessage]:
    if settings.DEBUG:
        yield Error(
            "Whoever meets an error is shown code and settings.",
            hint="Take OPSBOARD_DEBUG out.",
            id="opsboard.E013",
        )
    if settings.OPSBOARD_DEMO:
        yield Error(
            "The demo's accounts have passwords that it prints.",
            hint="Set REDIS_URL to your own store.",
            id="opsboard.E014",
        )
    if len(settings.SECRET_KEY) < KEY_LENGTH or len(set(settings.SECRET_KEY)) < LEAST_LETTERS:
        yield Error(
            "The secret key can be guessed, and with it every session.",
            hint=f"Give OPSBOARD_SECRET_KEY {KEY_LENGTH} random letters, or leave it out.",
            id="opsboard.E015",
        )


def _check_https() -> Iterator[CheckMessage]:
    for kind in ("SESSION", "CSRF"):
        is_secure = getattr(settings, f"{kind}_COOKIE_SECURE")
        domain, path = (getattr(settings, f"{kind}_COOKIE_{name}") for name in ("DOMAIN", "PATH"))
        is_of_host = getattr(settings, f"{kind}_COOKIE_NAME").startswith("__Host-") and not domain and path == "/"
        if not (is_secure and is_of_host):
            yield Error(
                f"The {kind.lower()} cookie could be sent unencrypted, or be set by another host.",
                hint=f"Leave {kind}_COOKIE_SECURE, …_NAME, …_DOMAIN and …_PATH to opsboard.settings.",
                id="opsboard.E016",
            )
    if not settings.SECURE_HSTS_SECONDS:
        yield Error(
            "Browsers are not told to come by https only.",
            hint="Leave SECURE_HSTS_SECONDS to opsboard.settings; OPSBOARD_HSTS_SECONDS can make it short.",
            id="opsboard.E017",
        )
