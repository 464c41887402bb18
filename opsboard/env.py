"""Settings from the environment: each parses, or raises one sentence that names the remedy and never a secret."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.core.exceptions import ImproperlyConfigured

Environment = Mapping[str, str]

_TRUE, _FALSE = frozenset({"1", "true", "yes", "on"}), frozenset({"0", "false", "no", "off"})


def env_str(name: str, default: str = "", *, environ: Environment = os.environ) -> str:
    """The variable without surrounding blanks; unset and empty both mean `default`."""
    return environ.get(name, "").strip() or default


def env_bool(name: str, default: bool = False, *, environ: Environment = os.environ) -> bool:
    """1, true, yes, on or 0, false, no, off. Raises ImproperlyConfigured."""
    value = env_str(name, environ=environ).lower()
    if value and value not in _TRUE | _FALSE:
        raise ImproperlyConfigured(f"{name} must be 1 or 0; set it to one of them or leave it out.")
    return value in _TRUE if value else default


def env_int(name: str, default: int, *, least: int, most: int, environ: Environment = os.environ) -> int:
    """A whole number between `least` and `most`. Raises ImproperlyConfigured."""
    value = env_str(name, str(default), environ=environ)
    if not re.fullmatch(r"[0-9]{1,12}", value) or not least <= int(value) <= most:
        raise ImproperlyConfigured(f"{name} must be a whole number from {least} to {most}; change it or leave it out.")
    return int(value)


def env_seconds(name: str, default: float, *, least: float, most: float, environ: Environment = os.environ) -> float:
    """A duration in seconds between `least` and `most`, decimals allowed. Raises ImproperlyConfigured."""
    value = env_str(name, f"{default:g}", environ=environ)
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,3})?", value) or not least <= float(value) <= most:
        raise ImproperlyConfigured(
            f"{name} must be a number of seconds from {least:g} to {most:g}; change it or leave it out."
        )
    return float(value)


def env_list(name: str, default: list[str], *, environ: Environment = os.environ) -> list[str]:
    """Names separated by commas, blanks around them dropped."""
    return [part for raw in env_str(name, environ=environ).split(",") if (part := raw.strip())] or list(default)


def env_choice(name: str, default: str, choices: tuple[str, ...], *, environ: Environment = os.environ) -> str:
    """One of `choices`, in any case. Raises ImproperlyConfigured."""
    value = env_str(name, default, environ=environ)
    found = [choice for choice in choices if choice.lower() == value.lower()]
    if not found:
        raise ImproperlyConfigured(f"{name} must be one of {', '.join(choices)}; change it or leave it out.")
    return found[0]


def env_time_zone(name: str, default: str = "UTC", *, environ: Environment = os.environ) -> str:
    """The name of a time zone of the IANA database. Raises ImproperlyConfigured."""
    value = env_str(name, default, environ=environ)
    try:
        return ZoneInfo(value).key
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ImproperlyConfigured(f"{name} is no known time zone; use a name like Europe/Berlin or UTC.") from None


def env_url(
    name: str, schemes: tuple[str, ...], example: str, default: str = "", *, environ: Environment = os.environ
) -> str:
    """An address with one of `schemes`. Raises ImproperlyConfigured; the text shows `example`, never the value."""
    value = env_str(name, default, environ=environ)
    if value and not _is_url(value, schemes):
        raise ImproperlyConfigured(f"{name} can't be read; write it like {example}.")
    return value


def _is_url(value: str, schemes: tuple[str, ...]) -> bool:
    try:
        parts = urlsplit(value)
    except ValueError:
        return False
    return parts.scheme in schemes and bool(parts.netloc or parts.path.strip("/")) and not re.search(r"\s", value)
