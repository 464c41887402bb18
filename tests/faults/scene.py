"""One job for each act, and how to tell afterwards what became of it: all of the act, nothing of it, or worse."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.contrib.auth.models import User
from redis import Redis, exceptions

from jobs.actions.guarded import Wish
from jobs.actions.jobs import ACTS
from jobs.broker.details import read_job
from jobs.domain.standing import Standing
from jobs.judging import case_of, declared_type, word_to_type
from jobs.models import Queue
from tests.support.keyspace import Dump, dump, load, snapshot
from tests.support.real_rq import RealRQ, wait_until

JOBS = {
    "retry_job": "to-retry",
    "delete_job": "to-delete",
    "cancel_job": "to-cancel",
    "stop_job": "to-stop",
    "enqueue_job": "to-enqueue",
    "remove_entry": "to-remove",
}
"""The job that each act is tried on."""
WORKER = "the-worker"
MARK = b"opsboard:act:"
LEASE_SECONDS = 600


@dataclass(frozen=True)
class Fate:
    """What Redis says of one job: its status ('' without a hash), and how often each list and registry names it."""

    status: str
    listed: dict[str, int]


AFTER = {
    "retry_job": Fate("queued", {"queue": 1}),
    "delete_job": Fate("", {}),
    "cancel_job": Fate("canceled", {"canceled": 1}),
    "stop_job": Fate("started", {"wip": 1}),
    "enqueue_job": Fate("queued", {"queue": 1}),
    "remove_entry": Fate("", {}),
}
"""What each act makes of its job. A stop leaves it to the worker, who is told."""


def furnish(rq: RealRQ, client: Redis) -> Dump:
    """Let a real RQ make the jobs, and return what Redis then holds; the worker is busy with the job to stop."""
    rq.enqueue("fx.boom", 1, job_id=JOBS["retry_job"])
    rq.enqueue("fx.boom", 2, job_id=JOBS["delete_job"])
    rq.burst()
    rq.enqueue("fx.slow", 3, 600, job_id=JOBS["stop_job"], job_timeout=3600)
    rq.start(name=WORKER).wait_for_horse()
    wait_until(lambda: fate(client, JOBS["stop_job"]) == AFTER["stop_job"], "the job runs")
    rq.end_workers()
    rq.enqueue("fx.ok", 4, job_id=JOBS["cancel_job"])
    rq.enqueue("fx.ok", 5, job_id=JOBS["enqueue_job"], seconds=3600)
    client.zadd("rq:failed:orders", {JOBS["remove_entry"]: 9999999999})
    return dump(client)


class Scene:
    """The jobs in one Redis, as they were before an act; `client` is not opsboard's own."""

    def __init__(self, client: Any, furniture: Dump) -> None:
        self.client = client
        load(client, furniture)
        _renew_the_leases(client)
        self._before = snapshot(client)
        self._stops, self._is_cut_off = 0, False
        self._worker = client.pubsub()
        self._worker.subscribe(f"rq:pubsub:{WORKER}")
        assert self._worker.get_message(timeout=10)["type"] == "subscribe"

    def became_of(self, verb: str) -> str:
        """`done`, or `untouched`. Fails for anything between and beside, be it in another job."""
        now, job_id = snapshot(self.client), JOBS[verb]
        marks = [key for key in now if key.startswith(MARK)]
        assert _others(now, job_id) == _others(self._before, job_id)
        stops = self._told_to_stop(is_expected=bool(marks) and verb == "stop_job")
        if marks:
            assert fate(self.client, job_id) == AFTER[verb]
            assert len(marks) == 1
            # A server that dies may take with it what it had not yet passed on.
            assert stops == int(verb == "stop_job") or (self._is_cut_off and stops == 0)
            return "done"
        assert now == self._before, "neither the old state nor the new one"
        assert stops == 0
        return "untouched"

    def close(self) -> None:
        self._worker.close()

    def _told_to_stop(self, *, is_expected: bool) -> int:
        """How many messages the worker got so far; it hears no more from a server that has died."""
        try:
            while message := self._worker.get_message(timeout=5 if is_expected and not self._stops else 0.02):
                self._stops += message["type"] == "message"
        except exceptions.ConnectionError:
            self._is_cut_off = True
        return self._stops


def fate(client: Any, job_id: str) -> Fate:
    """Where the job stands, by a Redis client."""
    places = {"queue": client.lrange("rq:queue:orders", 0, -1)}
    for registry in ("failed", "scheduled", "deferred", "canceled", "finished", "wip"):
        places[registry] = client.zrange(f"rq:{registry}:orders", 0, -1)
    listed = {place: sum(_is_of(member, job_id) for member in members) for place, members in places.items()}
    status = client.hget(f"rq:job:{job_id}", "status") or b""
    return Fate(status.decode(), {place: times for place, times in listed.items() if times})


def wish(verb: str, person: User, queue: Queue) -> Wish:
    """What a person asks for who has just looked at the job of that act, and confirms what is to be confirmed."""
    now = datetime.now(UTC)
    detail = read_job(queue.connection, queue.name, JOBS[verb], now=now)
    assert detail
    return Wish(
        actor=person,
        queue=queue,
        job_id=JOBS[verb],
        seen=detail.seen,
        confirmed=ACTS[verb]
        .decide(case_of(detail, now, declared=declared_type(detail.job.call), standing=Standing()))
        .code,
        typed=word_to_type(detail.job.call),
        now=now,
    )


def _renew_the_leases(client: Any) -> None:
    """As a worker does that is still busy: the jobs may have been made some minutes ago."""
    until, now = time.time() + LEASE_SECONDS, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    for key in ("rq:wip:orders", f"rq:executions:{JOBS['stop_job']}"):
        client.zadd(key, dict.fromkeys(client.zrange(key, 0, -1), until), xx=True)
    for key in (f"rq:worker:{WORKER}", f"rq:job:{JOBS['stop_job']}"):
        client.hset(key, "last_heartbeat", now)
        client.expire(key, LEASE_SECONDS)


def _others(found: dict[bytes, Any], job_id: str) -> dict[bytes, Any]:
    """The keyspace without this job, its places in lists, and the marks of acts."""
    kept = {}
    for key, (kind, value, _expires) in found.items():
        if job_id.encode() in key or key.startswith(MARK):
            continue
        if kind in ("list", "zset", "set"):
            value = [one for one in value if not _is_of(one[0] if kind == "zset" else one, job_id)]
        if value:
            kept[key] = sorted(value) if kind == "set" else value
    return kept


def _is_of(member: bytes, job_id: str) -> bool:
    # A run is listed as <job>:<execution>.
    return member.partition(b":")[0] == job_id.encode()
