"""Jobs, whole: everything Redis knows of one, or of many at once, in two round trips."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeAlias

from jobs.broker import connections, fields
from jobs.broker.connections import value
from jobs.broker.guarded import ReadOnlyRedis
from jobs.broker.hashes import (
    DETAIL_FIELDS,
    DETAIL_PAYLOAD_BYTES,
    DETAIL_TEXT_BYTES,
    LIST_TEXT_BYTES,
    WORKER_FIELDS,
    job_hash,
    result,
    worker,
)
from jobs.broker.keys import REGISTRIES, Keys
from jobs.broker.payload import read_call
from jobs.broker.records import Execution, JobDetail, JobHash, Relative

_FOREVER_MILLISECONDS = 100 * 365 * 86_400_000
"""A time-to-live beyond this is none that anybody waits for."""
_KEPT_LONGER_SECONDS = 60
"""A run stands in its job's own list this much longer than its lease, which RQ keeps in the queue's list of runs.

That one forgets a run when its job is cancelled; its own list does not.
"""
QUEUE_LOOKED_AT = 50_000
"""In longer queues the id is not looked for: LPOS would hold Redis too long (design, chapter 4)."""
WEIGHT_AT_ONCE = 8 * 1024 * 1024
"""Bytes of calls and errors that one answer is to hold; a single job may have more."""
_HEAD = [name for name in DETAIL_FIELDS if name != "data"]
_RELATIVE = ("status", "origin")
_RUN = ("worker_name", "created_at", "last_heartbeat")
_LIFE = ("birth", "death")


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How much of a job is read: results and relatives, the bytes of its call and of each error, ids of its queue."""

    results: int = 30
    relatives: int = 50
    payload_bytes: int = DETAIL_PAYLOAD_BYTES
    text_bytes: int = DETAIL_TEXT_BYTES
    queue_length: int = QUEUE_LOOKED_AT


WHOLE = Limits()
"""What a page about one job shows."""
MANY = Limits(results=10, relatives=0, payload_bytes=1024 * 1024, text_bytes=LIST_TEXT_BYTES, queue_length=1_000)
"""What is read of each where many are: all that its finding rests on, without those that wait for it."""

_Answers: TypeAlias = dict[str, Any]
_Asked: TypeAlias = tuple[str, ...]
"""A command with its arguments."""


def read_job(connection: str, queue: str, job_id: str, *, now: datetime) -> JobDetail | None:
    """Everything about one job of one queue, or None when that queue has no such job.

    A job whose hash names another queue is not this queue's; an id that is only listed is (its data is gone).
    Raises BrokerUnavailable.
    """
    return read_jobs(connection, [(queue, job_id)], now=now, limits=WHOLE)[0]


def read_jobs(
    connection: str, wanted: Sequence[tuple[str, str]], *, now: datetime, limits: Limits = MANY
) -> list[JobDetail | None]:
    """The same of each (queue, job id), in that order. Raises BrokerUnavailable.

    In two round trips, and more where their calls and errors are long, so that no answer fills the memory: the limits
    apply to what is kept. The newest error of each comes at once: ask for some dozens at a time.
    """
    if not wanted:
        return []
    keys = connections.get(connection).keys
    with connections.reading(connection) as client:
        firsts, queues = _read_first(client, keys, wanted, limits)
        jobs = [
            job_hash(job_id, _HEAD, first["hash"], payload_bytes=limits.payload_bytes)
            for (_queue, job_id), first in zip(wanted, firsts, strict=True)
        ]
        found = [
            _Found(connection, queue, keys, job, first, queues[queue], limits)
            for (queue, _id), job, first in zip(wanted, jobs, firsts, strict=True)
        ]
        return [detail for some in _slices(found) for detail in _read_rest(client, some, now)]


def _read_first(
    client: ReadOnlyRedis, keys: Keys, wanted: Sequence[tuple[str, str]], limits: Limits
) -> tuple[list[_Answers], dict[str, _Answers]]:
    """The answers about each job, and those about each queue by its name: asked once, however many jobs it has."""
    pipeline, queues = client.pipeline(), list(dict.fromkeys(queue for queue, _id in wanted))
    names = [_ask_job(pipeline, keys, queue, job_id, limits) for queue, job_id in wanted]
    names += [_ask_queue(pipeline, keys, queue) for queue in queues]
    answers = iter(connections.fetch(pipeline))
    asked = [{name: next(answers) for name in each} for each in names]
    return asked[: len(wanted)], dict(zip(queues, asked[len(wanted) :], strict=True))


def _ask_job(pipeline: Any, keys: Keys, queue: str, job_id: str, limits: Limits) -> Sequence[str]:
    pipeline.hmget(keys.job(job_id), _HEAD)
    pipeline.hstrlen(keys.job(job_id), "data")
    pipeline.xrevrange(keys.results(job_id), count=1)
    pipeline.xlen(keys.results(job_id))
    pipeline.zrange(keys.executions(job_id), 0, 20, withscores=True)
    pipeline.pttl(keys.job(job_id))
    pipeline.pttl(keys.results(job_id))
    for state in REGISTRIES:
        pipeline.zscore(keys.registry(state, queue), job_id)
    pipeline.lpos(keys.queue(queue), job_id, count=0, maxlen=limits.queue_length)
    pipeline.lpos(keys.intermediate(queue), job_id)
    names = ["hash", "call_bytes", "newest", "results_total", "executions", "ttl", "results_ttl"]
    names += [*REGISTRIES, "positions", "intermediate"]
    if limits.relatives:
        pipeline.smembers(keys.dependents(job_id))
        names.append("dependents")
    return names


def _ask_queue(pipeline: Any, keys: Keys, queue: str) -> Sequence[str]:
    pipeline.llen(keys.queue(queue))
    pipeline.smembers(keys.workers_of(queue))
    pipeline.exists(keys.scheduler_lock(queue))
    return "length", "workers", "scheduler"


def _slices(found: Sequence[_Found]) -> Iterator[list[_Found]]:
    """As many of them at a time as are not too heavy together."""
    some: list[_Found] = []
    for one in found:
        if some and sum(each.weight for each in some) + one.weight > WEIGHT_AT_ONCE:
            yield some
            some = []
        some.append(one)
    yield some


def _read_rest(client: ReadOnlyRedis, found: Sequence[_Found], now: datetime) -> list[JobDetail | None]:
    """What could only be named, or weighed, after the first answers; each asked for once."""
    asked = list(dict.fromkeys(each for one in found if one.is_at_home for each in one.named()))
    pipeline = client.pipeline()
    for command in asked:
        pipeline.execute_command(*command)
    rest = dict(zip(asked, connections.fetch(pipeline), strict=True))
    return [one.detail(rest, now) if one.is_at_home else None for one in found]


class _Found(NamedTuple):
    """One job while it is read: its hash, the first answers about it, and those about its queue."""

    connection: str
    queue: str
    keys: Keys
    job: JobHash
    first: _Answers
    place: _Answers
    limits: Limits

    @property
    def is_at_home(self) -> bool:
        if self.job.origin is not None:
            return self.job.origin == self.queue
        listed = any(value(self.first[state]) is not None for state in REGISTRIES)
        return listed or bool(value(self.first["positions"], [])) or value(self.first["intermediate"]) is not None

    @property
    def weight(self) -> int:
        """About how many bytes there are to come: of its call, and of errors, if they are as long as the newest."""
        newest = sum(len(text) for _id, entry in value(self.first["newest"], []) for text in entry.values())
        return self._call_bytes + self._older * newest if self.is_at_home else 0

    def named(self) -> Iterator[_Asked]:
        """What the first answers name: the call, older results, relatives, runs and workers."""
        if self._call_bytes:
            yield self._call_key
        if self._older:
            yield self._older_key
        for relative in (*self._dependents(), *self._dependencies()):
            yield self._relative_key(relative)
        for execution_id, _score in self._executions():
            yield self._run_key(execution_id)
        for key in self._worker_keys():
            yield "HMGET", key, *_LIFE
        if self.job.worker_name:
            yield self._worker_key(self.job.worker_name)

    def detail(self, rest: Mapping[_Asked, Any], now: datetime) -> JobDetail:
        """All of it as one record."""
        first, name, limits = self.first, self.job.worker_name, self.limits
        older: Sequence[Any] = value(rest[self._older_key], []) if self._older else []
        too_long = value(self.place["length"], 0) > limits.queue_length
        return JobDetail(
            connection=self.connection,
            queue=self.queue,
            job=self._job(rest),
            results=tuple(
                result(entry_id, entry, text_bytes=limits.text_bytes)
                for entry_id, entry in (*value(first["newest"], []), *older)
            ),
            results_total=value(first["results_total"], 0),
            executions=tuple(_execution(one, rest[self._run_key(one[0])]) for one in self._executions()),
            scores={state: float(score) for state in REGISTRIES if (score := value(first[state])) is not None},
            queued_times=None if too_long else len(value(first["positions"], [])),
            in_intermediate=value(first["intermediate"]) is not None,
            expires_at=_expiry(first["ttl"], now),
            results_expire_at=_expiry(first["results_ttl"], now),
            dependencies=tuple(_relative(one, rest[self._relative_key(one)]) for one in self._dependencies()),
            dependents=tuple(_relative(one, rest[self._relative_key(one)]) for one in self._dependents()),
            dependents_total=len(value(first.get("dependents"), ())),
            worker=worker(name, rest[self._worker_key(name)]) if name else None,
            queue_has_worker=any(_is_alive(rest["HMGET", key, *_LIFE]) for key in self._worker_keys()),
            queue_has_scheduler=bool(value(self.place["scheduler"], 0)),
        )

    def _job(self, rest: Mapping[_Asked, Any]) -> JobHash:
        if (data := value(rest.get(self._call_key))) is None:
            return self.job
        return replace(self.job, exists=True, call=read_call(data, max_bytes=self.limits.payload_bytes))

    @property
    def _call_bytes(self) -> int:
        return int(value(self.first["call_bytes"], 0))

    @property
    def _older(self) -> int:
        """How many results before the newest are wanted."""
        wanted = min(value(self.first["results_total"], 0), self.limits.results) - 1
        return max(0, wanted) if value(self.first["newest"]) else 0

    @property
    def _call_key(self) -> _Asked:
        return "HGET", self.keys.job(self.job.job_id), "data"

    @property
    def _older_key(self) -> _Asked:
        before = f"({fields.text(self.first['newest'][0][0])}"
        return "XREVRANGE", self.keys.results(self.job.job_id), before, "-", "COUNT", str(self._older)

    def _dependents(self) -> list[str]:
        return sorted(fields.text(one) for one in value(self.first.get("dependents"), ()))[: self.limits.relatives]

    def _dependencies(self) -> Sequence[str]:
        return self.job.dependency_ids[: self.limits.relatives]

    def _executions(self) -> list[tuple[str, float]]:
        return [(fields.text(member), score) for member, score in value(self.first["executions"], [])]

    def _worker_keys(self) -> list[str]:
        """Of the queue's workers. Not RQ's names: perhaps keys that our account may not read."""
        return [key for key in map(fields.text, value(self.place["workers"], ())) if self.keys.worker_name(key)]

    def _relative_key(self, job_id: str) -> _Asked:
        return "HMGET", self.keys.job(job_id), *_RELATIVE

    def _run_key(self, execution_id: str) -> _Asked:
        return "HMGET", self.keys.execution(self.job.job_id, execution_id), *_RUN

    def _worker_key(self, name: str) -> _Asked:
        return "HMGET", self.keys.worker(name), *WORKER_FIELDS


def _relative(job_id: str, answer: Any) -> Relative:
    status, origin = value(answer, [None, None])
    return Relative(
        job_id=job_id,
        exists=status is not None or origin is not None,
        status=fields.optional_text(status),
        origin=fields.optional_text(origin),
    )


def _execution(member: tuple[str, float], answer: Any) -> Execution:
    execution_id, score = member
    name, started, beat = value(answer, [None, None, None])
    return Execution(
        execution_id=execution_id,
        worker_name=fields.optional_text(name),
        started_at=fields.epoch(started),
        last_heartbeat=fields.epoch(beat),
        lease_until=fields.epoch(score - _KEPT_LONGER_SECONDS),
    )


def _is_alive(answer: Any) -> bool:
    birth, death = value(answer, [None, None])
    return birth is not None and death is None


def _expiry(ttl_milliseconds: Any, now: datetime) -> datetime | None:
    left = value(ttl_milliseconds, -1)
    return now + timedelta(milliseconds=left) if 0 <= left < _FOREVER_MILLISECONDS else None


def find_origins(connection: str, job_id: str, queues: Sequence[str]) -> tuple[str, ...]:
    """The queues in which a job of this id can be opened: its own, or those of `queues` that only list it.

    Raises BrokerUnavailable.
    """
    keys = connections.get(connection).keys
    with connections.reading(connection) as client:
        pipeline = client.pipeline()
        pipeline.hmget(keys.job(job_id), ["origin"])
        for queue in queues:
            pipeline.zscore(keys.registry("failed", queue), job_id)
        (origin,), *scores = [
            value(answer, [None] if at == 0 else None) for at, answer in enumerate(connections.fetch(pipeline))
        ]
    if origin is not None:
        return (fields.text(origin),)
    return tuple(queue for queue, score in zip(queues, scores, strict=True) if score is not None)
