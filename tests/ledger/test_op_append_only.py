"""The database itself keeps the history of operations, whoever speaks SQL to it."""

from __future__ import annotations

import uuid

import pytest
from django.db import IntegrityError, connection, transaction

from jobs.ledger import attempts, effects
from jobs.models import Attempt, Delivery, Effect, OperationEvent
from tests.support.op_ledger import begun, claimed, delivered, plan, taken_over

pytestmark = pytest.mark.django_db
REFUSAL = "append-only|never changed|stays so"
MAY_END = ("ended_at", "outcome", "error_kind", "error_class", "error_line", "death_proof")
IDENTITY = ("id", "operation", "name", "item", "idempotency_key")
NEVER = [(model, field.name) for model in (Delivery, OperationEvent) for field in model._meta.concrete_fields]


@pytest.fixture
def history() -> dict[type, object]:
    """One finished operation of which every table has a row."""
    operation, attempt, effect = begun("keyed")
    effects.complete(effect, attempt, external_id="ch_1", result="ch_1")
    attempts.complete(operation, attempt)
    attempts.claim(delivered(operation.operation_id))
    return {model: model.objects.order_by("pk").first() for model in (Delivery, OperationEvent, Attempt, Effect)}


def other(model, name):
    """A value that the column could hold and does not; without its links, which point to what is there."""
    field = model._meta.get_field(name)
    kind = (field.target_field if field.is_relation else field).get_internal_type()
    if "UUID" in kind:
        return uuid.uuid4() if connection.features.has_native_uuid_field else uuid.uuid4().hex
    if "Date" in kind:
        return "2030-01-01 00:00:00+00:00"
    if kind == "BooleanField":
        return True
    return 999 if kind in ("PositiveIntegerField", "BigAutoField", "FloatField") else '"other"'


def change(model, name, where="1 = 1"):
    column = model._meta.get_field(name).column
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"UPDATE {model._meta.db_table} SET {column} = %s WHERE {where}", [other(model, name)])


def refused(model, name, where="1 = 1"):
    before = list(model.objects.order_by("pk").values())
    with pytest.raises(IntegrityError, match=REFUSAL):
        change(model, name, where)
    assert list(model.objects.order_by("pk").values()) == before


@pytest.mark.parametrize("model", [Delivery, OperationEvent, Attempt, Effect], ids=lambda model: model.__name__)
def test_no_row_of_the_history_is_deleted(history, model):
    delete = f"DELETE FROM {model._meta.db_table}"
    with pytest.raises(IntegrityError, match=REFUSAL), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(delete)
    assert model.objects.filter(pk=history[model].pk).exists()


@pytest.mark.parametrize(("model", "name"), NEVER, ids=lambda value: getattr(value, "__name__", value))
def test_no_column_of_a_delivery_or_an_event_changes(history, model, name):
    refused(model, name)


@pytest.mark.parametrize("name", [field.name for field in Attempt._meta.concrete_fields])
def test_no_column_of_an_attempt_changes_once_it_has_ended(history, name):
    refused(Attempt, name, "outcome = 'completed'")


@pytest.mark.parametrize("name", [one.name for one in Attempt._meta.concrete_fields if one.name not in MAY_END])
def test_an_attempt_that_runs_stays_the_one_it_is(name):
    claimed()
    refused(Attempt, name)


def test_an_attempt_that_was_lost_may_say_that_it_was_superseded_and_nothing_else():
    operation, attempt = claimed()
    taken_over(operation)
    for outcome in ("completed", "failed", ""):
        with pytest.raises(IntegrityError, match=REFUSAL), transaction.atomic():
            Attempt.objects.update(outcome=outcome)
    attempts.complete(operation, attempt)
    assert Attempt.objects.get().outcome == "superseded"


@pytest.mark.parametrize("name", IDENTITY)
def test_an_effect_keeps_its_name_and_its_key(name):
    begun("keyed")
    refused(Effect, name)


@pytest.mark.parametrize("name", [one.name for one in Effect._meta.concrete_fields])
def test_no_column_of_an_effect_that_happened_changes(history, name):
    refused(Effect, name)


@pytest.mark.parametrize("status", ["begun", "released", "unknown", "abandoned"])
def test_what_happened_does_not_become_something_else(history, status):
    with pytest.raises(IntegrityError, match=REFUSAL), transaction.atomic():
        Effect.objects.update(status=status)
    assert Effect.objects.get().status == "completed"


def test_what_happened_can_be_undone_outside_and_stays_that(history):
    assert Effect.objects.update(status="reversed", source="human") == 1
    with pytest.raises(IntegrityError, match=REFUSAL), transaction.atomic():
        Effect.objects.update(status="completed")


def test_what_only_a_person_knew_of_is_added_to_and_not_replaced():
    _operation, attempt, effect = begun()
    Effect.objects.update(status="completed", source="human")
    effects.complete(effect, attempt, external_id="ch_1", result={"id": "ch_1"})
    with pytest.raises(IntegrityError, match=REFUSAL), transaction.atomic():
        Effect.objects.update(external_id="ch_2")
    assert (Effect.objects.get().external_id, Effect.objects.get().result) == ("ch_1", {"id": "ch_1"})


@pytest.mark.skipif("connection.vendor != 'sqlite'", reason="SQLite only")
@pytest.mark.parametrize("column", ["id", "name"])
def test_an_effect_can_not_be_replaced_by_its_id_or_its_name(history, column):
    names = [field.column for field in Effect._meta.concrete_fields]
    values = ", ".join("'forged'" if name == "external_id" else name for name in names)
    values = values if column == "id" else values.replace("id, ", "id + 1000, ", 1)
    forge = f"INSERT OR REPLACE INTO {Effect._meta.db_table} ({', '.join(names)}) SELECT {values} FROM {{0}}"
    with pytest.raises(IntegrityError, match=REFUSAL), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(forge.format(Effect._meta.db_table))
    assert Effect.objects.get().external_id == "ch_1"


def test_a_second_effect_of_an_operation_is_another_row(history):
    operation, attempt = claimed("pay:6")
    effects.begin(operation, attempt, plan("keyed"))
    assert Effect.objects.count() == 2
