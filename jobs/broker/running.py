"""Runs that nobody may hear of any more, and jobs that no list holds: where to look for results that nobody knows.

What is found here is only a suspicion; read_jobs and the rules say what it is. No command holds Redis for longer than a
millisecond or two, however many jobs there are.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from jobs.broker import connections, fields
from jobs.broker.guarded import WatchingRedis
from jobs.broker.keys import Keys
from jobs.broker.watching import SCAN_COUNT, certain, scanned

RUNS_LOOKED_AT = 1_000
"""Of all queues together, those whose lease ends first."""
QUEUE_PART = 1_000
QUEUE_READ = 200_000
"""In a longer queue ids are not looked for beyond so many."""
_TRACE = ("status", "origin", "enqueued_at", "started_at")
_UNDER_WAY = frozenset({b"queued", b"started", b"canceled"})
"""States in which a job may be mislaid, or its run go on unheard of; in all others nothing is to be waited for."""
_GLOB = re.compile(r"([\\*?\[\]^-])")


@dataclass(frozen=True, kw_only=True)
class StartedRun:
    """One entry of a queue's started registry. `entry` names the run, by the job's id and its own."""

    queue: str
    entry: bytes
    job_id: str
    lease_until: float
    has_worker: bool
    """The worker that the job names lives, and goes by that name since before it began the job."""


class Runs(NamedTuple):
    """The runs on record, soonest lease first, at the moment `at` of the store's own clock."""

    at: datetime
    runs: Sequence[StartedRun]
    left_out: int
    """How many more there are that were not looked at."""


@dataclass(frozen=True, kw_only=True)
class Trace:
    """The little that is read of a job at first: enough to see whether it may be in no list, or go on unheard of."""

    job_id: str
    status: str
    queue: str
    enqueued_at: datetime | None
    started_at: datetime | None
    token: str
    """Changes when the job is queued or begun again."""


def started_runs(connection: str, queues: Sequence[str]) -> Runs:
    """The runs that are on record in these queues, in three round trips. Raises BrokerUnavailable."""
    keys = connections.get(connection).keys
    with connections.watching(connection) as client:
        at, listed, total = _read_entries(client, keys, queues)
        named = [_Entry(queue, member, score) for queue, member, score in listed if _job_id(member)]
        jobs = _read_hashes(client, [(keys.job(one.job_id), ("worker_name", "started_at")) for one in named])
        names = [fields.optional_text(name) for name, _started in jobs]
        workers = _read_hashes(client, [(keys.worker(name or ""), ("birth", "death")) for name in names])
    runs = [
        StartedRun(
            queue=one.queue,
            entry=one.member,
            job_id=one.job_id,
            lease_until=one.score,
            has_worker=name is None or _is_alive(life, fields.time(started)),
        )
        for one, name, (_name, started), life in zip(named, names, jobs, workers, strict=True)
    ]
    return Runs(at, runs, total - len(listed))


def store_time(connection: str) -> datetime:
    """The store's own clock, by which leases count, asked as one who reads (commands.server_time: as one who acts).

    Raises BrokerUnavailable.
    """
    with connections.watching(connection) as client:
        pipeline = client.pipeline()
        pipeline.time()
        return fields.server_time(certain(connections.fetch(pipeline)[0]))


class _Entry(NamedTuple):
    queue: str
    member: bytes
    score: float

    @property
    def job_id(self) -> str:
        return _job_id(self.member)


def _read_entries(
    client: WatchingRedis, keys: Keys, queues: Sequence[str]
) -> tuple[datetime, list[tuple[str, bytes, float]], int]:
    pipeline = client.pipeline()
    pipeline.time()
    for queue in queues:
        pipeline.zrange(keys.registry("started", queue), 0, RUNS_LOOKED_AT - 1, withscores=True)
        pipeline.zcard(keys.registry("started", queue))
    time, *answers = connections.fetch(pipeline)
    found = [
        (queue, member, score)
        for queue, answer in zip(queues, answers[::2], strict=True)
        for member, score in certain(answer, [])
    ]
    found.sort(key=lambda one: one[2])
    return fields.server_time(certain(time)), found[:RUNS_LOOKED_AT], sum(certain(total, 0) for total in answers[1::2])


def _job_id(entry: bytes) -> str:
    """The job of an entry `<job>:<run>`; '' of one that RQ would not write."""
    try:
        return entry.rpartition(b":")[0].decode()
    except UnicodeDecodeError:
        return ""


def _read_hashes(client: WatchingRedis, wanted: Iterable[tuple[str, tuple[str, ...]]]) -> list[list[bytes | None]]:
    """The fields of each hash; of a key that is none, nothing."""
    asked = list(wanted)
    pipeline = client.pipeline()
    for key, names in asked:
        pipeline.hmget(key, names)
    answers = connections.fetch(pipeline)
    return [certain(answer, [None] * len(names)) for answer, (_key, names) in zip(answers, asked, strict=True)]


def _is_alive(life: Sequence[bytes | None], started_at: datetime | None) -> bool:
    """As WorkerSign tells a worker that died or is missing from one that is there."""
    born, died = (fields.time(one) for one in life)
    is_another = born is not None and started_at is not None and born > started_at
    return any(life) and died is None and not is_another


# Every job there is ---------------------------------------------------------------------------------------------------


def scan_jobs(connection: str, cursor: int) -> tuple[int, list[Trace]]:
    """The next jobs, as far as they are queued, started or cancelled, and the cursor to go on with; 0 begins and ends.

    What is there all the while is met at least once. Raises BrokerUnavailable, ScanNotAllowed.
    """
    keys = connections.get(connection).keys
    start = keys.job("")
    with connections.watching(connection) as client:
        pattern = f"{_GLOB.sub(_escaped, start)}*"
        following, found = scanned(connection, lambda: client.scan(cursor, match=pattern, count=SCAN_COUNT))
        ids = list(filter(None, (_plain_id(key, start.encode()) for key in found)))
        hashes = _read_hashes(client, [(keys.job(job_id), _TRACE) for job_id in ids])
    return following, [_trace(job_id, raw) for job_id, raw in zip(ids, hashes, strict=True) if raw[0] in _UNDER_WAY]


def _escaped(special: re.Match[str]) -> str:
    return f"\\{special[1]}"


def _plain_id(key: bytes, start: bytes) -> str:
    """The job's id. '' for ids that are no text, and for those with a colon, as keys beside a job have it: no act and
    so no review can name them.
    """
    try:
        job_id = key.removeprefix(start).decode()
    except UnicodeDecodeError:
        return ""
    return "" if ":" in job_id or "\0" in job_id else job_id


def _trace(job_id: str, raw: Sequence[bytes | None]) -> Trace:
    status, origin, enqueued, started = raw
    return Trace(
        job_id=job_id,
        status=fields.text(status),
        queue=fields.text(origin),
        enqueued_at=fields.time(enqueued),
        started_at=fields.time(started),
        token=wait_token(fields.text(status), fields.text(enqueued), fields.text(started)),
    )


def wait_token(status: str, enqueued_at: str, started_at: str) -> str:
    """Tells one wait, or one run, of a job from every other, by the times as they stand in its hash."""
    return f"{status}@{enqueued_at}/{started_at}"


def count_runs(connection: str, job_ids: Sequence[str]) -> list[int]:
    """How many runs each job's own list holds: one is kept a minute beyond its lease. Raises BrokerUnavailable."""
    keys = connections.get(connection).keys
    with connections.watching(connection) as client:
        pipeline = client.pipeline()
        for job_id in job_ids:
            pipeline.zcard(keys.executions(job_id))
        return [int(certain(answer, 0)) for answer in connections.fetch(pipeline)]


def missing_from_queue(connection: str, queue: str, job_ids: Collection[str]) -> frozenset[str] | None:
    """Those of these that do not stand in the queue; None when it is too long to say so of any.

    It is read from its end, where jobs are added, to its front, where they are taken: what stands there all the while
    is met. Raises BrokerUnavailable.
    """
    key = connections.get(connection).keys.queue(queue)
    missing = {job_id.encode(): job_id for job_id in job_ids}
    with connections.watching(connection) as client:
        for end in range(-1, -QUEUE_READ - 1, -QUEUE_PART):
            part = _read_part(client, key, end)
            for raw in missing.keys() & set(part):
                del missing[raw]
            if not missing or len(part) < QUEUE_PART:
                return frozenset(missing.values())
    return None


def _read_part(client: WatchingRedis, key: str, end: int) -> list[bytes]:
    pipeline = client.pipeline()
    pipeline.lrange(key, end - QUEUE_PART + 1, end)
    return list(certain(connections.fetch(pipeline)[0], []))
