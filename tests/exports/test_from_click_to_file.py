"""The whole way in one process: the wish, the record, the file, the mail."""

from __future__ import annotations

import csv

import pytest
from django.core import mail

from exports.files import path_of
from exports.models import Export
from exports.requesting import request_export
from exports.states import ExportState, state_of
from jobs.models import Operation

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_wish_becomes_a_file_and_a_mail(exporter, make_orders, run_jobs, now):
    make_orders(2500)
    accepted = request_export(exporter, "2025", "")
    export = accepted.export

    assert accepted.is_new
    assert state_of(_read(export), now) is ExportState.ACCEPTED

    run_jobs()
    export = _read(export)
    assert state_of(export, now) is ExportState.READY
    with path_of(export.pk).open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == export.rows == 2500
    assert path_of(export.pk).stat().st_size == export.size
    assert (export.operation.progress_done, export.operation.progress_total) == (2500, 2500)
    assert [one.to for one in mail.outbox] == [["clara@shop.example"]]
    assert f"/exports/{export.pk}/" in mail.outbox[0].body
    assert export.mail_operation.status == Operation.Status.COMPLETED


def test_a_period_that_does_not_exist_fails_at_once_with_a_reason(exporter, run_jobs, now):
    export = request_export(exporter, "2025-13", "").export
    run_jobs()
    export = _read(export)
    assert state_of(export, now) is ExportState.FAILED
    assert export.reason == "There is no month 13: a year has months 01 to 12."
    assert export.operation.attempts_used == 1
    assert not path_of(export.pk).exists()


def _read(export: Export) -> Export:
    return Export.objects.select_related("operation", "mail_operation").get(pk=export.pk)
