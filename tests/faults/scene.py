"""One job for each act, and how to tell afterwards what became of it: all of the act, nothing of it, or worse."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.contrib.auth.models import User
from redis import Redis

from jobs.actions.guarded import Wish
from jobs.broker.details import read_job
from jobs.models import Queue
from tests.support.keyspace import Dump, dump, load, snapshot
from tests.support.real_rq import RealRQ

JOBS = {
    "retry_job": "to-retry",
    "delete_job": "to-delete",
}
"""The job that each act is tried on."""
MARK = b"opsboard:act:"


@dataclass(frozen=True)
class Fate:
    """What Redis says of one job: its status ('' without a hash), and how often each list and registry names it."""

    status: str
    listed: dict[str, int]


AFTER = {
    "retry_job": Fate("queued", {"queue": 1}),
    "delete_job": Fate("", {}),
}
"""What each act makes of its job."""


def furnish(rq: RealRQ, client: Redis) -> Dump:
    """Let a real RQ make the jobs, and return what Redis then holds."""
    rq.enqueue("fx.boom", 1, job_id=JOBS["retry_job"])
    rq.enqueue("fx.boom", 2, job_id=JOBS["delete_job"])
    rq.burst()
    return dump(client)


class Scene:
    """The jobs in one Redis, as they were before an act; `client` is not opsboard's own."""

    def __init__(self, client: Redis, furniture: Dump) -> None:
        self.client = client
        load(client, furniture)
        self._before = snapshot(client)

    def became_of(self, verb: str) -> str:
        """`done`, or `untouched`. Fails for anything between and beside, be it in another job."""
        now, job_id = snapshot(self.client), JOBS[verb]
        marks = [key for key in now if key.startswith(MARK)]
        assert _others(now, job_id) == _others(self._before, job_id)
        if fate(self.client, job_id) == AFTER[verb]:
            assert len(marks) == 1, "an act that is carried out leaves its mark"
            return "done"
        assert now == self._before, "neither the old state nor the new one"
        return "untouched"


def fate(client: Any, job_id: str) -> Fate:
    """Where the job stands, by a Redis client."""
    places = {"queue": client.lrange("rq:queue:orders", 0, -1)}
    for registry in ("failed", "scheduled", "deferred", "canceled", "finished", "wip"):
        places[registry] = client.zrange(f"rq:{registry}:orders", 0, -1)
    listed = {place: sum(_is_of(member, job_id) for member in members) for place, members in places.items()}
    status = client.hget(f"rq:job:{job_id}", "status") or b""
    return Fate(status.decode(), {place: times for place, times in listed.items() if times})


def wish(verb: str, person: User, queue: Queue) -> Wish:
    """What a person asks for who has just looked at the job of that act."""
    now = datetime.now(UTC)
    detail = read_job(queue.connection, queue.name, JOBS[verb], now=now)
    assert detail
    return Wish(actor=person, queue=queue, job_id=JOBS[verb], seen=detail.seen, now=now)


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
