"""Opening a page changes not one key of Redis and runs not one line of a job's code, whatever lies there."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from itertools import product

import pytest
from django.urls import reverse

from jobs.broker.guarded import READ_COMMANDS
from jobs.broker.keys import STATES
from jobs.domain.words import ACT_SLUGS
from jobs.models import JobType, Queue, Review
from jobs.urls import urlpatterns
from tests.support.keyspace import snapshot
from tests.support.layered import on_record
from tests.support.minefield import CANARIES, JOBS, LONG_AGO
from tests.support.observer import watch
from tests.support.pages import at
from tests.support.real_rq import ROOT
from tests.support.reviews import review_of
from tests.support.traffic import count_traffic
from tests.views.conftest import ROLES

pytestmark = pytest.mark.django_db

CHOICES = {
    "connection": ["default"],
    "queue": ["orders"],
    "job_id": JOBS,
    "state": STATES,
    "path": ["fx.boom"],
    "review_id": [1, 4711],
    "operation_id": [
        *(f"rq:default:{job_id}" for job_id in ("plain", "abandoned", "ghost", "half", "wrong")),
        *("pay:plain", "pay:poison", "pay:ghost"),
    ],
    "batch": ["00000000-0000-4000-8000-000000000001"],
}
QUERIES = {
    "failed": ["", "?queue=orders", "?queue=mixed"],
    "lookup": ["", *(f"?q={job_id}" for job_id in ("plain", "abandoned", "ghost", "wrong"))],
}
OPENINGS = [{}, {"hx-request": "true"}]
"""Once by a person, and once by the page that refreshes itself."""
READS_WITH_RQ = {
    "counting": "rq.registry.StartedJobRegistry('orders', connection=connection).count",
    "listing": "rq.registry.StartedJobRegistry('orders', connection=connection).get_job_ids()",
    "meta": "rq.job.Job.fetch('trap-meta', connection=connection) and None",
    "result": "rq.job.Job.fetch('trap-legacy', connection=connection) and None",
    "data": "rq.job.Job.fetch('trap-data', connection=connection).args and None",
    "return_value": "rq.job.Job.fetch('trap-result', connection=connection).latest_result() and None",
}
"""What a dashboard made of RQ's own objects would do."""


@pytest.fixture
def mines(minefield, orders, payroll, lead):
    """With everything that makes pages longer: a record of the damaged queue, a declared type, operations."""
    Queue.objects.create(connection="default", name="mixed")
    JobType.objects.create(path="fx.boom", idempotency="repeatable", declared_by=lead)
    Review.objects.filter(pk=review_of("abandoned").pk).update(id=1)
    watch()
    on_record("pay:plain", "plain", status="failed")
    on_record("pay:poison", "poison", status="completed", effect="completed")
    in_doubt = on_record("pay:ghost", "ghost", status="unknown", effect="unknown")
    in_doubt.reviews.update(id=4711)
    for key in minefield.scan_iter("rq:worker:*"):
        # RQ lets the record of a worker go a minute after its end; where time is short a walk takes longer.
        minefield.expire(key, 3600, gt=True)
    return minefield


def addresses():
    """Every address of the product that a link or a person could lead to."""
    for pattern in urlpatterns:
        names = list(pattern.pattern.converters)
        for values in product(*(CHOICES[name] for name in names)):
            address = reverse(f"jobs:{pattern.name}", kwargs=dict(zip(names, values, strict=True)))
            yield from (address + query for query in QUERIES.get(pattern.name, [""]))
    yield from (at("queue-state", "mixed", state) for state in STATES)


def nothing_has_run(client, folder):
    """No callback, no pickle; and no module of the jobs' own was so much as imported here."""
    counters = [key for pattern in CANARIES for key in client.keys(pattern)]
    return not counters and not list(folder.iterdir()) and not {"fx", "tests.fx"} & set(sys.modules)


@pytest.mark.parametrize(("rq_version", "who"), [*product(["3.0"], ROLES), ("2.12", "superuser")])
def test_opening_every_page_twice_changes_nothing_and_runs_nothing(mines, mined_folder, browser_of, who):
    browser, before = browser_of(who, watched=False), snapshot(mines)
    with count_traffic(mines) as traffic:
        for headers, address in product(OPENINGS, addresses()):
            assert browser.get(address, headers=headers).status_code < 500, address
    assert set(traffic.by_command) <= {name.lower() for name in READ_COMMANDS}
    assert snapshot(mines) == before
    assert nothing_has_run(mines, mined_folder)


def test_the_walk_leads_to_every_job_that_can_be_opened(mines, browser_of):
    """Else it would prove little: of a ghost there is nothing to open."""
    browser = browser_of("superuser")
    answers = {job_id: browser.get(at("job", "orders", job_id)).status_code for job_id in JOBS}
    assert answers == {job_id: 404 if job_id == "ghost" else 200 for job_id in JOBS}


@pytest.mark.parametrize("word", ACT_SLUGS.values())
def test_the_walk_leads_to_the_page_of_each_act_on_every_job(mines, browser_of, word):
    browser = browser_of("superuser")
    answers = {job_id: browser.get(at(f"job-{word}", "orders", job_id)).status_code for job_id in JOBS}
    assert answers == {job_id: 404 if job_id == "ghost" and word != "remove-entry" else 200 for job_id in JOBS}


@pytest.mark.parametrize("rq_version", ["2.12"])
@pytest.mark.parametrize("read", ["counting", "listing"])
def test_the_same_mines_go_off_for_who_counts_with_rq(real_rq, mines, read):
    mines.zremrangebyscore("rq:wip:orders", LONG_AGO, "inf")
    before = snapshot(mines)
    real_rq.evaluate(READS_WITH_RQ[read])
    assert snapshot(mines) != before
    assert mines.get("on_failure:abandoned") == b"1"


@pytest.mark.parametrize("read", ["meta", "result", "data", "return_value"])
def test_the_same_mines_go_off_for_who_unpickles(real_rq, mines, mined_folder, read):
    real_rq.evaluate(READS_WITH_RQ[read])
    (mined_folder / read).unlink()


FORBIDDEN_MODULES = {"rq", "django_rq", "pickle", "marshal", "shelve", "importlib", "runpy"}
FORBIDDEN_NAMES = {"eval", "exec", "compile", "__import__", "import_string", "import_module"}


OF_WORKERS = [*ROOT.glob("jobs/safety/**/*.py"), ROOT / "jobs/broker/deliveries.py"]
"""What runs in workers, under RQ, with the code of the jobs: pages import none of it."""


@pytest.mark.parametrize(
    "path",
    sorted({*ROOT.glob("jobs/**/*.py")} - {*OF_WORKERS}),
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_no_module_of_jobs_can_import_or_unpickle_what_a_job_names(path):
    for node in ast.walk(ast.parse(path.read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, (ast.Import, ast.ImportFrom)) else []
        modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else names
        assert not {module.partition(".")[0] for module in modules} & FORBIDDEN_MODULES
        assert not set(names) & FORBIDDEN_NAMES
        assert not isinstance(node, ast.Name) or node.id not in FORBIDDEN_NAMES


LOAD_ALL = """
import pkgutil, sys, django
from importlib import import_module
from django.conf import settings
settings.INSTALLED_APPS.remove("django_rq")
django.setup()
import jobs
import jobs.urls
PAGES = ("actions", "domain", "forms", "judging", "ledger", "models", "permissions", "selectors", "templatet", "views")
found = (one.name for one in pkgutil.walk_packages(jobs.__path__, "jobs."))
loaded = [import_module(name) for name in found if name.split(".")[1].startswith(PAGES)]
print(len(loaded), "rq" in sys.modules, "pickle" in [name for one in loaded for name in vars(one)])
"""


def test_the_pages_work_without_rq_in_their_process(tmp_path):
    """django_rq, which brings the workers' command, is what imports it into ours; nothing of the pages does."""
    kept = {"PATH": os.environ["PATH"], "OPSBOARD_VAR": str(tmp_path), "DJANGO_SETTINGS_MODULE": "opsboard.settings"}
    command = [sys.executable, "-c", LOAD_ALL]
    done = subprocess.run(command, cwd=ROOT, env=kept, check=True, capture_output=True, text=True)
    loaded, *found = done.stdout.split()
    assert int(loaded) > 50
    assert found == ["False", "False"]
