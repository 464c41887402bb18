"""P22: SQLite under several processes. Observer, web and workers' failures at once, and a shell that holds the lock."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from django.db import connection, transaction

from jobs.models import AuditEntry, FailedJob, JobType, Queue
from opsboard.runner.lifeline import die_with_parent
from tests.support import database
from tests.support.failing import Failing
from tests.support.pages import at, press
from tests.support.real_rq import ROOT, wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.parametrize("rq_version", ["3.0"])]
JOBS, AT_ONCE = 120, 40


@pytest.fixture
def observer(valkey, redis_client, tmp_path):
    """The observer as it is shipped, in a process of its own; what it says is in the file."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    ours = {"OPSBOARD_VAR": str(tmp_path), "REDIS_URL": valkey.url, "DATABASE_URL": database.url()}
    said = tmp_path / "observer.log"
    with said.open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "manage.py", "observe"],
            cwd=ROOT,
            env={**kept, **ours},
            stdout=log,
            stderr=log,
            preexec_fn=die_with_parent(),
        )
    yield process, said
    process.kill()
    process.wait()


def hold_the_lock(until):
    """A shell that has a transaction open: once for three seconds, then for moments."""
    seconds = 3.0
    while not until.is_set():
        with transaction.atomic():
            Queue.objects.filter(name="nobody").update(name="nobody")
            time.sleep(seconds)
        seconds = 0.2
        until.wait(1)
    connection.close()


def listed(client):
    return {member.decode() for member in client.zrange("rq:failed:orders", 0, -1)}


def indexed():
    return set(FailedJob.objects.values_list("job_id", flat=True))


def test_p22_nobody_is_told_of_a_locked_database_and_nothing_is_lost(
    real_rq, redis_client, observer, operator, sign_in
):
    process, said = observer
    JobType.objects.create(path="fx.boom", idempotency="repeatable")
    real_rq.fail("fx.boom", 7, job_id="model")
    failing, names, over = Failing(redis_client), [f"job-{number:03}" for number in range(JOBS)], threading.Event()
    shell = threading.Thread(target=hold_the_lock, args=(over,))
    shell.start()
    try:
        browser = sign_in(operator)
        for start in range(0, JOBS, AT_ONCE):
            failing.fail(*names[start : start + AT_ONCE])
            name = names[start]
            assert press(browser, at("job", "orders", name), at("job-retry", "orders", name)).status_code == 302
            assert browser.get(at("overview")).status_code == 200
        wait_until(lambda: listed(redis_client) <= indexed(), "all that failed is indexed", 60)
    finally:
        over.set()
        shell.join()
    assert set(AuditEntry.objects.values_list("status", flat=True)) == {"done"}
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0
    assert "locked" not in said.read_text()
