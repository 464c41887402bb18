"""Where the RQ jobs of many operations are now, in a few round trips, and how their last runs ended.

What is said here of a job in no list was looked at twice, since a worker takes a job between any two looks.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

from jobs.broker import connections, fields
from jobs.broker.guarded import WatchingRedis
from jobs.broker.hashes import LIST_TEXT_BYTES, result
from jobs.broker.keys import Keys
from jobs.broker.records import Result
from jobs.broker.running import missing_from_queue
from jobs.broker.watching import certain

TAKING_SECONDS = 0.25
"""A worker of several queues pops a job (BLPOP), and says only then that it has it: meanwhile no list holds it."""
_KEPT_LONGER_SECONDS = 60
"""A run stands in its job's own list this much longer than its lease (RQ 2.12 and 3.0)."""
_HANDED_ON = frozenset({"deferred", "rate_limited", "ready_to_enqueue"})
"""States in which RQ itself queues the job later, when another job ends or a place is free."""
_ENDED = frozenset({"failed", "stopped", "finished", "canceled"})


class Place(StrEnum):
    """Where a job is, as far as it matters to who waits for it to run."""

    WAITING = "waiting"
    """It is in its queue, on its way to a worker, or RQ will queue it by itself."""
    SCHEDULED = "scheduled"
    """RQ's scheduler queues it at its time."""
    OVERDUE = "overdue"
    """It is scheduled, its time is over, and no scheduler has taken it up."""
    STARTED = "started"
    """A worker has begun it, and its lease lives."""
    CUT_OFF = "cut_off"
    """A worker had begun it, and gives no sign of life any more."""
    ENDED = "ended"
    """RQ has filed it: failed, stopped, finished or canceled."""
    NOWHERE = "nowhere"
    """Its data is gone, or no list holds it: no worker will ever find it."""


@dataclass(frozen=True, kw_only=True)
class Whereabouts:
    """Where one job is. `status`: RQ's own word, None when its data is gone; `due_at`: of a scheduled one."""

    place: Place
    status: str | None = None
    due_at: datetime | None = None


def find_jobs(connection: str, wanted: Sequence[tuple[str, str]], *, patience: timedelta) -> list[Whereabouts]:
    """Where each (queue, job id) is, in that order, by the store's own clock; no command for none.

    `patience`: how long after its time a scheduled job may still be left to the scheduler. Raises BrokerUnavailable.
    """
    if not wanted:
        return []
    looks = _look(connection, wanted)
    missing = _missing(connection, [one for one in looks if one.says_queued])
    if missing:
        time.sleep(TAKING_SECONDS)
    again = {one.key: one for one in _look(connection, [one.key for one in looks if one.key in missing])}
    return [_whereabouts(again.get(one.key, one), is_missing=one.key in missing, patience=patience) for one in looks]


def recorded_ends(connection: str, job_ids: Sequence[str]) -> list[Result | None]:
    """The newest result of each job that RQ has filed as failed or stopped; None of the others.

    One round trip, and a second when there are any. Raises BrokerUnavailable.
    """
    if not job_ids:
        return []
    keys = connections.get(connection).keys
    with connections.watching(connection) as client:
        pipeline = client.pipeline()
        for job_id in job_ids:
            pipeline.hget(keys.job(job_id), "status")
        statuses = [fields.text(certain(answer)) for answer in connections.fetch(pipeline)]
        filed = [job_id for job_id, status in zip(job_ids, statuses, strict=True) if status in ("failed", "stopped")]
        newest = _newest_results(client, keys, filed)
    return [newest.get(job_id) for job_id in job_ids]


# ----------------------------------------------------------------------------------------------------------------------


class _Look(NamedTuple):
    """What was read of one job, at one moment."""

    at: datetime
    queue: str
    job_id: str
    status: str | None
    is_taken: bool
    """On the list between a worker's pop and its start."""
    scheduled_for: datetime | None
    lease_until: datetime | None
    has_scheduler: bool

    @property
    def key(self) -> tuple[str, str]:
        return self.queue, self.job_id

    @property
    def has_live_lease(self) -> bool:
        return self.lease_until is not None and self.lease_until >= self.at

    @property
    def says_queued(self) -> bool:
        """It has to be in its queue, unless a worker is just beginning it."""
        return self.status == "queued" and not self.is_taken and not self.has_live_lease


def _look(connection: str, wanted: Sequence[tuple[str, str]]) -> list[_Look]:
    if not wanted:
        return []
    keys, queues = connections.get(connection).keys, list(dict.fromkeys(queue for queue, _id in wanted))
    with connections.watching(connection) as client:
        pipeline = client.pipeline()
        pipeline.time()
        for queue in queues:
            pipeline.exists(keys.scheduler_lock(queue))
        for queue, job_id in wanted:
            pipeline.hmget(keys.job(job_id), ("status", "origin"))
            pipeline.lpos(keys.intermediate(queue), job_id)
            pipeline.zscore(keys.registry("scheduled", queue), job_id)
            pipeline.zrange(keys.executions(job_id), -1, -1, withscores=True)
        clock, *answers = connections.fetch(pipeline)
    at = fields.server_time(certain(clock))
    locks = {queue: bool(certain(answer, 0)) for queue, answer in zip(queues, answers, strict=False)}
    rest = iter(answers[len(queues) :])
    return [_looked_at(at, queue, job_id, locks[queue], [next(rest) for _ in range(4)]) for queue, job_id in wanted]


def _looked_at(at: datetime, queue: str, job_id: str, has_scheduler: bool, answers: Sequence[Any]) -> _Look:
    status, origin = certain(answers[0], [None, None])
    is_at_home = origin is None or fields.text(origin) == queue
    newest = certain(answers[3], [])
    return _Look(
        at=at,
        queue=queue,
        job_id=job_id,
        status=fields.optional_text(status) if is_at_home else None,
        is_taken=certain(answers[1]) is not None,
        scheduled_for=fields.epoch(certain(answers[2])),
        lease_until=fields.epoch(newest[0][1] - _KEPT_LONGER_SECONDS) if newest else None,
        has_scheduler=has_scheduler,
    )


def _missing(connection: str, looks: Iterable[_Look]) -> set[tuple[str, str]]:
    """Those that their queue does not hold; of a queue that is too long to say so, none."""
    by_queue: dict[str, list[str]] = {}
    for one in looks:
        by_queue.setdefault(one.queue, []).append(one.job_id)
    return {
        (queue, job_id)
        for queue, job_ids in by_queue.items()
        for job_id in missing_from_queue(connection, queue, job_ids) or ()
    }


def _whereabouts(look: _Look, *, is_missing: bool, patience: timedelta) -> Whereabouts:
    if look.status in _ENDED:
        return Whereabouts(place=Place.ENDED, status=look.status)
    if look.status == "scheduled" and look.scheduled_for is not None:
        return _scheduled(look, look.scheduled_for, patience)
    return Whereabouts(place=_under_way(look, is_missing=is_missing), status=look.status)


def _scheduled(look: _Look, due_at: datetime, patience: timedelta) -> Whereabouts:
    allowed = patience if look.has_scheduler else timedelta()
    place = Place.SCHEDULED if due_at + allowed >= look.at else Place.OVERDUE
    return Whereabouts(place=place, status=look.status, due_at=due_at)


def _under_way(look: _Look, *, is_missing: bool) -> Place:
    if look.has_live_lease:
        return Place.STARTED
    if look.status == "started":
        return Place.CUT_OFF
    if look.status in _HANDED_ON or look.is_taken:
        return Place.WAITING
    return Place.WAITING if look.status == "queued" and not is_missing else Place.NOWHERE


def _newest_results(client: WatchingRedis, keys: Keys, job_ids: Sequence[str]) -> dict[str, Result]:
    if not job_ids:
        return {}
    pipeline = client.pipeline()
    for job_id in job_ids:
        pipeline.xrevrange(keys.results(job_id), count=1)
    answers = [certain(answer, []) for answer in connections.fetch(pipeline)]
    return {
        job_id: result(*entries[0], text_bytes=LIST_TEXT_BYTES)
        for job_id, entries in zip(job_ids, answers, strict=True)
        if entries
    }
