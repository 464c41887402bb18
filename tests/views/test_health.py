"""/healthz, for supervisors."""

from __future__ import annotations

import pytest
from django.db import DatabaseError, connection
from django.test import Client

from jobs.broker import connections
from tests.support.pages import at
from tests.support.traffic import count_traffic

pytestmark = pytest.mark.django_db
HERE = at("healthz")


def test_it_answers_who_is_signed_out(client):
    answer = client.get(HERE)
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
    assert not answer.cookies


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
def test_it_takes_no_other_method_than_get(client, method):
    assert getattr(client, method)(HERE).status_code == 405


def test_a_database_that_does_not_answer_is_said_and_nothing_more(client, monkeypatch):
    def refuse():
        raise DatabaseError("password authentication failed for user s3cret")

    monkeypatch.setattr(connection, "cursor", refuse)
    answer = client.get(HERE)
    assert (answer.status_code, answer.json()) == (503, {"status": "no database"})


def test_it_asks_no_job_store(client, shop):
    with count_traffic(shop) as traffic:
        client.get(HERE)
    assert traffic.round_trips == 0


def test_a_job_store_that_is_gone_is_no_reason_to_restart_the_web_process(client, settings):
    settings.OPSBOARD_CONNECTIONS = {"default": {"url": "redis://127.0.0.1:1/0"}}
    connections.reset()
    assert client.get(HERE).status_code == 200


def test_it_is_kept_by_no_cache_and_says_nothing_of_jobs(client, shop):
    answer = client.get(HERE)
    assert answer.headers["Cache-Control"] == "no-store, private"
    assert answer.content == b'{"status": "ok"}'


def test_it_is_local_as_everything_is():
    assert Client(HTTP_HOST="opsboard.example").get(HERE).status_code == 400
