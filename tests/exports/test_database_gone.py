"""PostgreSQL ends a connection in the middle of an export, as its restart does: the next attempt makes it."""

from __future__ import annotations

from dataclasses import replace

import psycopg
import pytest
from django.db import DEFAULT_DB_ALIAS, connection, connections

from exports import writing
from exports.requesting import request_export
from exports.snapshot import ALIAS
from exports.tasks import build_export
from tests.exports.shop import outcomes, read

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no connections to end"),
]
ROWS = 5500


@pytest.fixture
def end(monkeypatch):
    """end(aliases): once two stages are written, the server ends these connections of the job."""

    def plan(aliases):
        look_up = writing._look_up

        def end_once(done, total):
            if done == 2000:
                monkeypatch.setattr(writing, "_look_up", look_up)
                terminate([backend_of(alias) for alias in aliases])
            look_up(done, total)

        monkeypatch.setattr(writing, "_look_up", end_once)

    return plan


def backend_of(alias):
    with connections[alias].cursor() as cursor:
        return cursor.execute("SELECT pg_backend_pid()").fetchone()[0]


def terminate(pids):
    asked = connection.get_connection_params()
    where = {name: asked[name] for name in ("dbname", "user", "password", "host", "port") if name in asked}
    with psycopg.connect(**where, autocommit=True) as other:
        for pid in pids:
            # It answers when that one has ended.
            other.execute("SELECT pg_terminate_backend(%s, 20000)", [pid])


@pytest.mark.parametrize(
    ("aliases", "ends"),
    [
        ([ALIAS], ["retrying", "completed"]),
        # What it notes by is opened anew.
        ([DEFAULT_DB_ALIAS], ["completed"]),
        ([ALIAS, DEFAULT_DB_ALIAS], ["retrying", "completed"]),
    ],
    ids=["what it reads by", "what it notes by", "both"],
)
def test_a_lost_connection_costs_an_attempt_at_most(exporter, make_orders, run_jobs, monkeypatch, end, aliases, ends):
    monkeypatch.setattr(
        build_export, "kind", replace(build_export.kind, retry=replace(build_export.kind.retry, base=0))
    )
    make_orders(ROWS)
    export = request_export(exporter, "2025", "").export
    end(aliases)
    run_jobs()
    assert outcomes(read(export.pk).operation) == ends
    assert (read(export.pk).rows, read(export.pk).reason) == (ROWS, "")
