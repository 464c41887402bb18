"""The database itself keeps audit entries and resolutions, whoever speaks SQL to it."""

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
from jobs.domain.verdicts import Verdict
from jobs.ledger import reviews
from jobs.models import AuditEntry, Queue, Resolution
from tests.support.statements import opened, statement

pytestmark = pytest.mark.django_db
TABLE = AuditEntry._meta.db_table
COLUMNS = [field.name for field in AuditEntry._meta.concrete_fields]
CLOSING = ["status", "outcome", "closed_at"]
KEPT = {AuditEntry: "audit entries are append-only", Resolution: "resolutions are append-only"}
ALL_COLUMNS = [(model, field.name) for model in KEPT for field in model._meta.concrete_fields]
on_postgresql = pytest.mark.skipif("connection.vendor != 'postgresql'", reason="PostgreSQL only")
on_sqlite = pytest.mark.skipif("connection.vendor != 'sqlite'", reason="SQLite only")


@pytest.fixture
def closed(operator, now) -> AuditEntry:
    return ledger.record_change(actor=operator, verb="retry_job", subject="job-7", reason="because", now=now)


@pytest.fixture
def resolution(operator, now) -> Resolution:
    review = opened(now, holder=operator)
    reviews.settle_review(review, statement(operator, Verdict.ABANDON, review), now=now)
    return Resolution.objects.get()


@pytest.fixture(params=KEPT, ids=lambda model: model.__name__)
def kept(request) -> AuditEntry | Resolution:
    """A row that never changes any more, of each table that is kept."""
    return request.getfixturevalue("closed" if request.param is AuditEntry else "resolution")


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


def rows(model):
    return list(model.objects.order_by("pk").values())


def refused(statement, parameters=(), model=AuditEntry):
    """Nothing when the database says no, in the words it should, and nothing changed."""
    before = rows(model)
    with pytest.raises(IntegrityError, match=KEPT[model]):
        run_sql(statement, parameters)
    assert rows(model) == before


def key(entry):
    return entry.pk if connection.features.has_native_uuid_field else entry.pk.hex


def another(name, row):
    """A value that the column could hold and does not."""
    field = row._meta.get_field(name)
    if name == "actor":
        return User.objects.create_user("somebody-else").pk
    kind = (field.target_field if field.is_relation else field).get_internal_type()
    if "UUID" in kind:
        return uuid.uuid4() if connection.features.has_native_uuid_field else uuid.uuid4().hex
    if "Date" in kind:
        return row.created_at + timedelta(days=1)
    return 999 if "Integer" in kind or "BigAuto" in kind else '"other"'


def test_no_row_can_be_deleted(kept, intended):
    table = kept._meta.db_table
    refused(f"DELETE FROM {table}", model=type(kept))
    refused(f"DELETE FROM {table} WHERE id = %s", [key(kept)], type(kept))
    refused(f"DELETE FROM {TABLE} WHERE id = %s", [key(intended)])


def test_not_by_the_models_either(kept):
    for delete in (kept.delete, type(kept).objects.all().delete):
        with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
            delete()
    assert type(kept).objects.filter(pk=kept.pk).exists()


@pytest.mark.parametrize(("model", "name"), ALL_COLUMNS, ids=lambda value: getattr(value, "__name__", value))
def test_no_column_of_a_row_that_is_complete_can_be_changed(request, model, name):
    row = request.getfixturevalue("closed" if model is AuditEntry else "resolution")
    column = model._meta.get_field(name).column
    refused(f"UPDATE {model._meta.db_table} SET {column} = %s", [another(name, row)], model)


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


def test_a_row_loses_its_link_when_the_account_goes_and_nothing_else(kept, intended, operator):
    refused(f"UPDATE {kept._meta.db_table} SET actor_id = NULL, actor_name = ''", model=type(kept))
    refused(f"UPDATE {TABLE} SET actor_id = NULL, status = 'done'")
    before = rows(type(kept))
    operator.delete()
    assert rows(type(kept)) == [row | {"actor_id": None} for row in before]


def test_a_row_without_a_link_gets_none(kept, operator, lead):
    operator.delete()
    refused(f"UPDATE {kept._meta.db_table} SET actor_id = %s", [lead.pk], type(kept))


@on_sqlite
def test_a_row_can_not_be_replaced(kept):
    table, columns = kept._meta.db_table, [field.column for field in kept._meta.concrete_fields]
    values = ", ".join("'forged'" if column == "reason" else column for column in columns)
    refused(f"INSERT OR REPLACE INTO {table} ({', '.join(columns)}) SELECT {values} FROM {table}", model=type(kept))


@on_postgresql
def test_a_row_can_not_be_replaced_on_conflict(kept):
    table = kept._meta.db_table
    forge = f"INSERT INTO {table} SELECT * FROM {table} ON CONFLICT (id) DO UPDATE SET reason = 'forged'"
    refused(forge, model=type(kept))


@on_postgresql
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("statement", [f"TRUNCATE {TABLE} CASCADE", "TRUNCATE auth_user CASCADE"])
def test_the_table_can_not_be_truncated(closed, statement):
    with pytest.raises(IntegrityError, match="append-only"):
        run_sql(statement)
    assert AuditEntry.objects.get() == closed


@on_postgresql
@pytest.mark.django_db(transaction=True)
def test_nor_that_of_resolutions(resolution):
    refused(f"TRUNCATE {Resolution._meta.db_table}", model=Resolution)


@pytest.mark.django_db(transaction=True)
def test_the_command_that_empties_a_database_leaves_everything(kept, orders):
    before = {model: rows(model) for model in KEPT}
    with pytest.raises(CommandError):
        call_command("flush", interactive=False)
    assert {model: rows(model) for model in KEPT} == before
    assert Queue.objects.get() == orders


@pytest.mark.django_db(transaction=True)
def test_what_was_dumped_is_loaded_where_it_is_missing_and_changes_nothing_where_it_is_not(kept, tmp_path):
    dump = tmp_path / "dump.json"
    call_command("dumpdata", kept._meta.label, primary_keys=str(kept.pk), output=str(dump))
    (row,) = json.loads(dump.read_text())
    row["fields"] |= {"reason": "forged", "actor_name": "nobody"}
    dump.write_text(json.dumps([row]))
    with pytest.raises(DatabaseError, match="append-only"):
        call_command("loaddata", str(dump), verbosity=0)
    row["pk"] = str(uuid.uuid4())
    if type(kept) is Resolution:
        # It is the only one of its act.
        row["fields"]["audit_entry"] = None
    dump.write_text(json.dumps([row]))
    call_command("loaddata", str(dump), verbosity=0)
    assert type(kept).objects.get(pk=row["pk"]).reason == "forged"
    assert type(kept).objects.get(pk=kept.pk) == kept


@pytest.mark.django_db(transaction=True)
def test_the_migrations_can_be_taken_back_and_made_again(closed):
    MigrationExecutor(connection).migrate([("opsboard_jobs", "0002_batches_and_runbooks")])
    try:
        run_sql(f"UPDATE {TABLE} SET reason = 'changed'")
        run_sql(f"DELETE FROM {TABLE}")
    finally:
        again = MigrationExecutor(connection)
        again.migrate(again.loader.graph.leaf_nodes())
    call_command("migrate", check_unapplied=True, verbosity=0)
