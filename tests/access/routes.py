"""Every address of the product, filled with names that exist."""

from __future__ import annotations

from collections.abc import Iterator

from django.urls import URLPattern, URLResolver, get_resolver

FILLED = {
    "<slug:state>": "failed",
    "<slug:connection>": "default",
    "<name:queue>": "orders",
    "<name:job_id>": "4711",
    "<name:path>": "shop.tasks.send",
    "<uuid:batch>": "00000000-0000-4000-8000-000000000001",
}


def every_address() -> dict[str, str]:
    """URL name -> address. Fails for a route with a part that is not filled above, and for two of one name."""
    routes = list(_flatten(get_resolver().url_patterns))
    found = dict(routes)
    assert len(found) == len(routes) >= 15
    assert not [address for address in found.values() if "<" in address]
    return found


def _flatten(patterns: list[URLPattern | URLResolver], before: str = "/") -> Iterator[tuple[str, str]]:
    for pattern in patterns:
        path = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _flatten(pattern.url_patterns, path)
        else:
            for part, value in FILLED.items():
                path = path.replace(part, value)
            yield str(pattern.name), path
