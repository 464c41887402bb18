"""The cabinet asks SQL and the disk alone, changes nothing while it is looked at, and prints no missing name."""

from __future__ import annotations

import copy
from itertools import product

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from exports.models import Export
from jobs.broker import connections
from jobs.models import Operation
from tests.exports.laid import lay_export, lay_mail, lay_ready
from tests.support.keyspace import snapshot
from tests.support.traffic import count_traffic
from tests.templates.test_names_exist import Missing

pytestmark = pytest.mark.django_db

OPENINGS = [{}, {"hx-request": "true"}, {"accept": "application/json"}]
STATES = [*Operation.Status.values]


@pytest.fixture(autouse=True)
def laid(exporter, settings, tmp_path) -> list[str]:
    """The addresses of one export in each state, and of the list."""
    settings.OPSBOARD_EXPORTS_DIR = tmp_path / "exports"
    lay_export(exporter, "running", done=1, total=2)
    for status in set(STATES) - {"completed"}:
        lay_export(exporter, status)
    for status, effect in [("completed", "completed"), ("queued", ""), ("failed", "released"), ("unknown", "unknown")]:
        lay_mail(lay_ready(exporter, order_status="paid"), status, effect)
    lay_ready(exporter)
    numbers = Export.objects.values_list("pk", flat=True)
    return ["/exports/", *(f"/exports/{pk}/" for pk in numbers), *(f"/exports/{pk}/file/" for pk in numbers)]


def open_all(browser, addresses) -> list[int]:
    statuses = []
    for address, headers, method in product(addresses, OPENINGS, ("get", "head")):
        answer = getattr(browser, method)(address, headers=headers)
        b"".join(answer)
        statuses.append(answer.status_code)
    return statuses


def test_looking_sends_not_one_command_to_redis(redis_client, exporter, sign_in, laid):
    browser = sign_in(exporter, watched=False)
    redis_client.set("rq:job:1", "x")
    before = snapshot(redis_client)
    with count_traffic(redis_client) as traffic:
        statuses = open_all(browser, laid)
    assert set(statuses) == {200, 404, 409}
    assert (traffic.commands, traffic.round_trips, traffic.connections) == (0, 0, 0)
    assert snapshot(redis_client) == before


def test_a_page_that_does_ask_redis_would_be_noticed(redis_client, superuser, sign_in):
    browser = sign_in(superuser, watched=False)
    with count_traffic(redis_client) as traffic:
        browser.get("/queues/")
    assert traffic.commands


def test_looking_works_where_no_store_is_configured_to_answer(exporter, sign_in, settings, laid):
    settings.OPSBOARD_CONNECTIONS = {"default": {"url": "redis://127.0.0.1:1/0"}}
    connections.reset()
    assert set(open_all(sign_in(exporter, watched=False), laid)) == {200, 404, 409}


def test_looking_writes_nothing(exporter, sign_in, laid):
    browser = sign_in(exporter, watched=False)
    with CaptureQueriesContext(connection) as queries:
        open_all(browser, laid)
    assert not [one["sql"] for one in queries if one["sql"].split()[0] in ("INSERT", "UPDATE", "DELETE")]


def test_no_page_prints_a_name_that_does_not_exist(exporter, sign_in, settings, laid):
    templates = copy.deepcopy(settings.TEMPLATES)
    templates[0]["OPTIONS"]["string_if_invalid"] = Missing("%s")
    settings.TEMPLATES = templates
    browser = sign_in(exporter, watched=False)
    assert set(open_all(browser, laid)) == {200, 404, 409}
    assert browser.post("/exports/", {"period": "x"}).status_code == 400
    assert browser.post("/exports/", {"period": "2031"}).status_code == 429
