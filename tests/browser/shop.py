"""A shop whose jobs a real RQ ran: one of each kind that a page can show, with the awkward texts of real life."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.urls import reverse
from redis import Redis

from jobs.models import JobType
from tests.support.pages import at
from tests.support.real_rq import RealRQ, wait_until

HOSTILE = '"><img src=x onerror=alert(1)><script>alert(1)</script>'
UNBROKEN = "ExportOfAllOrdersOfTheYear" * 10
LONG_ID = "export-of-all-orders-" + "9" * 180
STATES = ("queued", "started", "finished", "failed", "deferred", "scheduled", "canceled")


@dataclass(frozen=True)
class Shop:
    """Ids of jobs in the queue orders, by what is to be seen on their pages."""

    chained: str
    repeatable: str
    hostile: str
    unbroken: str
    killed: str
    retried: str
    deferred: str
    scheduled: str
    finished: str
    running: str
    queued: str

    @property
    def jobs(self) -> dict[str, str]:
        """Every job's page, by kind."""
        return {kind: at("job", "orders", job_id) for kind, job_id in vars(self).items()}

    @property
    def pages(self) -> dict[str, str]:
        """Every page that who may act in orders can open, by name."""
        plain = {name: at(name) for name in ("overview", "failed", "reviews", "queues", "workers", "observer")}
        lists = {f"orders {state}": at("queue-state", "orders", state) for state in STATES}
        other = {
            "failed in orders": f"{at('failed')}?connection=default&queue=orders&since=7d&show=all",
            "failed since when": f"{at('failed')}?since=yesterday",
            "operation": operation_page(self.killed),
            "lookup of nothing": f"{at('lookup')}?q=nothing",
            "confirm delete": at("job-delete", "orders", self.chained),
            "no such job": at("job", "orders", "nobody"),
            "no such page": "/nothing/here/",
        }
        return {**plain, **lists, **self.jobs, **other}


LEADS_PAGES = {
    "job types": "/job-types/",
    "a declared type": "/job-types/fx.boom_once/",
    "an undeclared type": "/job-types/fx.chained/",
    "access": "/access/",
}
"""What who declares and gives rights can open besides."""


def operation_page(job_id: str) -> str:
    """The page of the operation of a job that never heard of opsboard."""
    return reverse("jobs:operation", args=(f"rq:default:{job_id}",))


def declare() -> None:
    """What is declared in this shop."""
    JobType.objects.create(path="fx.boom_once", idempotency="repeatable")
    # Else its text, an argument of its own, would be hidden.
    JobType.objects.create(path="fx.say", idempotency="unsafe", id_parameters=["#1", "#2"])


def furnish(rq: RealRQ) -> Shop:
    """Fill the queue orders of this RQ. Its one worker is gone in the end, but was busy with `running` just now."""
    ended = {
        "finished": rq.enqueue("fx.ok", 4701, result_ttl=3600),
        "repeatable": rq.enqueue("fx.boom_once", 4702),
        "hostile": rq.enqueue("fx.say", 4703, HOSTILE),
        "unbroken": rq.enqueue(f"fx.{UNBROKEN}", 4704, job_id=LONG_ID),
        "retried": rq.enqueue("fx.declined", 4705, retry={"max": 1}),
        "killed": rq.enqueue("fx.horse_dies_after_effect", 4706),
        "chained": rq.enqueue("fx.chained", 4707),
    }
    rq.burst()
    waiting = {
        "deferred": rq.enqueue("fx.ok", 4708, depends_on=ended["chained"]),
        "scheduled": rq.enqueue("fx.ok", 4709, seconds=3600),
        "running": rq.enqueue("fx.slow", 4710, 600),
    }
    rq.start("orders", "mail", name="billing-worker-" + "0" * 40).wait_for_horse()
    wait_until(lambda: rq.evaluate("connection.llen('rq:queue:orders')") == 0, "the worker takes its job")
    rq.end_workers()
    return Shop(**ended, **waiting, queued=rq.enqueue("fx.ok", 4711))


def pack(client: Redis) -> dict[bytes, tuple[int, bytes]]:
    """Everything in the database, as it can be put back: key, time to live in ms (0: for good), value."""
    return {key: (max(client.pttl(key), 0), client.dump(key) or b"") for key in client.scan_iter(count=1000)}


def unpack(client: Redis, packed: Mapping[bytes, tuple[int, bytes]]) -> None:
    """Put it into an empty database."""
    with client.pipeline() as pipeline:
        for key, (milliseconds, value) in packed.items():
            pipeline.restore(key, milliseconds, value)
        pipeline.execute()
