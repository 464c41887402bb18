"""P23: the shipped worker is stopped, killed and started again in the middle of an export."""

from __future__ import annotations

import re
import signal
import time

import pytest

from exports.requesting import request_export
from jobs.models import Review
from tests.exports.harm import has_happened, plan
from tests.exports.processes import IN_THE_END, a_harmed_site, has_gone, kill, queues_of
from tests.exports.shop import a_person, outcomes, read, stock
from tests.support import database
from tests.support.real_rq import wait_until
from tests.support.units import worker_command

pytestmark = pytest.mark.django_db(transaction=True)
ORDERS, SLOW = 6000, "10"
"""An export of ten minutes, with a hundred seconds between two stages: too long for any of these tests."""
SECONDS = 60


@pytest.fixture
def site(tmp_path):
    with a_harmed_site(tmp_path, database.url()) as site:
        site.observer()
        yield site


@pytest.fixture
def start(site, tmp_path):
    """Start the worker as its unit does: slow, or as fast as it can."""
    command, environ = worker_command(tmp_path / "units")
    # Its folders are of a server.
    environ = {name: value for name, value in environ.items() if not value.startswith("/")}

    def start_it(*, slow=False):
        return site.worker(command, **environ, OPSBOARD_EXPORTS_ROWS_PER_SECOND=SLOW if slow else "0")

    return start_it


@pytest.fixture
def export_id(site):
    stock(ORDERS)
    with queues_of(site):
        return request_export(a_person(), "2025", "").export.pk


def begun(site, worker):
    """The job's process, once it has written its first stage and waits for the next."""
    wait_until(lambda: any(path.stat().st_size for path in site.files.iterdir()), "the first rows are written", SECONDS)
    assert worker.horse is not None, worker.said.read_text()
    return worker.horse


def wait_for_ready(export_id):
    wait_until(lambda: read(export_id).operation.status in IN_THE_END, "it is at rest", SECONDS)
    assert read(export_id).operation.status == "completed"


def require_one_file_and_one_mail(site, export_id):
    assert site.names() == [f"export-{export_id}.csv"]
    assert (site.files / site.names()[0]).stat().st_size == read(export_id).size
    wait_until(lambda: read(export_id).mail_operation.status in IN_THE_END, "the mail is sent", SECONDS)
    assert site.mails_about(export_id) == 1


def test_p23_a_stop_ends_the_export_at_a_stage_and_the_next_worker_makes_it(site, start, export_id):
    worker = start(slow=True)
    horse = begun(site, worker)
    assert worker.stop(SECONDS) == 0
    assert has_gone(horse)
    assert (read(export_id).operation.status, outcomes(read(export_id).operation)) == ("retry_wait", ["retrying"])
    assert site.names() == []

    start()
    wait_for_ready(export_id)
    assert outcomes(read(export_id).operation) == ["retrying", "completed"]
    require_one_file_and_one_mail(site, export_id)


def test_p23_a_second_stop_kills_the_job_that_does_not_hear_and_the_next_worker_makes_it(site, start, export_id):
    worker = start(slow=True)
    horse = begun(site, worker)
    kill(horse, number=signal.SIGSTOP)
    worker.process.terminate()
    # RQ takes a second one within a second for the same.
    time.sleep(1.5)
    assert worker.is_running
    assert worker.stop(SECONDS) == 0
    assert has_gone(horse)

    start()
    wait_for_ready(export_id)
    assert outcomes(read(export_id).operation) == ["lost", "completed"]
    require_one_file_and_one_mail(site, export_id)


def test_p23_a_signal_to_the_whole_group_would_kill_the_job_at_once(site, start, export_id):
    """What systemd does by default (KillMode=control-group), and why the unit says otherwise."""
    worker = start(slow=True)
    horse = begun(site, worker)
    kill(worker.pid, horse, number=signal.SIGTERM)
    worker.process.wait(SECONDS)
    wait_until(lambda: outcomes(read(export_id).operation) == ["lost"], "the observer takes it over", SECONDS)
    assert [name.endswith(".part") for name in site.names()] == [True]


def test_p23_after_a_kill_the_worker_comes_up_at_once_the_export_goes_on_and_a_mail_in_doubt_is_asked_about(
    site, start, export_id
):
    harm = site.folder.parent / "harm"
    plan(harm, export_id, "after_intent.kill_both", job="mail_export")
    worker = start(slow=True)
    horse = begun(site, worker)
    kill(worker.pid, horse)
    second = start()
    wait_for_ready(export_id)
    assert outcomes(read(export_id).operation) == ["lost", "completed"]

    wait_until(lambda: has_happened(harm, export_id, "mail_export"), "the mail is begun", SECONDS)
    second.process.wait(SECONDS)
    third = start()
    wait_until(lambda: read(export_id).mail_operation.status == "unknown", "nobody knows of the mail", SECONDS)
    assert Review.objects.get(closed_at=None).operation == read(export_id).mail_operation
    # A third worker and the observer leave it alone.
    time.sleep(2.5)
    assert third.is_running
    assert outcomes(read(export_id).mail_operation) == ["lost"]
    assert site.mails_about(export_id) == 0
    assert site.names() == [f"export-{export_id}.csv"]


def test_p23_a_restart_of_the_web_is_no_concern_of_the_job(site, start, export_id):
    web, worker = site.web(), start(slow=True)
    horse = begun(site, worker)
    web.stop()
    site.web()
    assert worker.horse == horse
    assert outcomes(read(export_id).operation) == [""]


def test_p23_a_killed_worker_is_busy_on_no_page(site, start, export_id, superuser):
    site.web()
    browser = site.browser_of(superuser)
    worker = start(slow=True)
    horse = begun(site, worker)
    assert worker_states(site, browser) == ["busy"]
    kill(worker.pid, horse)
    start()
    wait_until(lambda: outcomes(read(export_id).operation)[0] == "lost", "the observer takes it over", SECONDS)
    assert "no sign of life" in worker_states(site, browser)
    wait_for_ready(export_id)
    wait_until(lambda: worker_states(site, browser) == ["idle", "no sign of life"], "the next one is idle", SECONDS)


def worker_states(site, browser):
    """What the page of the workers says of each."""
    rows = site.look(browser, "/workers/").text.split("<tr data-key=")[1:]
    return sorted(re.findall(r'class="state [^"]*">([^<]*)<', row)[0] for row in rows)
