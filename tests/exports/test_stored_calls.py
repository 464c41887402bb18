"""What earlier releases have put on the queues is still taken by the functions of today.

stored_calls.json has, for each release, the calls as RQ stores them: the function by its path, arguments by place and
by name. `.submit()` names them all, `.delay()` leaves them as they were given.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from django.utils.module_loading import import_string
from rq import SimpleWorker
from rq.job import Job

from exports import tasks
from exports.models import Export
from exports.requesting import request_export
from exports.states import ExportState, state_of
from jobs.broker.deliveries import META, declared_by
from jobs.models import Operation
from jobs.safety.operation import JobKind

RELEASES = json.loads((Path(__file__).parent / "stored_calls.json").read_text())
CALLS = [pytest.param(call, id=f"{one['release']}-{at}") for one in RELEASES for at, call in enumerate(one["calls"])]
ID = 7
"""Of the export that they are about."""
REMEDY = (
    "A job of an earlier release may still wait in a queue: give a new parameter a default, keep one that is given up "
    "for a release, keep the old name of a function as another name for the new one and add it to formerly=[…]. Only "
    "once no such job can be left, take the call out of stored_calls.json."
)
ADD_IT = (
    "Something about the calls that are stored has changed: add a section for this release to stored_calls.json, with "
    "the calls of today, and leave those of the releases before."
)


@pytest.mark.parametrize("call", CALLS)
def test_a_stored_call_means_today_what_it_meant(call):
    try:
        job = import_string(call["function"])
        bound = job.kind.shape.bind(tuple(call["args"]), call["kwargs"])
    except (ImportError, TypeError) as error:
        pytest.fail(f"{call['function']} does not take it any more: {error}. {REMEDY}")
    assert bound.operation_id == call["operation_id"], REMEDY
    assert call["function"] in (job.kind.path, *job.kind.formerly), REMEDY


def test_what_this_release_stores_is_among_them():
    newest = [
        {"function": job.kind.path, "args": args, "kwargs": kwargs, "operation_id": job.operation_id(ID)}
        for job in jobs_of_exports()
        for args, kwargs in (([], dict(job.kind.shape.bind((ID,), {}).args)), ([ID], {}))
    ]
    assert sorted(RELEASES[-1]["calls"], key=str) == sorted(newest, key=str), ADD_IT


def jobs_of_exports() -> list[Any]:
    return [one for one in vars(tasks).values() if isinstance(getattr(one, "kind", None), JobKind)]


def test_each_release_is_there_once_and_in_order():
    releases = [tuple(map(int, one["release"].split("."))) for one in RELEASES]
    assert releases == sorted(set(releases))


@pytest.mark.django_db(transaction=True)
def test_what_is_stored_is_what_rq_really_stores(exporter, queues):
    """Otherwise all this would be about calls that nobody makes."""
    submitted = tasks.build_export.submit(ID)
    delayed = tasks.build_export.delay(ID)
    for job_id, stored in ((submitted.job_id, {"export_id": ID}), (delayed.id, None)):
        job = Job.fetch(job_id, connection=queues[0].connection)
        form = ([], stored) if stored else ([ID], {})
        assert job.func_name == "exports.tasks.build_export"
        assert (list(job.args), job.kwargs) == form


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("call", CALLS)
def test_a_worker_of_today_runs_it(call, exporter, make_orders, queues, run_jobs, mailoutbox):
    make_orders(3)
    export = request_export(exporter, "2025", "").export
    if call["function"].endswith("mail_export"):
        # Its mail is there to be sent once it is built.
        SimpleWorker([queues[0]], connection=queues[0].connection).work(burst=True)
    put_back_as(call, export.pk)
    run_jobs()
    export = Export.objects.select_related("operation", "mail_operation").get(pk=export.pk)
    assert state_of(export, timezone.now()) is ExportState.READY
    assert (export.mail_operation.status, len(mailoutbox)) == ("completed", 1)


def put_back_as(call: dict[str, Any], export_id: int) -> None:
    """In the queue, the job of this operation brings this very call."""
    found = Operation.objects.get(operation_id=call["operation_id"].replace(str(ID), str(export_id)))
    declared = declared_by(import_string(call["function"]).delay)
    assert declared is not None
    queue = declared.queue
    queue.empty()
    queue.enqueue_call(
        call["function"],
        args=tuple(export_id if one == ID else one for one in call["args"]),
        kwargs={name: export_id if value == ID else value for name, value in call["kwargs"].items()},
        job_id=found.job_id,
        timeout=tasks.BUILD_SECONDS,
        meta={META: found.operation_id} if call["kwargs"] else {},
    )
