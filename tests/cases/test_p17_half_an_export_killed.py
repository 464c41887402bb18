"""P17 with real processes: the worker is killed in the middle of the file, or can't write it to its end."""

from __future__ import annotations

import resource

import pytest

from exports.models import Order
from exports.requesting import request_export
from exports.states import looking_into_it
from jobs.models import Operation
from tests.exports.harm import has_happened, plan
from tests.exports.processes import IN_THE_END, a_harmed_site, queues_of
from tests.exports.shop import a_person, outcomes, read, stock
from tests.support import database
from tests.support.real_rq import wait_until

pytestmark = pytest.mark.django_db(transaction=True)
ORDERS = 3500
SECONDS = 60
MIB = 1024 * 1024


@pytest.fixture
def site(tmp_path):
    with a_harmed_site(tmp_path, database.url()) as site:
        yield site


@pytest.fixture
def clara(db):
    return a_person()


@pytest.fixture
def ask(site, clara):
    """What the owner is told: ask(path) gives status and text."""
    site.web()
    browser = site.browser_of(clara)

    def ask_it(path):
        answer = site.look(browser, path)
        return answer.status, answer.text

    return ask_it


def test_p17_after_a_kill_in_the_middle_there_is_no_file_and_the_repeat_leaves_nothing_over(site, clara, ask):
    stock(ORDERS)
    with queues_of(site):
        export_id = request_export(clara, "2025", "").export.pk
    plan(site.folder.parent / "harm", export_id, "stage_2.kill_both")
    page, file = f"/exports/{export_id}/", f"/exports/{export_id}/file/"
    site.worker().process.wait(SECONDS)
    assert has_happened(site.folder.parent / "harm", export_id)
    assert [name.endswith(".part") for name in site.names()] == [True]
    assert ask(file)[0] == 409
    status, text = ask(page)
    assert (status, ">running<" in text) == (200, True)

    site.observer()
    site.worker()
    wait_until(lambda: read(export_id).operation.status in IN_THE_END, "it is made again", SECONDS)
    assert outcomes(read(export_id).operation) == ["lost", "completed"]
    assert site.names() == [f"export-{export_id}.csv"]
    status, content = ask(file)
    assert (status, len(content.encode())) == (200, read(export_id).size)
    assert content.count("\r\n") - 1 == ORDERS


def test_p17_what_can_never_be_written_to_its_end_fails_without_a_file_and_its_owner_is_told(site, clara, ask):
    stock(ORDERS)
    # Twice as large in the file as in the database, which a worker on SQLite has to write to as well.
    Order.objects.update(note='"' * 2000)
    with queues_of(site):
        export_id = request_export(clara, "2025", "").export.pk
    Operation.objects.update(policy={"max_attempts": 5, "base": 0})
    site.observer()
    site.worker(limit=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (11 * MIB, 11 * MIB)))
    wait_until(lambda: read(export_id).operation.status in IN_THE_END, "it has failed", SECONDS)

    operation = read(export_id).operation
    assert (operation.status, outcomes(operation)) == ("failed", ["retrying"] * 4 + ["failed"])
    assert {one.error_class for one in operation.attempts.all()} == {"OSError"}
    assert site.names() == []
    status, text = ask(f"/exports/{export_id}/")
    assert (status, looking_into_it() in text) == (200, True)
    assert ask(f"/exports/{export_id}/file/")[0] == 404
    assert read(export_id).mail_operation is None
