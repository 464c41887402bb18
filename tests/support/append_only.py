"""How tests empty a database of which the database itself keeps rows from being deleted.

After a test that commits, Django empties every table: it truncates them on PostgreSQL, and deletes row by row on
SQLite. Their triggers refuse both, as they shall. So they are taken off for that one moment and put back
exactly as the migrations made them; while a test runs they stand, and `manage.py flush` meets them too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import pytest
from django.db import connection, transaction
from django.test import TransactionTestCase

from jobs.models import Attempt, AuditEntry, Delivery, Effect, OperationEvent, Resolution

KEPT = (AuditEntry, Resolution, Delivery, OperationEvent, Attempt, Effect)
TABLES = [model._meta.db_table for model in KEPT]


def let_tests_clean_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the triggers off whenever Django empties the database after a test."""
    clean_up = TransactionTestCase._fixture_teardown  # type: ignore[attr-defined]  # not in the stubs

    def cleaned_up(case: TransactionTestCase) -> None:
        with _without_triggers(), _emptied_by_delete():
            clean_up(case)

    monkeypatch.setattr(TransactionTestCase, "_fixture_teardown", cleaned_up)


@contextmanager
def _emptied_by_delete() -> Iterator[None]:
    """On PostgreSQL: TRUNCATE makes a new file for each table and index, which takes longer than the test before it."""
    ops = connection.ops
    if connection.vendor != "postgresql":
        yield
        return

    def sql_flush(style: Any, tables: list[str], **options: Any) -> list[str]:
        return [f"DELETE FROM {ops.quote_name(name)}" for name in tables]

    with mock.patch.object(ops, "sql_flush", sql_flush):
        yield


@contextmanager
def _without_triggers() -> Iterator[None]:
    off, on = _switches()
    _execute(off)
    try:
        yield
    finally:
        _execute(on)


def _switches() -> tuple[list[str], list[str]]:
    """The statements that take the triggers off, and those that put them back."""
    if connection.vendor == "postgresql":
        off, on = ([f"ALTER TABLE {table} {word} TRIGGER USER" for table in TABLES] for word in ("DISABLE", "ENABLE"))
        return off, on
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, sql, tbl_name FROM sqlite_master WHERE type = 'trigger'")
        triggers = [(name, sql) for name, sql, table in cursor.fetchall() if table in TABLES]
    return [f"DROP TRIGGER {name}" for name, _sql in triggers], [sql for _name, sql in triggers]


def _execute(statements: list[str]) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
