"""Every address of the product, filled with names that exist."""

from __future__ import annotations

from collections.abc import Iterator

from django.urls import URLPattern, URLResolver, get_resolver

FILLED = {
    "<slug:state>": "failed",
    "<slug:connection>": "default",
    "<name:queue>": "orders",
    "<name:path>": "shop.tasks.send",
    "<int:review_id>": "4711",
    "<int:export_id>": "4711",
    "<uuid:batch>": "00000000-0000-4000-8000-000000000001",
}
JOBS = {"job-enqueue": "later-1", "job-cancel": "next-1", "job-stop": "slow-1", "job-remove-entry": "ghost"}
"""The jobs of those acts that make no sense for 4711, by the name of the address."""
OPERATIONS = {"operation-retry": "pay~3A5", "operation-cancel": "pay~3A6"}
"""Operations that can be acted on, by the name of the address; the other is that of a plain job."""


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
            name = str(pattern.name)
            path = path.replace("<name:job_id>", JOBS.get(name, "4711"))
            path = path.replace("<operation:operation_id>", OPERATIONS.get(name, "rq~3Adefault~3A4713"))
            for part, value in FILLED.items():
                path = path.replace(part, value)
            yield name, path
