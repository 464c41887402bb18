"""A person who may export, orders to export, and the jobs' queues on the test's own Redis."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from rq import Queue, SimpleWorker

from exports.models import Order
from exports.tasks import build_export, mail_export
from jobs.broker.deliveries import declared_by
from tests.exports.shop import a_person, stock


@pytest.fixture
def exporter(db) -> User:
    """Somebody who may ask for exports, and nothing else."""
    return a_person()


@pytest.fixture
def make_orders(db):
    """make_orders(count): plain orders of 2025, an hour apart from its first moment on."""

    def make(count: int) -> None:
        stock(count, before=Order.objects.count(), apart=timedelta(hours=1))

    return make


@pytest.fixture
def queues(redis_client, settings, tmp_path, monkeypatch) -> tuple[Queue, ...]:
    """The queues of the exports' jobs on the test's Redis, the files in a folder of the test's."""
    settings.OPSBOARD_EXPORTS_DIR = tmp_path / "exports"
    declared = [declared_by(one.delay) for one in (build_export, mail_export)]
    found = tuple(one.queue for one in declared if one is not None)
    for queue in found:
        monkeypatch.setattr(queue, "connection", redis_client)
    return found


@pytest.fixture
def run_jobs(queues):
    """Run what is queued until nothing is left, in this process."""

    def run() -> None:
        SimpleWorker(list(queues), connection=queues[0].connection).work(burst=True)

    return run
