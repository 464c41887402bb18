"""Triggers by which the database itself keeps what was recorded: no deletion, and no change but those that are meant.

An open audit entry may be closed, once; a resolution never changes; and of both the link to an account goes when the
account does (the name stays). Whoever owns the tables can drop a trigger: this guards against mistakes and against SQL
from elsewhere, not against the owner.

The triggers name every column, so a migration that changes such a table calls `remove…` before and `install…` after;
SQLite also remakes the table for many changes and drops its triggers without a word. Tests try every column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.apps.registry import Apps
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

CLOSING = ("status", "outcome", "closed_at")
FORGETTING = ("actor_id",)

_SQLITE = {
    "no_delete": "BEFORE DELETE ON {table} BEGIN {refuse}; END",
    "no_update": "BEFORE UPDATE ON {table} WHEN NOT ({allowed}) BEGIN {refuse}; END",
    # INSERT OR REPLACE deletes the row that stood there, and no trigger hears of it.
    "no_replace": "BEFORE INSERT ON {table} WHEN EXISTS (SELECT 1 FROM {table} WHERE id = NEW.id) BEGIN {refuse}; END",
}
_POSTGRESQL = {
    "no_delete": "BEFORE DELETE ON {table} FOR EACH ROW {refuse}",
    "no_update": "BEFORE UPDATE ON {table} FOR EACH ROW WHEN (NOT ({allowed})) {refuse}",
    "no_truncate": "BEFORE TRUNCATE ON {table} FOR EACH STATEMENT {refuse}",
}
_FUNCTION = """
CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION '{message}' USING ERRCODE = 'integrity_constraint_violation'; END $$
"""


@dataclass(frozen=True)
class Kept:
    """One table that is kept: its model, what its triggers' names begin with, and what they say when they refuse."""

    model: str
    prefix: str
    message: str
    may_be_closed: bool = False

    def install(self, apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
        """Create the triggers on SQLite and PostgreSQL; elsewhere nothing."""
        model = apps.get_model("opsboard_jobs", self.model)
        columns = [str(field.column) for field in model._meta.concrete_fields]
        table = model._meta.db_table
        if schema_editor.connection.vendor == "sqlite":
            refuse = f"SELECT RAISE(ABORT, '{self.message}')"
            self._create(schema_editor, _SQLITE, table, refuse, self._allowed(columns, "IS"))
        elif schema_editor.connection.vendor == "postgresql":
            schema_editor.execute(_FUNCTION.format(name=f"{self.prefix}_refuse", message=self.message))
            refuse = f"EXECUTE FUNCTION {self.prefix}_refuse()"
            self._create(schema_editor, _POSTGRESQL, table, refuse, self._allowed(columns, "IS NOT DISTINCT FROM"))

    def remove(self, apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
        """Drop what `install` has created."""
        table = apps.get_model("opsboard_jobs", self.model)._meta.db_table
        if schema_editor.connection.vendor == "sqlite":
            for name in _SQLITE:
                schema_editor.execute(f"DROP TRIGGER {self.prefix}_{name}")
        elif schema_editor.connection.vendor == "postgresql":
            for name in _POSTGRESQL:
                schema_editor.execute(f"DROP TRIGGER {self.prefix}_{name} ON {table}")
            schema_editor.execute(f"DROP FUNCTION {self.prefix}_refuse()")

    def _create(
        self, schema_editor: BaseDatabaseSchemaEditor, triggers: dict[str, str], table: str, refuse: str, allowed: str
    ) -> None:
        for name, rule in triggers.items():
            statement = rule.format(table=table, refuse=refuse, allowed=allowed)
            schema_editor.execute(f"CREATE TRIGGER {self.prefix}_{name} {statement}")

    def _allowed(self, columns: Sequence[str], same: str) -> str:
        """The changes that are meant, as conditions on the row before and after."""
        forgets = f"(OLD.actor_id IS NOT NULL AND NEW.actor_id IS NULL AND {_unchanged(columns, FORGETTING, same)})"
        if not self.may_be_closed:
            return forgets
        closes = f"(OLD.status = 'intended' AND NEW.status <> 'intended' AND {_unchanged(columns, CLOSING, same)})"
        return f"{closes} OR {forgets}"


def _unchanged(columns: Sequence[str], but: Sequence[str], same: str) -> str:
    return " AND ".join(f"NEW.{column} {same} OLD.{column}" for column in columns if column not in but)


AUDIT = Kept("AuditEntry", "opsboard_audit", "audit entries are append-only", may_be_closed=True)
RESOLUTIONS = Kept("Resolution", "opsboard_resolution", "resolutions are append-only")
