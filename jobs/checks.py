"""System checks of the job-safety layer: settings under which its promises would not hold, each with the remedy."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error
from django.db import DEFAULT_DB_ALIAS
from django.db import connections as django_connections

from jobs.broker import connections
from jobs.ledger.database import alias

LONGEST_KILL_SECONDS = 60
"""So long after a job's time limit RQ may still kill its process (2.12 and 3.0)."""
_LAX = re.compile(r"synchronous\s*=\s*(0|1|OFF|NORMAL)\b|synchronous_commit\s*=\s*(off|local)\b", re.IGNORECASE)


def check_layer(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """What would make a record of the ledger, a lease or an idempotency key worth less than it looks."""
    return [*_check_namespace(), *_check_connection(), *_check_database(), *_check_times()]


def check_encoding(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """Asks the database itself, so with `migrate` and `check --database` only: can it hold what jobs say?"""
    name = alias()
    if name not in (databases or ()) or django_connections[name].vendor != "postgresql":
        return []
    with django_connections[name].cursor() as cursor:
        cursor.execute("SHOW server_encoding")
        (encoding,) = cursor.fetchone()
    if encoding == "UTF8":
        return []
    message = f"The database “{name}” is in {encoding} and can't hold every text: no failure that has others is kept."
    return [
        Error(message, hint="Make it anew with: createdb --encoding=UTF8 --template=template0", id="opsboard_jobs.E009")
    ]


def _check_namespace() -> Iterator[CheckMessage]:
    if not _setting("OPSBOARD_NAMESPACE") and not _setting("OPSBOARD_ENVIRONMENT"):
        yield checks.Warning(
            "Idempotency keys have no namespace: two installations would send the same ones to a provider.",
            hint='Set OPSBOARD_NAMESPACE = "production", and another word in every other installation.',
            id="opsboard_jobs.W001",
        )


def _check_connection() -> Iterator[CheckMessage]:
    known, named = connections.names(), _setting("OPSBOARD_CONNECTION")
    if named and known and named not in known:
        yield Error(
            f"OPSBOARD_CONNECTION is “{named}”, and no connection is called that.",
            hint=f"Set it to one of {', '.join(known)}: the one whose workers run these jobs.",
            id="opsboard_jobs.E002",
        )
    elif len(known) > 1 and not named:
        yield checks.Warning(
            f"There are {len(known)} connections; operations are recorded as of “{known[0]}”.",
            hint="Set OPSBOARD_CONNECTION to the one whose workers run these jobs.",
            id="opsboard_jobs.W003",
        )


def _check_database() -> Iterator[CheckMessage]:
    name = alias()
    options = settings.DATABASES[name].get("OPTIONS", {})
    if _LAX.search(f"{options.get('init_command', '')} {options.get('options', '')}"):
        yield checks.Warning(
            f"The database “{name}” forgets what was just committed when the power fails: a call could be made twice.",
            hint="Keep synchronous=FULL (SQLite) or synchronous_commit=on (PostgreSQL) for the database of operations.",
            id="opsboard_jobs.W004",
        )
    if options.get("pool"):
        yield checks.Warning(
            f"The pool of connections of “{name}” would be shared between a worker and the processes that it forks.",
            hint="Leave “pool” out of the OPTIONS of workers' settings; CONN_MAX_AGE is fine.",
            id="opsboard_jobs.W005",
        )
    if name != DEFAULT_DB_ALIAS:
        yield checks.Warning(
            f"Operations are kept in the database “{name}”: submit() and atomic_effect() are of one transaction with "
            "changes there, and not with changes elsewhere.",
            hint="Route opsboard_jobs to the database of the business data; silence this where that is so.",
            id="opsboard_jobs.W006",
        )


def _check_times() -> Iterator[CheckMessage]:
    if not settings.USE_TZ:
        yield Error("Leases and due times need times with a zone.", hint="Set USE_TZ = True.", id="opsboard_jobs.E007")
    if (_setting("OPSBOARD_LEASE_GRACE_SECONDS") or LONGEST_KILL_SECONDS) < LONGEST_KILL_SECONDS:
        yield checks.Warning(
            "A lease may be over while its job still acts: RQ kills a process up to a minute after its time limit.",
            hint="Set OPSBOARD_LEASE_GRACE_SECONDS to 60 or more, or leave it out.",
            id="opsboard_jobs.W008",
        )


def _setting(name: str) -> Any:
    return getattr(settings, name, None)
