"""What the environment says about access: the mode, and in proxied mode the names, the proxy and where to listen."""

from __future__ import annotations

from dataclasses import dataclass

from django.core.exceptions import ImproperlyConfigured

from opsboard.access.addresses import LOOPBACK_NAMES, is_host_name, is_loopback, parse_bind, parse_proxy
from opsboard.connections import is_demo
from opsboard.env import Environment, env_bool, env_choice, env_int, env_list, env_str

LOCAL, PROXIED = "local", "proxied"
YEAR_SECONDS = 365 * 24 * 3600

_PROXIED_ONLY = (
    "OPSBOARD_HOST",
    "OPSBOARD_TRUSTED_PROXIES",
    "OPSBOARD_BIND",
    "OPSBOARD_HSTS_SECONDS",
    "OPSBOARD_HSTS_SUBDOMAINS",
)


@dataclass(frozen=True, kw_only=True)
class Access:
    """How opsboard is reached. In local mode nobody is a proxy, and there is no https to insist on."""

    mode: str
    hosts: tuple[str, ...]
    port: int
    bind: str
    trusted_proxies: tuple[str, ...] = ()
    hsts_seconds: int = 0
    has_hsts_subdomains: bool = False

    @property
    def is_proxied(self) -> bool:
        return self.mode == PROXIED

    @property
    def site_url(self) -> str:
        """What a person enters to get here, as far as it is known: a tunnel may end at another port."""
        return f"https://{self.hosts[0]}" if self.is_proxied else f"http://localhost:{self.port}"


def read_access(environ: Environment) -> Access:
    """Raises ImproperlyConfigured, also for what is set and would do nothing: somebody believes that it does."""
    mode = env_choice("OPSBOARD_MODE", LOCAL, (LOCAL, PROXIED), environ=environ)
    port = env_int("PORT", 8000, least=1, most=65535, environ=environ)
    return _read_local(environ, port) if mode == LOCAL else _read_proxied(environ, port)


def _read_local(environ: Environment, port: int) -> Access:
    for name in _PROXIED_ONLY:
        if env_str(name, environ=environ):
            raise ImproperlyConfigured(f"{name} does nothing in local mode; take it out, or set OPSBOARD_MODE=proxied.")
    return Access(mode=LOCAL, hosts=LOOPBACK_NAMES, port=port, bind=f"127.0.0.1:{port}")


def _read_proxied(environ: Environment, port: int) -> Access:
    _refuse_what_shows_too_much(environ)
    hosts, bind = _read_hosts(environ), _read_bind(environ, port)
    return Access(
        mode=PROXIED,
        hosts=hosts,
        port=port,
        bind=bind,
        trusted_proxies=_read_proxies(environ, bind),
        hsts_seconds=env_int("OPSBOARD_HSTS_SECONDS", YEAR_SECONDS, least=1, most=2 * YEAR_SECONDS, environ=environ),
        has_hsts_subdomains=env_bool("OPSBOARD_HSTS_SUBDOMAINS", environ=environ),
    )


def _refuse_what_shows_too_much(environ: Environment) -> None:
    if env_bool("OPSBOARD_DEBUG", environ=environ):
        raise ImproperlyConfigured(
            "OPSBOARD_DEBUG shows code and settings to whoever meets an error; take it out in proxied mode."
        )
    if is_demo(environ):
        raise ImproperlyConfigured(
            "OPSBOARD_MODE can't be proxied for the demo, which prints its passwords; set REDIS_URL to your own store."
        )


def _read_hosts(environ: Environment) -> tuple[str, ...]:
    names = [name.lower() for name in env_list("OPSBOARD_HOST", [], environ=environ)]
    if not names or not all(map(is_host_name, names)):
        raise ImproperlyConfigured(
            "OPSBOARD_HOST must be the name in the browser's address, or several with commas between them: whole names "
            "like ops.example.org, without port, pattern or IP address."
        )
    return tuple(dict.fromkeys(names))


def _read_bind(environ: Environment, port: int) -> str:
    bind = env_str("OPSBOARD_BIND", f"127.0.0.1:{port}", environ=environ)
    if parse_bind(bind) is None:
        raise ImproperlyConfigured(
            "OPSBOARD_BIND must be one address and port, or a Unix socket, and no wildcard; write it like "
            "127.0.0.1:8000 or unix:/run/opsboard/web.sock."
        )
    return bind


def _read_proxies(environ: Environment, bind: str) -> tuple[str, ...]:
    """None for a Unix socket: who may connect there is told by the rights of its folder."""
    given, place = env_list("OPSBOARD_TRUSTED_PROXIES", [], environ=environ), parse_bind(bind)
    if isinstance(place, str):
        if given:
            raise ImproperlyConfigured(
                "OPSBOARD_TRUSTED_PROXIES does nothing on a Unix socket, whose peers have no address; take it out."
            )
        return ()
    if not given and place and not is_loopback(place[0]):
        raise ImproperlyConfigured(
            "OPSBOARD_TRUSTED_PROXIES must name the proxy's address, since OPSBOARD_BIND is not on 127.0.0.1."
        )
    networks = [parse_proxy(one) for one in given or ["127.0.0.1", "::1"]]
    if None in networks:
        raise ImproperlyConfigured(
            "OPSBOARD_TRUSTED_PROXIES must be IP addresses of the proxy, or networks of at most a /16 (IPv6: /48); "
            "write them like 10.0.0.5,10.1.2.0/24."
        )
    return tuple(dict.fromkeys(str(network) for network in networks))
