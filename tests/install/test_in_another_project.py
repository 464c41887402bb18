"""`pip install` of this repository into a Django project that has nothing else of it."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.support.real_rq import ROOT

pytestmark = pytest.mark.usefixtures("redis_client")
ENDS = """
from jobs.models import Operation
for one in Operation.objects.filter(operation_id__startswith="invoice:{0}-").order_by("operation_id"):
    print(one.origin, one.status, Letter.objects.filter(invoice=one.args["invoice_id"]).count())
"""
PLAIN = "from rq import Queue\nprint(Queue('mail', connection=store).enqueue('shop.tasks.send_invoice', {!r}).id)"


def test_the_wheel_has_the_jobs_package_with_all_it_reads_and_nothing_else(wheel):
    names = ZipFile(wheel).namelist()
    tops = {name.partition("/")[0] for name in names if ".dist-info/" not in name}
    assert tops == {"jobs"}
    assert {"jobs/migrations/0005_job_safety.py", "jobs/broker/lua/guard.lua", "jobs/py.typed"} <= set(names)


@pytest.mark.parametrize("worker", ["Worker", "SpawnWorker", "SimpleWorker"])
def test_a_stock_worker_runs_what_was_submitted_and_what_was_just_enqueued(project, worker):
    project.do(f"send_invoice.submit('{worker}-1'); send_invoice.delay('{worker}-2')")
    project.work(f"rq.worker.{worker}")
    assert project.do(ENDS.format(worker)) == ["submitted", "completed", "1", "adopted", "completed", "1"]


def test_a_child_never_uses_the_database_connection_that_its_worker_had_open(project):
    project.do("send_invoice.submit('fork-1'); send_invoice.submit('fork-2')")
    before, after, count, worker = project.run("worker.py").split()[-4:]
    seen = project.do("for l in Letter.objects.filter(invoice__startswith='fork-'): print(l.connection, l.worker)")
    assert seen[1::2] == [worker, worker]
    assert before == after and before not in seen[::2] and int(count) >= 2


def test_without_settings_the_job_fails_with_the_sentence_that_names_them(project):
    (job_id,) = project.do(PLAIN.format("no-settings"))
    project.having(DJANGO_SETTINGS_MODULE="").work()
    assert "start the worker with DJANGO_SETTINGS_MODULE=yourproject.settings" in project.error_of(job_id)


def test_without_the_app_the_job_fails_with_the_sentence_that_names_it(project):
    (job_id,) = project.do(PLAIN.format("no-app"))
    project.having(WITHOUT="app").work()
    assert "Add “jobs.apps.JobsConfig” to INSTALLED_APPS" in project.error_of(job_id)


def test_without_its_tables_the_job_fails_with_the_sentence_that_names_the_command(project):
    (job_id,) = project.do(PLAIN.format("no-tables"))
    project.without_tables().work("rq.worker.SimpleWorker")
    assert "run `manage.py migrate`" in project.error_of(job_id)


def test_the_projects_own_templates_and_checks_work_and_an_observer_may_run_there(project):
    assert project.do("from django.template import engines; print(engines['django'].from_string('fine').render())") == [
        "fine"
    ]
    assert "no issues" in project.manage("check")
    project.manage("observe", "--once")


def test_opsboard_can_be_pointed_at_the_projects_database_and_finds_its_operations(project, tmp_path):
    project.do("send_invoice.submit('seen-1')")
    code = """
from django.core.management import call_command
call_command("migrate", verbosity=0)
from jobs.models import Operation
print(Operation.objects.get(operation_id="invoice:seen-1").connection)
"""
    environ = {"DATABASE_URL": project.database_url, "REDIS_URL": project.environ["REDIS_URL"]}
    opsboard = replace(project, python=Path(sys.executable), folder=ROOT).having(
        DJANGO_SETTINGS_MODULE="opsboard.settings", OPSBOARD_VAR=str(tmp_path), **environ
    )
    assert opsboard.run("-c", f"import django; django.setup(){code}").split() == ["default"]
