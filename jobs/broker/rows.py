"""Rows of job lists: the page's ids, then their hashes, then the newest error of each; three round trips in all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from redis.exceptions import ResponseError

from jobs.broker import connections, fields
from jobs.broker.connections import value
from jobs.broker.cursors import Cursor
from jobs.broker.guarded import ReadOnlyRedis
from jobs.broker.hashes import LIST_FIELDS, LIST_PAYLOAD_BYTES, LIST_TEXT_BYTES, STATE_FIELDS, job_hash, result
from jobs.broker.keys import Keys
from jobs.broker.listing import Discovery, Entry, Place, read_listing
from jobs.broker.records import JobHash, ListedJob, Result

PAGE_SIZE = 50
_CLOCKS_APART = timedelta(seconds=60)
_LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
_ENTRIES_EACH = 10


@dataclass(frozen=True, kw_only=True)
class JobPage:
    """One page of a list. `newer` and `older` are cursors, None where there is nothing more that way."""

    rows: tuple[ListedJob, ...]
    total: int
    newer: Cursor | None
    older: Cursor | None
    queues: tuple[str, ...]
    """The queues that the page covers."""


def read_registry(
    connection: str,
    state: str,
    queues: Sequence[str],
    *,
    after: Cursor | None = None,
    before: Cursor | None = None,
    with_errors: bool = False,
    discover: bool = False,
) -> JobPage:
    """A page of the registry `state` (a key of keys.REGISTRIES) over one or more queues of a connection.

    Newest first; scheduled and started jobs by what is due first. With `discover`, queues that only Redis knows are
    added: asked for along the way, so that it costs a round trip only where there are such. Raises BrokerUnavailable.
    """
    keys = connections.get(connection).keys
    places = _places(keys, state, queues)
    discovery = Discovery(keys.queues, partial(_named_places, keys, state)) if discover else None
    options: dict[str, Any] = {"size": PAGE_SIZE, "soonest_first": state in ("scheduled", "started")}
    with connections.reading(connection) as client:
        listing = read_listing(client, places, after=after, before=before, discovery=discovery, **options)
        if before is not None and len(listing.entries) < PAGE_SIZE:
            # Less than a page is newer: that is the first page, filled up with what follows.
            listing = read_listing(client, listing.places, **options)
        jobs = _read_hashes(client, keys, [_job_id(state, entry.member) for entry in listing.entries])
        rows = _rows(client, keys, listing.entries, jobs, with_errors=with_errors)
    first, last = (listing.entries[0], listing.entries[-1]) if listing.entries else (None, None)
    return JobPage(
        rows=rows,
        total=listing.total,
        newer=_cursor(first) if first and listing.has_newer else None,
        older=_cursor(last) if last and listing.has_older else None,
        queues=tuple(place.queue for place in listing.places),
    )


def read_queued(connection: str, queue: str, *, start: int = 0) -> tuple[tuple[ListedJob, ...], int]:
    """Up to a page of the queue's list from position `start` (0 runs next), and the list's length.

    Raises BrokerUnavailable.
    """
    keys = connections.get(connection).keys
    with connections.reading(connection) as client:
        pipeline = client.pipeline()
        pipeline.llen(keys.queue(queue))
        pipeline.lrange(keys.queue(queue), start, start + PAGE_SIZE - 1)
        length, members = connections.fetch(pipeline)
        entries = [Entry(queue, member, 0.0, start + at) for at, member in enumerate(value(members, []))]
        jobs = _read_hashes(client, keys, [_job_id("queued", entry.member) for entry in entries])
        return _rows(client, keys, entries, jobs, with_errors=False), value(length, 0)


def read_states(connection: str, job_ids: Sequence[str]) -> list[JobHash]:
    """What Redis holds now of these jobs, their calls left out, in the given order: one round trip, or none.

    Raises BrokerUnavailable.
    """
    keys = connections.get(connection).keys
    with connections.reading(connection) as client:
        return _read_hashes(client, keys, job_ids, STATE_FIELDS)


def _places(keys: Keys, state: str, queues: Iterable[str]) -> list[Place]:
    return [Place(queue, keys.registry(state, queue)) for queue in queues]


def _named_places(keys: Keys, state: str, members: Iterable[bytes]) -> list[Place]:
    """The places of the queues that RQ's own set of them names."""
    names = (keys.queue_name(fields.text(member)) for member in members)
    return _places(keys, state, sorted(filter(None, names)))


def _cursor(entry: Entry) -> Cursor:
    return Cursor(score=entry.score, queue=entry.queue, member=entry.member, rank=entry.rank)


def _rows(
    client: ReadOnlyRedis, keys: Keys, entries: Sequence[Entry], jobs: Sequence[JobHash], *, with_errors: bool
) -> tuple[ListedJob, ...]:
    newest = _read_newest_results(client, keys, jobs) if with_errors else {}
    return tuple(
        ListedJob(job=job, queue=entry.queue, score=entry.score, rank=entry.rank, newest_result=newest.get(job.job_id))
        for entry, job in zip(entries, jobs, strict=True)
    )


def _job_id(state: str, member: bytes) -> str:
    # The started registry lists executions as `<job id>:<execution id>`.
    return fields.text(member).rpartition(":")[0] if state == "started" else fields.text(member)


def _read_hashes(
    client: ReadOnlyRedis, keys: Keys, job_ids: Sequence[str], names: Sequence[str] = LIST_FIELDS
) -> list[JobHash]:
    """The hashes of these jobs: one round trip, or none."""
    pipeline = client.pipeline()
    for job_id in job_ids:
        pipeline.hmget(keys.job(job_id), names)
    answers = connections.fetch(pipeline) if job_ids else []
    return [
        job_hash(job_id, names, answer, payload_bytes=LIST_PAYLOAD_BYTES)
        for job_id, answer in zip(job_ids, answers, strict=True)
    ]


def _read_newest_results(client: ReadOnlyRedis, keys: Keys, jobs: Sequence[JobHash]) -> dict[str, Result]:
    """The newest result of each job by *one* command: XREAD reads many streams, forward from a given id.

    The hash says when the run ended and stream ids begin with the time, so reading starts a minute before that.
    A clock further off hides the line in the list; the job's page reads backwards and is not misled.
    """
    streams: dict[Any, Any] = {keys.results(job.job_id): _read_from(job) for job in jobs if job.exists}
    if not streams:
        return {}
    try:
        found: dict[Any, Any] = dict(client.xread(streams, count=_ENTRIES_EACH))
    except ResponseError:
        found = _read_one_by_one(client, streams)
    by_key = {keys.results(job.job_id).encode(): job.job_id for job in jobs}
    return {
        by_key[key]: result(*entries[-1], text_bytes=LIST_TEXT_BYTES)
        for key, entries in found.items()
        if key in by_key and entries
    }


def _read_from(job: JobHash) -> str:
    known = job.ended_at or job.started_at or job.enqueued_at
    return f"{int((known - _CLOCKS_APART).timestamp() * 1000)}-0" if known and known > _LONG_AGO else "0-0"


def _read_one_by_one(client: ReadOnlyRedis, streams: dict[Any, Any]) -> dict[Any, Any]:
    """One key of the wrong type spoils XREAD for all; then each is asked by itself."""
    pipeline = client.pipeline()
    for key in streams:
        pipeline.xrevrange(key, count=1)
    answers = connections.fetch(pipeline)
    return {key.encode(): value(answer, []) for key, answer in zip(streams, answers, strict=True)}
