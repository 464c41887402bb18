"""What a worker does with its connections to the database between two jobs."""

from __future__ import annotations

import time

import pytest
from django.db import connection, transaction

from jobs.safety.setup import close_old_connections

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def opened():
    """The connection as the last job has left it."""
    connection.ensure_connection()
    return connection.connection


def test_one_that_works_is_kept_whatever_django_would_do_after_a_request(opened):
    close_old_connections()
    assert connection.connection is opened


def test_one_past_its_age_is_closed(opened, monkeypatch):
    monkeypatch.setitem(connection.settings_dict, "CONN_MAX_AGE", 600)
    monkeypatch.setattr(connection, "close_at", time.monotonic() - 1)
    close_old_connections()
    assert connection.connection is None


def test_one_that_does_not_answer_is_closed(opened, monkeypatch):
    monkeypatch.setattr(connection, "is_usable", lambda: False)
    close_old_connections()
    assert connection.connection is None


def test_one_within_a_transaction_is_left_alone(opened, monkeypatch):
    monkeypatch.setattr(connection, "is_usable", lambda: False)
    with transaction.atomic():
        close_old_connections()
        assert connection.connection is opened
