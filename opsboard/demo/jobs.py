"""Which jobs the shop enqueues, and how long to wait until its worker has met them all."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from redis import Redis
from rq import Queue, Retry
from rq.command import send_stop_job_command
from rq.exceptions import InvalidJobOperation
from rq.job import Job

LOADED = "opsboard:demo:loaded"
"""Set once everything has been enqueued, so that a later start adds nothing."""

TASKS = "opsboard.demo.tasks"
KEPT_SECONDS = 7 * 86400
SETTLED = frozenset({"finished", "failed", "stopped", "deferred", "canceled"})


@dataclass(frozen=True, kw_only=True)
class Order:
    """One job to enqueue; `function` is named within the tasks, or by its whole path."""

    queue: str
    function: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    after: Order | None = None

    @property
    def path(self) -> str:
        return self.function if "." in self.function else f"{TASKS}.{self.function}"

    @property
    def job_id(self) -> str:
        """The same at each start, so that a first start that was broken off can be taken up."""
        return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{self.path}{self.args}"))


STOPPED = Order(queue="default", function="rebuild_search_index", args=(3,), options={"job_timeout": 900})
DECLINED = Order(queue="payments", function="charge_card", args=(4703,))
KILLED = tuple(Order(queue="payments", function="charge_card", args=(number,)) for number in (4711, 4712))
"""The process of each is killed: of the one after the bank has charged the card, of the other before."""
OPERATIONS = (
    Order(queue="payments", function="opsboard.demo.operations.refund_order", args=(4702,)),
    Order(queue="payments", function="opsboard.demo.operations.book_parcel", args=(4701,)),
)
"""The process of each is killed after its effect too; what is on record of that is what tells them apart."""
ORDERS = (
    Order(queue="default", function="sync_stock", args=(87,)),
    Order(queue="default", function="sync_stock", args=(88,), options={"retry": Retry(max=2)}),
    Order(queue="default", function="opsboard.demo.retired.send_fax", args=(4702,)),
    Order(queue="mail", function="send_invoice", args=(4701,), kwargs={"recipient": "ada@shop.example"}),
    Order(queue="mail", function="send_invoice", args=(4702,), kwargs={"recipient": "grace.hopper(at)shop.example"}),
    Order(queue="mail", function="send_invoice", args=(4790,), kwargs={"recipient": "alan@shop.example"}),
    Order(queue="mail", function="remind_customer", args=(512,)),
    Order(queue="payments", function="charge_card", args=(4701,)),
    *KILLED,
    *OPERATIONS,
    Order(queue="payments", function="charge_card", args=(4718,)),
    DECLINED,
    Order(queue="payments", function="ship_order", args=(4703,), after=DECLINED),
    Order(queue="reports", function="build_report", args=(30,)),
    Order(queue="reports", function="build_report", args=(31,)),
    Order(queue="reports", function="export_bookings", args=(2025,), options={"job_timeout": 2}),
    STOPPED,
)
IDLE = tuple(Order(queue="archive", function="archive_order", args=(number,)) for number in (3901, 3902, 3903))
FORGOTTEN = Order(queue="default", function="make_thumbnail", args=(87,), options={"failure_ttl": 60})
"""Redis forgets it while somebody looks around, and what the observer has read of it stays."""
TOMORROW = Order(queue="reports", function="build_report", args=(99,))


def load_jobs(url: str, *, seconds: float) -> None:
    """Enqueue what is not there yet, once, and wait until the worker has got past the one that has to be stopped."""
    with Redis.from_url(url) as connection:
        if connection.exists(LOADED):
            return
        for order in (FORGOTTEN, *ORDERS, *IDLE, TOMORROW):
            if not Job.exists(order.job_id, connection):
                _enqueue(connection, order)
        wait_until(lambda: _stop(connection), time.monotonic() + seconds)


def have_run(url: str, *, seconds: float) -> bool:
    """Whether the worker has met all of them within `seconds`, or had at an earlier start."""
    with Redis.from_url(url) as connection:
        return bool(connection.exists(LOADED)) or _have_run(connection, time.monotonic() + seconds)


def wait_until(condition: Callable[[], bool], deadline: float) -> bool:
    """Whether it came true before the deadline, a time of the monotonic clock."""
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.2)
    return True


def _enqueue(connection: Redis, order: Order) -> None:
    place = Queue(order.queue, connection=connection)
    options = {"job_id": order.job_id, "result_ttl": KEPT_SECONDS, **order.options}
    if order is TOMORROW:
        at = (datetime.now(UTC) + timedelta(days=1)).replace(hour=7, minute=0, second=0, microsecond=0)
        place.enqueue_at(at, order.path, *order.args, **options)
    else:
        parent = order.after.job_id if order.after else None
        place.enqueue(order.path, args=order.args, kwargs=dict(order.kwargs), depends_on=parent, **options)


def _have_run(connection: Redis, deadline: float) -> bool:
    stopped = wait_until(lambda: _stop(connection), deadline)
    settled = wait_until(lambda: all(_status(connection, order) in SETTLED for order in ORDERS), deadline)
    if stopped and settled:
        connection.set(LOADED, 1)
    return stopped and settled


def _stop(connection: Redis) -> bool:
    """Stop the job that is there to be stopped, as soon as it runs; True once it has ended."""
    status = _status(connection, STOPPED)
    if status == "started":
        try:
            send_stop_job_command(connection, STOPPED.job_id)
        except InvalidJobOperation:
            # Between its start and its worker's note of it.
            return False
    return status in SETTLED


def _status(connection: Redis, order: Order) -> str:
    status = connection.hget(f"rq:job:{order.job_id}", "status")
    return status.decode() if isinstance(status, bytes) else ""
