"""A person who may export, orders to export, and the jobs' queues on the test's own Redis."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.contrib.auth.models import Permission, User
from rq import Queue, SimpleWorker

from exports.models import Order
from exports.tasks import build_export, mail_export
from jobs.broker.deliveries import declared_by


@pytest.fixture
def exporter(db) -> User:
    """Somebody who may ask for exports, and nothing else."""
    return exporter_named("clara")


def exporter_named(name: str) -> User:
    user = User.objects.create_user(name, email=f"{name}@shop.example")
    user.user_permissions.add(Permission.objects.get(content_type__app_label="exports", codename="request_export"))
    return user


@pytest.fixture
def make_orders(db):
    """make_orders(count): plain orders of 2025, an hour apart from its first moment on."""

    def make(count: int) -> None:
        first = datetime(2025, 1, 1, tzinfo=UTC)
        before = Order.objects.count()
        Order.objects.bulk_create(
            (
                Order(
                    number=f"O-{number:06}",
                    placed_at=first + timedelta(hours=number),
                    customer=f"Customer {number}",
                    note="",
                    status=Order.Status.PAID,
                    amount=Decimal(number) / 4,
                )
                for number in range(before, before + count)
            ),
            batch_size=2000,
        )

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
