"""Which operations the jobs of a list deliver: found at once, by an index, and no others."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.ledger.events import operation_of_delivery, operations_of_deliveries
from jobs.ledger.snapshots import snapshot_of, snapshots_of
from jobs.models import Operation
from tests.support.layered import on_record

pytestmark = pytest.mark.django_db


def test_of_many_jobs_those_that_deliver_one_are_found_as_each_by_itself():
    jobs = {
        ("orders", f"job-{number}"): on_record(f"pay:{number}", f"job-{number}", status="failed") for number in (1, 2)
    }
    asked = [*jobs, ("orders", "plain"), ("payroll", "job-1")]
    assert operations_of_deliveries("default", asked) == jobs
    assert {place: operation_of_delivery("default", *place) for place in jobs} == jobs
    assert operations_of_deliveries("elsewhere", asked) == operations_of_deliveries("default", []) == {}


def test_a_job_that_was_dispatched_a_moment_ago_is_known_before_its_delivery_is():
    operation = on_record("pay:1", "older", status="queued")
    Operation.objects.update(job_id="newest")
    assert operations_of_deliveries("default", [("orders", "newest")]) == {("orders", "newest"): operation}


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL plans by how many rows there are")
def test_an_index_finds_them():
    with CaptureQueriesContext(connection) as queries:
        operations_of_deliveries("default", [("orders", "a"), ("orders", "b")])
    for one in queries.captured_queries:
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN QUERY PLAN {one['sql']}")
            steps = [row[3] for row in cursor.fetchall()]
        assert not [step for step in steps if step.startswith("SCAN") or "job_id=?" not in steps[0]], steps


def test_many_are_judged_as_each_by_itself_in_three_queries(workshop, now, django_assert_num_queries):
    workshop.failed(1), workshop.in_review(2), workshop.act("keyed", 3), workshop.lost(4), workshop.waiting(5)
    operations = list(Operation.objects.order_by("pk"))
    with django_assert_num_queries(3):
        together = snapshots_of(operations, now)
    assert together == {one.pk: snapshot_of(one, now) for one in operations}
    assert snapshots_of([], now) == {}
