"""Reading as of one moment: a connection of its own whose every query sees the database as it was at the first one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import DEFAULT_DB_ALIAS, connections, transaction

ALIAS = "exports-snapshot"


@contextmanager
def snapshot() -> Iterator[str]:
    """The alias to read from within the block: `Order.objects.using(alias)`. It can't write.

    A connection of its own, since the job's commits (its progress, its effects) must not end what is being read; and
    on SQLite since the others begin every transaction as writers.
    """
    base = connections[DEFAULT_DB_ALIAS]
    options = {**base.settings_dict.get("OPTIONS", {})}
    if base.vendor == "sqlite":
        options["transaction_mode"] = "DEFERRED"
    connection = type(base)({**base.settings_dict, "OPTIONS": options}, ALIAS)
    connections[ALIAS] = connection
    try:
        with transaction.atomic(using=ALIAS):
            with connection.cursor() as cursor:
                cursor.execute(_AS_OF_ONE_MOMENT[connection.vendor])
            yield ALIAS
    finally:
        connection.close()
        del connections[ALIAS]


_AS_OF_ONE_MOMENT = {
    # A deferred transaction is that already, from its first read to its end.
    "sqlite": "PRAGMA query_only = ON",
    "postgresql": "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY",
}
