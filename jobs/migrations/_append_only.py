"""Triggers by which the database itself keeps what was recorded: no deletion, and no change but those that are meant.

An open audit entry may be closed, once; a resolution never changes; and of both the link to an account goes when the
account does (the name stays). Deliveries and events never change. An attempt ends once, and one that was taken for lost
may still report; who it was never changes. An effect keeps its name and key, and one that happened stays so, unless
somebody undoes it outside (protocol, 1.1, 1.3 and I8). Whoever owns the tables can drop a trigger: this guards against mistakes and against SQL
from elsewhere, not against the owner.

The triggers name every column, so a migration that changes such a table calls `remove…` before and `install…` after;
SQLite also remakes the table for many changes and drops its triggers without a word. Tests try every column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.apps.registry import Apps
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

_SQLITE = {
    "no_delete": "BEFORE DELETE ON {table} BEGIN {refuse}; END",
    "no_update": "BEFORE UPDATE ON {table} WHEN NOT ({allowed}) BEGIN {refuse}; END",
    # INSERT OR REPLACE deletes the row that stood there, and no trigger hears of it.
    "no_replace": "BEFORE INSERT ON {table} WHEN EXISTS (SELECT 1 FROM {table} WHERE {same}) BEGIN {refuse}; END",
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
class Change:
    """A change that is meant: SQL that is true of the row before (OLD) and after (NEW), and what may differ then."""

    when: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Kept:
    """One table that is kept: its model, what its triggers' names begin with, and what they say when they refuse.

    `changes`: those that are meant. `unique`: columns by which a row can be replaced besides its id.
    """

    model: str
    prefix: str
    message: str
    changes: tuple[Change, ...] = ()
    unique: tuple[str, ...] = ()

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
            statement = rule.format(table=table, refuse=refuse, allowed=allowed, same=self._same_row())
            schema_editor.execute(f"CREATE TRIGGER {self.prefix}_{name} {statement}")

    def _allowed(self, columns: Sequence[str], same: str) -> str:
        """The changes that are meant, as conditions on the row before and after."""
        meant = (f"({one.when} AND {_unchanged(columns, one.columns, same)})" for one in self.changes)
        return " OR ".join(meant) or "1 = 0"

    def _same_row(self) -> str:
        by_unique = " AND ".join(f"{column} = NEW.{column}" for column in self.unique)
        return f"id = NEW.id OR ({by_unique})" if by_unique else "id = NEW.id"


def _unchanged(columns: Sequence[str], but: Sequence[str], same: str) -> str:
    return " AND ".join(f"NEW.{column} {same} OLD.{column}" for column in columns if column not in but)


_FORGETS = Change("OLD.actor_id IS NOT NULL AND NEW.actor_id IS NULL", ("actor_id",))
_CLOSES = Change("OLD.status = 'intended' AND NEW.status <> 'intended'", ("status", "outcome", "closed_at"))
_ENDING = ("ended_at", "outcome", "error_kind", "error_class", "error_line", "death_proof")
_OPEN = ("status", "source", "begun_by_id", "begun_at", "first_begun_at", "completed_at", "external_id", "result")
_DECLARED = ("idempotency", "request_fingerprint", "key_valid_until", "settles_in_seconds", "has_probe")
_PROBED = ("probes_made", "probe_text")
_ADDS_ONLY = (
    "(OLD.external_id = '' OR NEW.external_id = OLD.external_id) AND (OLD.result IS NULL OR NEW.result = OLD.result)"
)

AUDIT = Kept("AuditEntry", "opsboard_audit", "audit entries are append-only", (_CLOSES, _FORGETS))
RESOLUTIONS = Kept("Resolution", "opsboard_resolution", "resolutions are append-only", (_FORGETS,))
DELIVERIES = Kept("Delivery", "opsboard_delivery", "deliveries are append-only")
EVENTS = Kept("OperationEvent", "opsboard_event", "events of operations are append-only")
ATTEMPTS = Kept(
    "Attempt",
    "opsboard_attempt",
    "attempts end once and are never changed",
    (
        Change("OLD.outcome = ''", _ENDING),
        Change("OLD.outcome = 'lost' AND NEW.outcome = 'superseded'", _ENDING),
    ),
)
EFFECTS = Kept(
    "Effect",
    "opsboard_effect",
    "effects keep their name and key, and what happened stays so",
    (
        Change("OLD.status NOT IN ('completed', 'reversed')", (*_OPEN, *_DECLARED, *_PROBED)),
        Change(
            f"OLD.status IN ('completed', 'reversed') AND NEW.status = OLD.status AND {_ADDS_ONLY}",
            ("external_id", "result"),
        ),
        Change("OLD.status = 'completed' AND NEW.status = 'reversed'", ("status", "source")),
    ),
    unique=("operation_id", "name", "item"),
)
