"""An export shows one moment, whatever is written while it is built."""

from __future__ import annotations

import csv
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from django.db import DatabaseError, connections
from django.db.backends.signals import connection_created

from exports import writing
from exports.files import path_of
from exports.models import Export, Order
from exports.requesting import request_export
from exports.snapshot import ALIAS, snapshot

pytestmark = pytest.mark.django_db(transaction=True)


def test_what_is_written_meanwhile_is_not_seen(make_orders):
    make_orders(2)
    with snapshot() as alias:
        assert Order.objects.using(alias).count() == 2
        make_orders(1)
        Order.objects.update(amount=7)
        assert Order.objects.using(alias).count() == 2
        assert not Order.objects.using(alias).filter(amount=7).exists()
    assert Order.objects.filter(amount=7).count() == 3


def test_nothing_can_be_written_through_it(make_orders):
    make_orders(1)
    with pytest.raises(DatabaseError), snapshot() as alias:
        Order.objects.using(alias).update(amount=7)
    assert not Order.objects.filter(amount=7).exists()


def test_its_connection_ends_with_it(make_orders):
    with pytest.raises(ZeroDivisionError), snapshot() as alias:
        open_connection = connections[alias]
        raise ZeroDivisionError
    assert open_connection.connection is None
    assert ALIAS not in {one.alias for one in connections.all(initialized_only=True)}


def test_rows_that_are_counted_are_the_rows_that_are_written(exporter, make_orders, run_jobs, monkeypatch):
    """Orders come, change and go between two stages; the file has those of the first moment, each as it was then."""
    make_orders(2500)
    between_stages = writing._look_up

    def disturb(done: int, total: int) -> None:
        if done == 1000:
            make_orders(1)
            Order.objects.filter(number="O-002400").update(amount=Decimal("1.00"))
            Order.objects.filter(number="O-002300").delete()
        between_stages(done, total)

    monkeypatch.setattr(writing, "_look_up", disturb)
    export = request_export(exporter, "2025", "").export
    run_jobs()
    export = Export.objects.get(pk=export.pk)
    with path_of(export.pk).open(encoding="utf-8-sig", newline="") as file:
        rows = {row["number"]: row for row in csv.DictReader(file)}
    assert len(rows) == export.rows == 2500
    assert rows["O-002400"]["amount"] == "600.00"
    assert "O-002300" in rows


@pytest.fixture
def _no_order_by_itself():
    """Databases that give no rows in a helpful order unless they are asked for one."""

    def prepare(connection, **more):
        backwards = "PRAGMA reverse_unordered_selects = ON"
        whole = "SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off"
        with connection.cursor() as cursor:
            cursor.execute(backwards if connection.vendor == "sqlite" else whole)

    connection_created.connect(prepare)
    yield
    connection_created.disconnect(prepare)


@pytest.mark.usefixtures("_no_order_by_itself")
def test_only_orders_of_the_period_and_status_are_in_the_file_the_oldest_first(exporter, make_orders, run_jobs):
    make_orders(30)
    midnight = datetime(2025, 1, 1, tzinfo=UTC)
    Order.objects.filter(number="O-000003").update(status=Order.Status.REFUNDED)
    Order.objects.filter(number="O-000004").update(status=Order.Status.REFUNDED, placed_at=midnight.replace(month=2))
    Order.objects.filter(number="O-000005").update(status=Order.Status.REFUNDED, placed_at=midnight)
    export = request_export(exporter, "2025-01", "refunded").export
    run_jobs()
    with path_of(export.pk).open(encoding="utf-8-sig", newline="") as file:
        assert [row["number"] for row in csv.DictReader(file)] == ["O-000005", "O-000003"]


def test_a_period_without_orders_gives_a_file_without_rows(exporter, run_jobs):
    export = request_export(exporter, "2019", "").export
    run_jobs()
    export = Export.objects.select_related("operation").get(pk=export.pk)
    assert (export.operation.status, export.rows) == ("completed", 0)
    assert path_of(export.pk).read_text("utf-8-sig").splitlines() == [
        '"number","placed_at","customer","note","status","amount","currency"'
    ]
