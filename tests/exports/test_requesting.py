"""A wish is accepted once: record and operation together, the same one while it goes on, and not too many at a time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection, transaction

from exports.models import Export
from exports.requesting import TooManyExports, TooManyFiles, request_export
from jobs.models import Operation
from tests.exports.shop import a_person

pytestmark = pytest.mark.django_db(transaction=True)


def test_record_and_operation_are_there_together_and_the_job_after_the_commit(exporter, queues):
    with transaction.atomic():
        export = request_export(exporter, "2025", "").export
        assert queues[0].count == 0
    operation = Operation.objects.get(operation_id=f"export:{export.pk}")
    assert (operation.status, operation.entity, operation.args) == ("queued", str(export.pk), {"export_id": export.pk})
    assert queues[0].job_ids == [operation.job_id]


def test_a_rollback_takes_both_back_and_queues_nothing(exporter, queues):
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        request_export(exporter, "2025", "")
        raise ZeroDivisionError
    assert not Export.objects.exists()
    assert not Operation.objects.exists()
    assert queues[0].count == 0


def test_only_the_id_goes_into_the_job(exporter, queues):
    export = request_export(exporter, "2025-Q3", "paid").export
    (job,) = queues[0].jobs
    assert (job.func_name, job.args, job.kwargs) == ("exports.tasks.build_export", (), {"export_id": export.pk})
    assert job.description == f"export:{export.pk}"


def test_the_same_wish_is_the_same_export_while_it_goes_on(exporter, queues, run_jobs):
    first, again = request_export(exporter, "2025", "paid"), request_export(exporter, "2025", "paid")
    assert (again.is_new, again.export.pk) == (False, first.export.pk)
    assert queues[0].count == 1
    run_jobs()
    later = request_export(exporter, "2025", "paid")
    assert later.is_new
    assert later.export.pk != first.export.pk


def test_another_period_status_or_person_is_another_wish(exporter, queues):
    other = a_person("carl")
    made = [
        request_export(person, period, status)
        for person, period, status in [
            (exporter, "2025", ""),
            (exporter, "2024", ""),
            (exporter, "2025", "paid"),
            (other, "2025", ""),
        ]
    ]
    assert all(one.is_new for one in made)
    assert Export.objects.count() == 4


def test_so_many_at_once_and_no_more(exporter, queues, run_jobs, settings):
    settings.OPSBOARD_EXPORTS_AT_ONCE = 2
    request_export(exporter, "2024", "")
    request_export(exporter, "2025", "")
    with pytest.raises(TooManyExports) as refusal:
        request_export(exporter, "2023", "")
    assert refusal.value.limit == 2
    assert not request_export(exporter, "2025", "").is_new
    assert request_export(a_person("carl"), "2023", "").is_new
    run_jobs()
    assert request_export(exporter, "2023", "").is_new


def test_two_clicks_at_the_same_moment_are_one_wish(exporter, queues):
    together = Barrier(4)

    def click(_number: int) -> int:
        together.wait(30)
        try:
            return request_export(exporter, "2025", "").export.pk
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        ids = set(pool.map(click, range(4)))
    assert ids == {Export.objects.get().pk}
    assert queues[0].count == 1


def test_so_many_files_and_no_more_until_the_first_of_them_goes(exporter, queues, run_jobs, settings):
    settings.OPSBOARD_EXPORTS_KEPT = 2
    first = request_export(exporter, "2024", "").export
    run_jobs()
    first.refresh_from_db()
    request_export(exporter, "2025", "")
    with pytest.raises(TooManyFiles) as refusal:
        request_export(exporter, "2023", "")
    assert (refusal.value.limit, refusal.value.until) == (2, first.expires_at)
    assert request_export(a_person("carl"), "2023", "").is_new
    Export.objects.filter(pk=first.pk).update(expires_at=first.requested_at)
    assert request_export(exporter, "2023", "").is_new


def test_what_failed_takes_no_room(exporter, queues, run_jobs, settings):
    settings.OPSBOARD_EXPORTS_KEPT = 1
    request_export(exporter, "2025-13", "")
    run_jobs()
    assert request_export(exporter, "2025", "").is_new
