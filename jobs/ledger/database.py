"""The database of the ledger, its clock, and writes that outlast a moment's lock."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from django.db import OperationalError, connections, router, transaction
from django.db.models import F
from django.utils import timezone

from jobs.models import Operation

P = ParamSpec("P")
T = TypeVar("T")

PAUSES_SECONDS = (0.05, 0.2, 0.5, 1.0)
"""Between two tries of a write that met a lock; SQLite has waited its own time-out before each."""
_PASSING_STATES = frozenset({"40001", "40P01", "55P03"})
"""PostgreSQL: serialization failure, deadlock, lock not available."""


def alias() -> str:
    """The database of operations: that of the business data, so that both can be written in one transaction."""
    return router.db_for_write(Operation)


def own_transaction() -> AbstractContextManager[None]:
    """A transaction that is committed when it ends (protocol, W4 and C14).

    Raises RuntimeError inside another, be it one that the connection begins by itself: those Django leaves open.
    """
    connection = connections[alias()]
    if not connection.in_atomic_block and not connection.get_autocommit():
        raise RuntimeError("Without autocommit nothing is committed when it ends: set AUTOCOMMIT back to True.")
    return transaction.atomic(using=alias(), durable=True)


def same_transaction() -> AbstractContextManager[None]:
    """A transaction, or a part of the caller's."""
    return transaction.atomic(using=alias())


def lock_as_seen(operation_pk: int, **seen: Any) -> Operation | None:
    """The row as it is now, locked as by lock_operation, if these columns of it still are as they were seen."""
    rows = Operation.objects.filter(pk=operation_pk, **seen)
    return Operation.objects.get(pk=operation_pk) if rows.update(version=F("version") + 1) else None


def wait_for_writers() -> None:
    """Come back once a write would not have to wait: SQLite lets one write at a time (with IMMEDIATE transactions)."""
    with same_transaction():
        pass


def now() -> datetime:
    """The time by the database's clock: workers on many hosts have only that one in common (protocol, W3).

    SQLite has no other clock than its host's.
    """
    connection = connections[alias()]
    if connection.vendor != "postgresql":
        return timezone.now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        at: datetime = cursor.fetchone()[0]
    return at.astimezone(UTC)


def lock_operation(pk: int) -> None:
    """Lock its row for the rest of the transaction, as all do who write more than one fact: so none waits in a ring.

    By a write that changes nothing that counts: portable, and SQLite need not upgrade a read.
    """
    Operation.objects.filter(pk=pk).update(version=F("version") + 1)


def outlasting_locks(write: Callable[P, T]) -> Callable[P, T]:
    """Try a write of one whole transaction again when it met somebody else's lock: then nothing of it was written."""

    @wraps(write)
    def trying(*args: P.args, **kwargs: P.kwargs) -> T:
        for pause in PAUSES_SECONDS:
            try:
                return write(*args, **kwargs)
            except OperationalError as error:
                if not _is_passing(error):
                    raise
                time.sleep(pause)
        return write(*args, **kwargs)

    return trying


def _is_passing(error: OperationalError) -> bool:
    state = getattr(error.__cause__, "sqlstate", None)
    return state in _PASSING_STATES or "locked" in str(error)
