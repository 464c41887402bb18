"""A worker that is to stop is heard by the export that it runs, as often as that happens."""

from __future__ import annotations

import os
from threading import Timer

import pytest
import rq
from django.utils import timezone

from exports import writing
from exports.files import path_of
from exports.requesting import request_export
from exports.states import ExportState, state_of
from tests.exports.shop import outcomes, read

pytestmark = pytest.mark.django_db(transaction=True)
TIMES = 7
"""More often than an export may fail."""


@pytest.fixture
def export_id(exporter, make_orders, queues):
    make_orders(2500)
    return request_export(exporter, "2025", "").export.pk


@pytest.fixture
def stop_after(redis_client, monkeypatch):
    """stop_after(rows, seconds): so long after it reported these, its worker notes that it is to stop. None: never."""
    report = writing.report_progress

    def stop_it(rows, seconds=0.0):
        def report_and_stop(done, total):
            report(done, total)
            if done == rows:
                worker = f"rq:worker:{rq.get_current_job().worker_name}"
                stop = Timer(seconds, lambda: redis_client.hset(worker, "shutdown_requested_date", "now"))
                stop.start()
                if not seconds:
                    stop.join()

        monkeypatch.setattr(writing, "report_progress", report_and_stop)

    return stop_it


@pytest.fixture
def run_one(queues):
    """A worker of its own runs one job; it does not end by itself, as a real one that is to stop."""

    def run():
        rq.SimpleWorker(list(queues), connection=queues[0].connection).work(burst=True, max_jobs=1)

    return run


def test_a_stop_is_heard_while_it_waits_so_as_not_to_write_too_fast(export_id, stop_after, run_one, settings):
    # It would take half a minute.
    settings.OPSBOARD_EXPORTS_ROWS_PER_SECOND = 100
    stop_after(1000, seconds=0.2)
    run_one()
    operation = read(export_id).operation
    assert (operation.status, outcomes(operation)) == ("retry_wait", ["retrying"])
    assert not path_of(export_id).exists()


def test_however_often_it_is_stopped_it_is_made_in_the_end(export_id, stop_after, run_one, run_jobs):
    stop_after(0)
    for _stop in range(TIMES):
        run_one()
    assert outcomes(read(export_id).operation) == ["retrying"] * TIMES
    assert os.listdir(path_of(export_id).parent) == []

    stop_after(None)
    run_jobs()
    assert outcomes(read(export_id).operation) == ["retrying"] * TIMES + ["completed"]
    assert state_of(read(export_id), timezone.now()) is ExportState.READY
