"""Where a project reads from replicas, the ledger is read where it is written: nothing is decided from what lags."""

from __future__ import annotations

import pytest
from django.db import connections

from jobs.domain.verdicts import Verdict
from jobs.ledger import attempts, effects, reviews
from jobs.models import Effect, Operation, Review
from tests.support.op_ledger import START, begun, claimed, fail, plan, resolve, taken_over

pytestmark = pytest.mark.django_db

EMPTY = {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:", "OPTIONS": {}}


class ReadsElsewhere:
    """As projects have it that spread their reading; this replica lags so far that it has no tables yet."""

    def db_for_read(self, model, **hints):
        return "replica" if model._meta.app_label == "opsboard_jobs" else None

    def db_for_write(self, model, **hints):
        return "default"


@pytest.fixture(autouse=True)
def replicas(settings, monkeypatch):
    monkeypatch.setitem(connections.settings, "replica", connections["default"].settings_dict | EMPTY)
    settings.DATABASE_ROUTERS = [ReadsElsewhere()]
    yield
    connections["replica"].close()
    del connections["replica"]


def test_a_whole_operation_is_written_without_a_look_at_a_replica():
    operation, attempt, effect = begun("keyed")
    fail(operation, attempt)
    operation, attempt = claimed()
    again = effects.begin(operation, attempt, plan("keyed"))
    effects.complete(again, attempt, external_id="ch_1")
    assert attempts.complete(operation, attempt)
    operation.refresh_from_db()
    assert (operation.status, effect.operation.pk, Effect.objects.get().begun_by) == (
        "completed",
        operation.pk,
        attempt,
    )


def test_so_is_a_review_and_what_follows_from_its_answer():
    operation, attempt, effect = begun("unsafe")
    taken_over(operation)
    resolve(Review.objects.get(), Verdict.DID_NOT_HAPPEN, START)
    effects.complete(effect, attempt, external_id="ch_1")
    assert reviews.open_reviews().count() == 0
    assert [one.status for one in Operation.objects.get().effects.all()] == ["completed"]
