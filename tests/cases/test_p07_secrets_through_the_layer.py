"""P07 where the job is an operation: what is no id is refused before it is stored, or is never repeated anywhere."""

from __future__ import annotations

import logging

import pytest
from django.db import connection
from django.urls import reverse
from rq import Queue, SimpleWorker
from rq.decorators import job as rq_job

from jobs.models import Operation
from jobs.safety import ArgumentsRefused, MisuseError, NotPerformed, Unsafe, once, operation
from tests.support.pages import at

pytestmark = pytest.mark.django_db(transaction=True)
NOTE = "CANARY1 for Mrs Miller"


@operation("remark:{order_id}", entity="order_id")
def remark(order_id: int, note: str) -> None:
    """Its second parameter is no id, and all its errors repeat it."""
    try:
        once("print", _refuse(note), safety=Unsafe())
    except NotPerformed as refusal:
        raise ValueError(f"could not note {note!r}") from refusal


def _refuse(note):
    def call():
        raise NotPerformed(f"the printer is out of paper, and {note} waits")

    return call


@pytest.fixture
def declared(redis_client):
    queue = Queue("orders", connection=redis_client, default_timeout=30)
    return rq_job(queue, connection=redis_client)(remark)


@pytest.fixture
def failed(declared, redis_client, caplog):
    """An operation that was submitted with such a value, and failed; the worker's log is in `caplog`."""
    caplog.set_level(logging.INFO)
    submitted = declared.submit(7, note=NOTE)
    SimpleWorker([Queue("orders", connection=redis_client)], connection=redis_client).work(burst=True)
    submitted.refresh_from_db()
    return submitted


@pytest.mark.parametrize("name", ["api_key", "PrivateKey", "passphrase", "card_token", "cvv"])
def test_p07_a_parameter_that_sounds_like_a_secret_is_refused_at_import(name):
    written = {}
    exec(f"def charge(order_id, {name}): ...", {"__name__": "shop.tasks"}, written)
    with pytest.raises(MisuseError, match=f"“{name}” sounds like a secret"):
        operation("charge:{order_id}")(written["charge"])


@pytest.mark.parametrize("value", [{"no": "CANARY3"}, ["CANARY3"], "CANARY3" * 40, b"CANARY3"], ids=type)
def test_p07_what_is_no_id_is_refused_before_anything_is_stored(declared, redis_client, value):
    with pytest.raises(ArgumentsRefused) as refusal:
        declared.submit(7, note=value)
    assert "CANARY" not in str(refusal.value)
    assert not Operation.objects.exists() and redis_client.keys() == []


def test_p07_rq_describes_it_by_its_operation_id(declared, redis_client):
    submitted = declared.submit(7, note=NOTE)
    assert redis_client.hget(f"rq:job:{submitted.job_id}", "description") == b"remark:7"


def test_p07_the_worker_logs_ids_only(failed, caplog):
    written = [str(record.__dict__) for record in caplog.get_records("setup")]
    assert any("remark:7" in line for line in written)
    assert [line for line in written if "CANARY" in line] == []


def test_p07_what_is_on_record_of_its_errors_does_not_repeat_it(failed):
    lines = [attempt.error_line for attempt in failed.attempts.all()]
    texts = [event.text for event in failed.events.all()]
    assert lines[0].startswith("could not note ") and "out of paper" in texts[0]
    assert "CANARY" not in str([failed.reason_text, *lines, *texts])


def test_p07_the_call_itself_is_kept_in_one_place_only(failed):
    """What it is delivered with again must be somewhere: a column that no page shows."""
    where = [name for name, value in every_value() if "CANARY" in value]
    assert set(where) <= {"opsboard_jobs_operation.args"}


def test_p07_no_page_shows_it_to_anybody(failed, superuser, sign_in, orders):
    browser = sign_in(superuser)
    pages = [at("failed"), at("job", "orders", failed.job_id), operation_page(failed)]
    shown = [browser.get(page) for page in pages]
    assert [answer.status_code for answer in shown] == [200] * len(pages)
    assert not [answer for answer in shown if "CANARY" in answer.content.decode().upper()]


def operation_page(failed):
    return reverse("jobs:operation", args=(failed.operation_id,))


def every_value():
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names():
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
            names = [column[0] for column in cursor.description]
            yield from (
                (f"{table}.{name}", str(one)) for row in cursor.fetchall() for name, one in zip(names, row, strict=True)
            )
