"""The database itself keeps audit entries, whoever speaks SQL to it."""

from __future__ import annotations

import json
import uuid
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.db.migrations.executor import MigrationExecutor

from jobs import ledger
from jobs.models import AuditEntry, Queue

pytestmark = pytest.mark.django_db
TABLE = AuditEntry._meta.db_table
COLUMNS = [field.name for field in AuditEntry._meta.concrete_fields]
CLOSING = ["status", "outcome", "closed_at"]
on_postgresql = pytest.mark.skipif("connection.vendor != 'postgresql'", reason="PostgreSQL only")
on_sqlite = pytest.mark.skipif("connection.vendor != 'sqlite'", reason="SQLite only")


@pytest.fixture
def closed(operator, now) -> AuditEntry:
    return ledger.record_change(actor=operator, verb="retry_job", subject="job-7", reason="because", now=now)


@pytest.fixture
def intended(operator, now) -> AuditEntry:
    """As ledger.open_entry leaves it."""
    deadline = now + timedelta(seconds=3)
    return AuditEntry.objects.create(
        actor=operator, actor_name="otto", verb="retry_job", subject="job-8", created_at=now, deadline_at=deadline
    )


def run_sql(statement, parameters=()):
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement, parameters)


def refused(statement, parameters=()):
    """Nothing when the database says no, in the words it should, and nothing changed."""
    before = list(AuditEntry.objects.order_by("pk").values())
    with pytest.raises(IntegrityError, match="audit entries are append-only"):
        run_sql(statement, parameters)
    assert list(AuditEntry.objects.order_by("pk").values()) == before


def key(entry):
    return entry.pk if connection.features.has_native_uuid_field else entry.pk.hex


def another(name, entry):
    """A value that the column could hold and does not."""
    field = AuditEntry._meta.get_field(name)
    if field.is_relation:
        return User.objects.create_user("somebody-else").pk
    if "UUID" in field.get_internal_type():
        return uuid.uuid4() if connection.features.has_native_uuid_field else uuid.uuid4().hex
    return entry.created_at + timedelta(days=1) if "Date" in field.get_internal_type() else "other"


def test_no_entry_can_be_deleted(closed, intended):
    refused(f"DELETE FROM {TABLE}")
    refused(f"DELETE FROM {TABLE} WHERE id = %s", [key(intended)])


def test_not_by_the_models_either(closed):
    for delete in (closed.delete, AuditEntry.objects.all().delete):
        with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
            delete()
    assert AuditEntry.objects.exists()


@pytest.mark.parametrize("name", COLUMNS)
def test_no_column_of_a_closed_entry_can_be_changed(closed, name):
    column = AuditEntry._meta.get_field(name).column
    refused(f"UPDATE {TABLE} SET {column} = %s", [another(name, closed)])


@pytest.mark.parametrize("name", [name for name in COLUMNS if name != "status"])
def test_an_open_entry_is_not_changed_without_closing_it(intended, name):
    column = AuditEntry._meta.get_field(name).column
    refused(f"UPDATE {TABLE} SET {column} = %s", [another(name, intended)])


@pytest.mark.parametrize("name", [name for name in COLUMNS if name not in CLOSING])
def test_closing_an_entry_changes_nothing_of_what_was_intended(intended, name):
    column = AuditEntry._meta.get_field(name).column
    refused(f"UPDATE {TABLE} SET status = 'done', {column} = %s", [another(name, intended)])


@pytest.mark.parametrize("status", [one.value for one in AuditEntry.Status if one != AuditEntry.Status.INTENDED])
def test_an_open_entry_is_closed_once_and_not_opened_again(intended, now, status):
    close = f"UPDATE {TABLE} SET status = %s, outcome = 'It is so.', closed_at = %s"
    run_sql(close, [status, now])
    refused(close, ["done", now])
    refused(f"UPDATE {TABLE} SET status = 'intended'")
    assert AuditEntry.objects.get().status == status


def test_one_update_that_closes_what_is_open_and_changes_what_is_closed_does_neither(intended, closed):
    refused(f"UPDATE {TABLE} SET status = 'refused'")


def test_an_entry_loses_its_link_when_the_account_goes_and_nothing_else(closed, intended, operator):
    refused(f"UPDATE {TABLE} SET actor_id = NULL, actor_name = ''")
    refused(f"UPDATE {TABLE} SET actor_id = NULL, status = 'done'")
    before = list(AuditEntry.objects.order_by("pk").values())
    operator.delete()
    assert list(AuditEntry.objects.order_by("pk").values()) == [entry | {"actor_id": None} for entry in before]


def test_an_entry_without_a_link_gets_none(closed, operator, lead):
    operator.delete()
    refused(f"UPDATE {TABLE} SET actor_id = %s", [lead.pk])


@on_sqlite
def test_an_entry_can_not_be_replaced(closed):
    columns = [field.column for field in AuditEntry._meta.concrete_fields]
    values = ", ".join("'forged'" if column == "reason" else column for column in columns)
    refused(f"INSERT OR REPLACE INTO {TABLE} ({', '.join(columns)}) SELECT {values} FROM {TABLE}")


@on_postgresql
def test_an_entry_can_not_be_replaced_on_conflict(closed):
    refused(f"INSERT INTO {TABLE} SELECT * FROM {TABLE} ON CONFLICT (id) DO UPDATE SET reason = 'forged'")


@on_postgresql
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("statement", [f"TRUNCATE {TABLE}", "TRUNCATE auth_user CASCADE"])
def test_the_table_can_not_be_truncated(closed, statement):
    refused(statement)


@pytest.mark.django_db(transaction=True)
def test_the_command_that_empties_a_database_leaves_everything(closed, orders):
    with pytest.raises(CommandError):
        call_command("flush", interactive=False)
    assert AuditEntry.objects.get() == closed
    assert Queue.objects.get() == orders


@pytest.mark.django_db(transaction=True)
def test_what_was_dumped_is_loaded_where_it_is_missing_and_changes_nothing_where_it_is_not(closed, tmp_path):
    dump = tmp_path / "audit.json"
    call_command("dumpdata", "opsboard_jobs.auditentry", output=str(dump))
    rows = json.loads(dump.read_text())
    rows[0]["fields"]["reason"] = "forged"
    dump.write_text(json.dumps(rows))
    with pytest.raises(DatabaseError, match="append-only"):
        call_command("loaddata", str(dump), verbosity=0)
    rows[0]["pk"] = str(uuid.uuid4())
    dump.write_text(json.dumps(rows))
    call_command("loaddata", str(dump), verbosity=0)
    assert sorted(AuditEntry.objects.values_list("reason", flat=True)) == ["because", "forged"]


@pytest.mark.django_db(transaction=True)
def test_the_migration_can_be_taken_back_and_made_again(closed):
    MigrationExecutor(connection).migrate([("opsboard_jobs", "0002_batches_and_runbooks")])
    try:
        run_sql(f"UPDATE {TABLE} SET reason = 'changed'")
        run_sql(f"DELETE FROM {TABLE}")
    finally:
        again = MigrationExecutor(connection)
        again.migrate(again.loader.graph.leaf_nodes())
    call_command("migrate", check_unapplied=True, verbosity=0)
