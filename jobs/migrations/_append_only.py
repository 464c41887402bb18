"""Triggers by which the database itself keeps audit entries: no deletion, and no change but the two that are meant.

An open entry may be closed, once; and the link to an account goes when the account does (the name stays). Whoever owns
the tables can drop a trigger: this guards against mistakes and against SQL from elsewhere, not against the owner.

The triggers name every column, so a migration that changes the table of AuditEntry calls `remove` before and `install`
after; SQLite also remakes the table for many changes and drops its triggers without a word. Tests try every column.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.apps.registry import Apps
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

MESSAGE = "audit entries are append-only"
CLOSING = ("status", "outcome", "closed_at")
FORGETTING = ("actor_id",)

_SQLITE = {
    "no_delete": "BEFORE DELETE ON {table} BEGIN {refuse}; END",
    "no_update": "BEFORE UPDATE ON {table} WHEN NOT ({closes} OR {forgets}) BEGIN {refuse}; END",
    # INSERT OR REPLACE deletes the row that stood there, and no trigger hears of it.
    "no_replace": "BEFORE INSERT ON {table} WHEN EXISTS (SELECT 1 FROM {table} WHERE id = NEW.id) BEGIN {refuse}; END",
}
_POSTGRESQL = {
    "no_delete": "BEFORE DELETE ON {table} FOR EACH ROW {refuse}",
    "no_update": "BEFORE UPDATE ON {table} FOR EACH ROW WHEN (NOT ({closes} OR {forgets})) {refuse}",
    "no_truncate": "BEFORE TRUNCATE ON {table} FOR EACH STATEMENT {refuse}",
}
_FUNCTION = f"""
CREATE FUNCTION opsboard_audit_refuse() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION '{MESSAGE}' USING ERRCODE = 'integrity_constraint_violation'; END $$
"""


def install(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Create the triggers on SQLite and PostgreSQL; elsewhere nothing."""
    model = apps.get_model("opsboard_jobs", "AuditEntry")
    columns = [str(field.column) for field in model._meta.concrete_fields]
    table = model._meta.db_table
    if schema_editor.connection.vendor == "sqlite":
        _create(schema_editor, _SQLITE, table, refuse=f"SELECT RAISE(ABORT, '{MESSAGE}')", **_rules(columns, "IS"))
    elif schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(_FUNCTION)
        refuse = "EXECUTE FUNCTION opsboard_audit_refuse()"
        _create(schema_editor, _POSTGRESQL, table, refuse=refuse, **_rules(columns, "IS NOT DISTINCT FROM"))


def remove(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Drop what `install` has created."""
    table = apps.get_model("opsboard_jobs", "AuditEntry")._meta.db_table
    if schema_editor.connection.vendor == "sqlite":
        for name in _SQLITE:
            schema_editor.execute(f"DROP TRIGGER opsboard_audit_{name}")
    elif schema_editor.connection.vendor == "postgresql":
        for name in _POSTGRESQL:
            schema_editor.execute(f"DROP TRIGGER opsboard_audit_{name} ON {table}")
        schema_editor.execute("DROP FUNCTION opsboard_audit_refuse()")


def _create(schema_editor: BaseDatabaseSchemaEditor, triggers: dict[str, str], table: str, **parts: str) -> None:
    for name, rule in triggers.items():
        schema_editor.execute(f"CREATE TRIGGER opsboard_audit_{name} " + rule.format(table=table, **parts))


def _rules(columns: Iterable[str], same: str) -> dict[str, str]:
    """The two changes that are allowed, as conditions on the row before and after."""
    kept = _unchanged((column for column in columns if column not in CLOSING), same)
    closes = f"(OLD.status = 'intended' AND NEW.status <> 'intended' AND {kept})"
    kept = _unchanged((column for column in columns if column not in FORGETTING), same)
    forgets = f"(OLD.actor_id IS NOT NULL AND NEW.actor_id IS NULL AND {kept})"
    return {"closes": closes, "forgets": forgets}


def _unchanged(columns: Iterable[str], same: str) -> str:
    return " AND ".join(f"NEW.{column} {same} OLD.{column}" for column in columns)
