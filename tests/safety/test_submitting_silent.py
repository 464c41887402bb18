"""Submitting while the store is silent: whoever waits gets his answer, and what he was promised is done once."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator

import pytest
from django.db import transaction
from django.utils import timezone
from redis import Redis
from rq import Queue, SimpleWorker
from rq.decorators import job as rq_job

from jobs.broker import connections, deliveries
from jobs.models import Operation
from jobs.observer import operations
from opsboard.runner.valkey import EmbeddedValkey, free_port
from tests.safety import work
from tests.support.operations import due
from tests.support.real_rq import wait_until

pytestmark = pytest.mark.django_db(transaction=True)
PATIENT = 60
"""Seconds that the project's own client would wait for an answer."""


class Store:
    """A Valkey of its own that can be brought into trouble, and the project's queue there with the job `touch`."""

    def __init__(self, server: EmbeddedValkey) -> None:
        self.server, self.process = server, server.start()
        self.admin = Redis.from_url(server.url)
        self.use(server.password)

    def use(self, password: str) -> None:
        """The project's own client knows this password."""
        client = Redis(host="127.0.0.1", port=self.server.port, password=password, socket_timeout=PATIENT)
        self.queue = Queue("safe", connection=client, default_timeout=30)
        self.job = rq_job(self.queue, connection=client)(work.touch)

    def freeze(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def freeze_before_it_answers(self) -> None:
        """The job is sent; it is read once the store goes on."""
        push = self.queue.push_job_id

        def freeze_and_push(*args, **options):
            self.freeze()
            return push(*args, **options)

        # RQ's last step before it sends the job; the layer works with a copy of the queue.
        vars(self.queue)["push_job_id"] = freeze_and_push

    def refuse_writes(self) -> None:
        self.admin.client_pause(PATIENT * 1000, all=False)

    def end(self) -> None:
        """Nobody listens there any more."""
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait(10)

    def take_another_password(self) -> None:
        self.use("wrong")

    def mend(self) -> None:
        """It answers as if nothing had been."""
        self.process.send_signal(signal.SIGCONT)
        if self.process.poll() is not None:
            self.process = self.server.start()
        self.admin.client_unpause()
        self.use(self.server.password)

    def work(self) -> None:
        SimpleWorker([self.queue], connection=self.queue.connection).work(burst=True)


@pytest.fixture
def store(tmp_path, settings, monkeypatch) -> Iterator[Store]:
    made = Store(EmbeddedValkey(folder=tmp_path / "store", port=free_port(), password="right"))
    settings.OPSBOARD_CONNECTIONS = {"default": {"url": made.server.url}}
    connections.reset()
    # Ours are 1 s and 2 s; no test has to wait for so long.
    monkeypatch.setattr(connections, "CONNECT_SECONDS", 0.3)
    monkeypatch.setattr(connections, "READ_SECONDS", 0.3)
    yield made
    connections.reset()
    made.end()


def look():
    """How many the observer has queued again."""
    return operations.deliver("default", timezone.now())


def submit_in_time(job) -> Operation:
    """Submitted as a view does it; fails where that takes much longer than a page may."""
    began = time.monotonic()
    with transaction.atomic():
        operation = job.submit(5)
    assert time.monotonic() - began < PATIENT / 2
    return operation


TROUBLES = ["freeze", "freeze_before_it_answers", "refuse_writes", "end", "take_another_password"]


@pytest.mark.parametrize("trouble", TROUBLES)
def test_it_is_accepted_at_once_and_done_once_when_the_store_is_back(store, trouble):
    getattr(store, trouble)()
    operation = submit_in_time(store.job)
    operation.refresh_from_db()
    assert (operation.status, operation.due_at is not None) == ("accepted", True)

    store.mend()
    due(operation)
    look()
    store.work()
    operation.refresh_from_db()
    assert (operation.status, work.CALLS, look()) == ("completed", ["touch-5"], 0)


def test_what_was_sent_and_arrives_late_is_no_second_one(store):
    store.freeze_before_it_answers()
    operation = submit_in_time(store.job)
    store.mend()
    wait_until(store.queue.get_job_ids, "what was on its way arrives")
    due(operation)
    assert look() == 0
    operation.refresh_from_db()
    assert (operation.status, store.queue.job_ids) == ("queued", [operation.job_id])
    store.work()
    assert work.CALLS == ["touch-5"]


def test_nor_is_it_where_the_observer_was_faster(store):
    store.end()
    operation = submit_in_time(store.job)
    store.mend()
    due(operation)
    assert look() == 1
    declared = deliveries.declared_by(store.job.delay)
    assert declared is not None
    same = {"job_id": operation.job_id, "operation_id": operation.operation_id}
    deliveries.push(declared, operation.job_type, kwargs=operation.args, **same)
    assert store.queue.count == 2
    store.work()
    outcomes = [one.outcome for one in operation.attempts.all()]
    assert (work.CALLS, sorted(outcomes)) == (["touch-5"], ["completed", "skipped_duplicate"])


def test_a_second_click_meanwhile_meets_the_same_and_waits_for_nothing(store):
    store.freeze()
    assert submit_in_time(store.job) == submit_in_time(store.job)
    assert Operation.objects.count() == 1


def test_the_projects_own_queue_and_its_client_stay_as_they_were(store):
    queue, client = store.queue, store.queue.connection
    before = {**vars(queue)}, {**client.connection_pool.connection_kwargs}
    store.job.submit(5)
    assert queue.count == 1 and queue.connection is client
    assert ({**vars(queue)}, {**client.connection_pool.connection_kwargs}) == before
    assert client.connection_pool.connection_kwargs["socket_timeout"] == PATIENT
