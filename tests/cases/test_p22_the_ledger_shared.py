"""P22 for the ledger: four workers, three hundred short jobs at once, an observer, and a shell that holds the lock."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest
from django.db import transaction
from rq import Queue
from rq.decorators import job as rq_job

from jobs.models import Attempt, Effect, Operation
from opsboard.runner.lifeline import die_with_parent
from tests.cases.test_p22_sqlite_shared import hold_the_lock
from tests.chaos import work
from tests.oracle import client
from tests.support import database
from tests.support.layer_rq import layer_rq
from tests.support.real_rq import ROOT, wait_until

pytestmark = pytest.mark.django_db(transaction=True)
WORKERS, OPERATIONS = 4, 300
CLASSES = ["repeatable", "keyed", "checkable", "unsafe"]


@pytest.fixture
def workers(valkey, redis_client, tmp_path, oracle):
    with layer_rq("3.0", valkey.url, tmp_path, oracle) as rq:
        for _number in range(WORKERS):
            # The horses fork from a process that has loaded Django, as in a project that works many jobs.
            rq.start("orders", arguments=("--worker-class", "tests.support.layer_rq.LoadedWorker"), ready=False)
        yield rq


@pytest.fixture
def observer(valkey, tmp_path):
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    ours = {"OPSBOARD_VAR": str(tmp_path / "var"), "REDIS_URL": valkey.url, "DATABASE_URL": database.url()}
    said = tmp_path / "observer.log"
    command = [sys.executable, "manage.py", "observe"]
    with said.open("wb") as log:
        process = subprocess.Popen(
            command, cwd=ROOT, env={**kept, **ours}, stdout=log, stderr=log, preexec_fn=die_with_parent()
        )
    yield said
    process.send_signal(signal.SIGTERM)
    process.wait(30)


def submit_all(redis_client):
    """A business transaction for each; returns their keys."""
    rq_job(Queue("orders", connection=redis_client), connection=redis_client, timeout=120)(work.act)
    keys = [(kind, f"p22-{kind}-{number}") for number in range(OPERATIONS // len(CLASSES)) for kind in CLASSES]
    for kind, key in keys:
        with transaction.atomic():
            work.act.submit(kind, key)
    return [key for _kind, key in keys]


def test_p22_no_job_fails_for_a_locked_database_and_each_effect_has_its_row(workers, observer, redis_client, oracle):
    over = threading.Event()
    shell = threading.Thread(target=hold_the_lock, args=(over,))
    shell.start()
    try:
        keys = submit_all(redis_client)
        wait_until(lambda: not Operation.objects.exclude(status="completed").exists(), "all are completed", 180)
    finally:
        over.set()
        shell.join()
    assert set(Attempt.objects.values_list("number", "outcome")) == {(1, "completed")}
    assert Effect.objects.filter(status="completed", operation__entity__in=keys).count() == OPERATIONS
    counts = client.counts(oracle.url)
    assert {counts[key] for key in keys} == {1}
    assert redis_client.zcard("rq:failed:orders") == 0 and "locked" not in observer.read_text()
