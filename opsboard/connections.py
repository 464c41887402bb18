"""The named Redis connections, as the environment gives them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

from opsboard.env import Environment, env_str, env_url

DEFAULT = "default"
SCHEMES = ("redis", "rediss", "unix", "redis+sentinel")
EXAMPLE = "redis://:PASSWORD@HOST:6379/0"
SENTINEL_EXAMPLE = "redis+sentinel://:PASSWORD@HOST:26379,HOST:26379/SERVICE/0"

_VARIABLE = re.compile(r"OPSBOARD_REDIS_(?P<name>[A-Z0-9_]+?)_(?P<field>READ_URL|URL|PREFIX)")
_RESERVED = frozenset({"read"})
# The rule of rq.defaults: what RQ itself accepts in RQ_KEY_PREFIX.
_PREFIX = re.compile(r"[A-Za-z0-9_.:{}-]{1,64}")
_NODES = re.compile(r"[^/:,@]+:[0-9]{1,5}(,[^/:,@]+:[0-9]{1,5})*")


def read_connections(environ: Environment) -> dict[str, dict[str, str]]:
    """Every connection by name: {"url", "read_url", "prefix"}; the one of REDIS_URL is `default`, and first.

    Raises ImproperlyConfigured with the variable's name and the remedy, never with an address or a password.
    """
    found = _default_connection(environ)
    for name, variable in _named(environ).items():
        if name in found:
            raise ImproperlyConfigured(f"{variable}_URL repeats a connection; call it by another name.")
        found[name] = _connection(environ, f"{variable}_URL", f"{variable}_READ_URL", [f"{variable}_PREFIX"])
    return found


def require_connections(connections: Mapping[str, Mapping[str, str]]) -> None:
    """Nothing when there is a store to look after. Raises ImproperlyConfigured; commands that need none don't ask."""
    if not connections:
        raise ImproperlyConfigured("No job store is named; set REDIS_URL, or start with make run to try it out.")


def is_demo(environ: Environment) -> bool:
    """Whether the embedded store is looked after: `make run` passes its address when no store of the user is named."""
    return bool(env_str("OPSBOARD_EMBEDDED_REDIS_URL", environ=environ) and not env_str("REDIS_URL", environ=environ))


def rq_queues(connections: Mapping[str, Mapping[str, str]], names: list[str]) -> dict[str, dict[str, Any]]:
    """django-rq's RQ_QUEUES for its worker command: these queues on the default connection, none without one."""
    if DEFAULT not in connections:
        return {}
    place = _rq_place(connections[DEFAULT]["url"])
    return {name: dict(place) for name in names}


def _default_connection(environ: Environment) -> dict[str, dict[str, str]]:
    source = "OPSBOARD_EMBEDDED_REDIS_URL" if is_demo(environ) else "REDIS_URL"
    if env_str(source, environ=environ):
        prefixes = ["OPSBOARD_REDIS_PREFIX", "RQ_KEY_PREFIX"]
        return {DEFAULT: _connection(environ, source, "REDIS_READ_URL", prefixes)}
    if env_str("REDIS_READ_URL", environ=environ):
        raise ImproperlyConfigured("REDIS_READ_URL is only the reading side; set REDIS_URL too.")
    return {}


def _named(environ: Environment) -> dict[str, str]:
    """Name of each further connection -> the beginning of its variables."""
    matches = [match for key in sorted(environ) if (match := _VARIABLE.fullmatch(key)) and environ[key].strip()]
    named = {_slug(match): match[0].removesuffix(f"_{match['field']}") for match in matches}
    for name, variable in named.items():
        if name in _RESERVED:
            raise ImproperlyConfigured(f"{variable}_URL: no connection can be called “{name}”; use another name.")
        if not env_str(f"{variable}_URL", environ=environ):
            raise ImproperlyConfigured(f"{variable}_… names a connection without an address; set {variable}_URL.")
    return named


def _slug(match: re.Match[str]) -> str:
    name = match["name"].lower().replace("_", "-").strip("-")
    if not name or len(name) > 64:
        raise ImproperlyConfigured(f"{match[0]}: give the connection a name of 1 to 64 letters, digits and _.")
    return name


def _connection(environ: Environment, url: str, read_url: str, prefixes: list[str]) -> dict[str, str]:
    address = _address(environ, url)
    return {
        "url": address,
        "read_url": _address(environ, read_url) or address,
        "prefix": next((prefix for name in prefixes if (prefix := _prefix(environ, name))), "rq"),
    }


def _address(environ: Environment, name: str) -> str:
    value = env_url(name, SCHEMES, EXAMPLE, environ=environ)
    if value.startswith("redis+sentinel:") and not _is_sentinel(value):
        raise ImproperlyConfigured(f"{name} can't be read; write it like {SENTINEL_EXAMPLE}.")
    if value.startswith(("redis:", "rediss:")) and not _has_host_and_port(value):
        raise ImproperlyConfigured(f"{name} can't be read; write it like {EXAMPLE}.")
    return value


def _prefix(environ: Environment, name: str) -> str:
    value = env_str(name, environ=environ)
    if value and not _PREFIX.fullmatch(value):
        raise ImproperlyConfigured(f"{name} may hold letters, digits and _ . : - {{ }} only; RQ takes no other prefix.")
    return value


def _has_host_and_port(value: str) -> bool:
    try:
        parts = urlsplit(value)
        return bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _is_sentinel(value: str) -> bool:
    parts = urlsplit(value)
    service, _, database = parts.path.strip("/").partition("/")
    nodes = parts.netloc.rpartition("@")[2]
    return bool(_NODES.fullmatch(nodes) and service and (not database or database.isdecimal()))


def _rq_place(url: str) -> dict[str, Any]:
    if not url.startswith("redis+sentinel:"):
        return {"URL": url}
    parts = urlsplit(url)
    account, _, nodes = parts.netloc.rpartition("@")
    user, _, password = account.partition(":")
    service, _, database = parts.path.strip("/").partition("/")
    return {
        "SENTINELS": [(node.rpartition(":")[0], int(node.rpartition(":")[2])) for node in nodes.split(",")],
        "MASTER_NAME": service,
        "DB": int(database or 0),
        "USERNAME": unquote(user) or None,
        "PASSWORD": unquote(password) or None,
    }
