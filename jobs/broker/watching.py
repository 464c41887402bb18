"""What the observer reads besides whole jobs: who is listed as failed, bit by bit, and what became of many ids.

No command here holds Redis for longer than a millisecond or two, however many entries there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from redis import exceptions

from jobs.broker import connections, fields
from jobs.broker.connections import value
from jobs.broker.errors import ScanNotAllowed
from jobs.broker.guarded import WatchingRedis

SCAN_COUNT = 500
RANGE_COUNT = 1_000
"""Entries of one answer; more are asked for in further ones."""


class Listed(NamedTuple):
    """One entry of a queue's failed registry, with the id as its own bytes."""

    queue: str
    member: bytes
    score: float

    @property
    def job_id(self) -> str | None:
        """The id as text; None for bytes that are none, which RQ could not have written."""
        try:
            return self.member.decode()
        except UnicodeDecodeError:
            return None


class Window(NamedTuple):
    """A range of scores of one queue's failed registry, both ends included."""

    queue: str
    least: float
    most: float


class Standing(NamedTuple):
    """What is seen of one id: its score in the failed registry, and its hash's status and queue (None without)."""

    score: float | None
    status: str | None
    origin: str | None


def recent_failures(connection: str, windows: Sequence[Window]) -> Iterator[list[Listed]]:
    """The failed entries within these windows, some at a time; the first of each window in one round trip.

    Entries that are added meanwhile may be left out. Raises BrokerUnavailable.
    """
    open_windows, offset = list(windows), 0
    while open_windows:
        answers = _read_windows(connection, open_windows, offset)
        yield [
            Listed(window.queue, member, score)
            for window, answer in zip(open_windows, answers, strict=True)
            for member, score in answer
        ]
        full = [len(answer) == RANGE_COUNT for answer in answers]
        open_windows = [window for window, more in zip(open_windows, full, strict=True) if more]
        offset += RANGE_COUNT


def _read_windows(connection: str, windows: Iterable[Window], offset: int) -> list[list[tuple[bytes, float]]]:
    keys = connections.get(connection).keys
    with connections.watching(connection) as client:
        pipeline = client.pipeline()
        for queue, least, most in windows:
            key = keys.registry("failed", queue)
            pipeline.zrangebyscore(key, least, most, start=offset, num=RANGE_COUNT, withscores=True)
        return [certain(answer, []) for answer in connections.fetch(pipeline)]


def scan_failed(connection: str, queue: str, cursor: int) -> tuple[int, list[Listed]]:
    """The next entries of a queue's failed registry in no order, and the cursor to go on with; 0 begins and ends.

    What is listed all the while is met at least once. Raises BrokerUnavailable, ScanNotAllowed.
    """
    key = connections.get(connection).keys.registry("failed", queue)
    with connections.watching(connection) as client:
        following, entries = _scan(client, connection, key, cursor)
    return following, [Listed(queue, member, score) for member, score in entries]


def _scan(client: WatchingRedis, connection: str, key: str, cursor: int) -> tuple[int, list[tuple[bytes, float]]]:
    try:
        return scanned(connection, lambda: client.zscan(key, cursor, count=SCAN_COUNT))
    except exceptions.ResponseError as error:
        return 0, certain(error, [])


def scanned(connection: str, scan: Callable[[], Any]) -> tuple[int, list[Any]]:
    """The next cursor of one step of a scan, and what it found. Raises ScanNotAllowed where the account may not."""
    try:
        following, found = scan()
    except exceptions.NoPermissionError:
        raise ScanNotAllowed(connection) from None
    return int(following), list(found)


def certain(answer: Any, default: Any = None) -> Any:
    """An answer of `fetch`, with a key of another type read as `default`: it lists nothing.

    What a server in trouble answers instead of a value says nothing about jobs, and is raised.
    """
    if isinstance(answer, Exception) and not str(answer).startswith("WRONGTYPE"):
        raise answer
    return value(answer, default)


def count_failed(connection: str, queues: Sequence[str]) -> dict[str, int]:
    """How many entries each of these queues' failed registries holds. Raises BrokerUnavailable."""
    keys = connections.get(connection).keys
    with connections.watching(connection) as client:
        pipeline = client.pipeline()
        for queue in queues:
            pipeline.zcard(keys.registry("failed", queue))
        counts = [certain(answer, 0) for answer in connections.fetch(pipeline)]
    return dict(zip(queues, counts, strict=True))


def scores_of(connection: str, entries: Sequence[tuple[str, bytes]]) -> list[float | None]:
    """The score of each (queue, id) in its failed registry, None where it is not listed. Raises BrokerUnavailable."""
    keys = connections.get(connection).keys
    with connections.watching(connection) as client:
        pipeline = client.pipeline()
        for queue, member in entries:
            pipeline.zscore(keys.registry("failed", queue), member)
        return [certain(answer) for answer in connections.fetch(pipeline)]


def standing_of(connection: str, entries: Sequence[tuple[str, str]]) -> list[Standing]:
    """What is seen of each (queue, job id), entry and hash within one round trip. Raises BrokerUnavailable."""
    keys = connections.get(connection).keys
    with connections.watching(connection) as client:
        pipeline = client.pipeline()
        for queue, job_id in entries:
            pipeline.zscore(keys.registry("failed", queue), job_id)
            pipeline.hmget(keys.job(job_id), ["status", "origin"])
        answers = connections.fetch(pipeline)
        return [
            Standing(certain(score), *map(fields.optional_text, certain(hashed, [None, None])))
            for score, hashed in zip(answers[::2], answers[1::2], strict=True)
        ]


def have_newer_results(connection: str, known: Sequence[tuple[str, str]]) -> list[bool]:
    """Whether each job has a result that is newer than the one of this id ('' when none was seen).

    Raises BrokerUnavailable.
    """
    keys = connections.get(connection).keys
    with connections.watching(connection) as client:
        pipeline = client.pipeline()
        for job_id, result_id in known:
            pipeline.xread({keys.results(job_id): result_id or "0-0"}, count=1)
        return [bool(certain(answer)) for answer in connections.fetch(pipeline)]
