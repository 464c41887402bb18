"""Links from an operation to where else it can be looked up, as the environment gives them."""

from __future__ import annotations

import re

from django.core.exceptions import ImproperlyConfigured

from jobs.domain.links import build_links, placeholders
from opsboard.env import Environment, env_str

PLACEHOLDERS = ("operation_id", "job_id", "job_type", "queue", "connection")
EXAMPLE = "Logs=https://logs.example/?q={operation_id}"
NAME_LENGTH = 60


def read_links(environ: Environment) -> tuple[tuple[str, str], ...]:
    """(name, template) of each link of OPSBOARD_LINKS, one a line or between semicolons, in their order.

    Raises ImproperlyConfigured with the name of the link that can't be used and the remedy, never with its address: it
    may hold a token.
    """
    given = env_str("OPSBOARD_LINKS", environ=environ)
    return tuple(_link(part.strip()) for part in re.split(r"[;\n]", given) if part.strip())


def _link(text: str) -> tuple[str, str]:
    name, equals, template = (part.strip() for part in text.partition("="))
    if not equals or not name or len(name) > NAME_LENGTH or "://" in name:
        raise ImproperlyConfigured(f"OPSBOARD_LINKS: begin each link with its name, like {EXAMPLE}; a ; inside is %3B.")
    words = placeholders(template)
    if words is None or not set(PLACEHOLDERS).issuperset(words):
        known = " ".join(f"{{{word}}}" for word in PLACEHOLDERS)
        raise ImproperlyConfigured(f"OPSBOARD_LINKS: in “{name}” only {known} can be filled in; use one of them.")
    if not build_links([(name, template)], dict.fromkeys(PLACEHOLDERS, "x")):
        raise ImproperlyConfigured(
            f"OPSBOARD_LINKS: “{name}” needs an address of http or https with its host and no password, like {EXAMPLE}."
        )
    return name, template
