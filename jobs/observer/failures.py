"""Brings the index of failures up to date: what failed since the last pass, and, bit by bit, everything there is."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from jobs.broker.watching import (
    Listed,
    Window,
    count_failed,
    have_newer_results,
    recent_failures,
    scan_failed,
)
from jobs.domain.findings import UNKNOWN_RESULTS
from jobs.ledger.failures import (
    MAY_FAIL_AGAIN,
    Known,
    digest_of,
    known_failures,
    note_failures,
    settle_scores,
)
from jobs.models import NAME_LENGTH, FailedJob
from jobs.observer.departures import odd_ones_left
from jobs.observer.queues import watched_queues
from jobs.observer.readings import Read, read_failures, unread
from jobs.observer.trouble import apart, told
from jobs.observer.unknown import open_for_failed

RQ_FAILURE_TTL = 365 * 86_400
"""How long RQ keeps a failed job that does not say so itself."""
TTLS_KEPT = 16
CLOCKS_APART_SECONDS = 61
"""So far a worker's clock may be off; RQ cuts the score to whole seconds besides."""
LOOKED_AT_AGAIN = timedelta(seconds=3)
"""A score tells seconds, so a job that fails twice within one is known by its newest result only.

So much later the second is over, and with it what may happen in it; that is asked about once more then.
"""
BATCH = 50
"""Jobs that are read at once, and written in one transaction."""
_RESULT_ID = re.compile(r"\d+-\d+")
log = logging.getLogger("opsboard.observer")


@dataclass
class Memory:
    """What an observer knows of a connection between two passes. A new one only costs time."""

    since: datetime | None = None
    """When the last pass began that came to its end."""
    met: set[Listed] = field(default_factory=set)
    """The entries of the last pass's windows, all of them in the index."""
    ttls: dict[str, list[int]] = field(default_factory=dict)
    """By queue, the times-to-live of its failures, the last one seen at the end."""
    fresh: dict[Listed, tuple[str, datetime]] = field(default_factory=dict)
    """What was indexed a moment ago: the token it was seen with, and until when it is looked at again."""

    def windows(self, queues: Sequence[str], now: datetime) -> list[Window]:
        """Where failures are listed that happened since the last pass."""
        since = min(self.since or now, now).timestamp() - CLOCKS_APART_SECONDS
        until = now.timestamp() + CLOCKS_APART_SECONDS
        return [
            Window(queue, since + ttl, until + ttl)
            for queue in queues
            for ttl in dict.fromkeys([RQ_FAILURE_TTL, *self.ttls.get(queue, ())])
        ]

    def learn_ttl(self, queue: str, ttl: int | None) -> None:
        """Look for failures of this time-to-live from now on. One below 0 is none: such entries have no time at all."""
        if ttl is None or ttl < 0:
            return
        known = self.ttls.setdefault(queue, [])
        if ttl in known:
            known.remove(ttl)
        known.append(ttl)
        del known[:-TTLS_KEPT]


@dataclass
class Progress:
    """How far a sweep has come: entries gone through, of about how many."""

    done: int = 0
    total: int = 0


def newest(connection: str, now: datetime, memory: Memory) -> Iterator[int]:
    """Index what failed since the last pass, by the times-to-live that are usual there; yields how many were read.

    Between two batches the caller may do something else, or stop for good. Raises BrokerUnavailable.
    """
    met = set()
    yield _look_again(connection, now, memory)
    for listed in recent_failures(connection, memory.windows(watched_queues(connection), now)):
        for batch in _batches(_unknown(connection, [entry for entry in listed if entry not in memory.met], now)):
            yield _index(connection, batch, now, memory)
        met.update(listed)
    memory.met, memory.since = met, now


def sweep(connection: str, clock: Callable[[], datetime], memory: Memory, progress: Progress) -> Iterator[int]:
    """Index each failed entry that is not indexed as it is, some at a time; yields how many were read.

    What fails meanwhile may be left to the next sweep. Raises BrokerUnavailable.
    """
    queues = watched_queues(connection)
    progress.total = sum(count_failed(connection, queues).values())
    for queue in queues:
        began, odd, cursor, is_first = clock(), set(), 0, True
        while cursor or is_first:
            cursor, listed = scan_failed(connection, queue, cursor)
            is_first = False
            odd |= {digest_of(connection, queue, entry.member) for entry in listed if not _is_plain(entry)}
            unknown = _unknown(connection, listed, clock())
            progress.done += len(listed) - len(unknown)
            for batch in _batches(unknown):
                indexed = _index(connection, batch, clock(), memory)
                progress.done += len(batch)
                yield indexed
            yield 0
        odd_ones_left(connection, queue, odd, began=began, now=clock())


def _unknown(connection: str, listed: Sequence[Listed], now: datetime) -> list[Listed]:
    """Those that are not in the index as they are listed now: by one query, and by Redis where scores tell nothing."""
    if not listed:
        return []
    digests = {entry: digest_of(connection, entry.queue, entry.member) for entry in listed}
    found = known_failures(list(digests.values()))
    known = {entry: found[digest] for entry, digest in digests.items() if _is_known(entry, found.get(digest))}
    doubtful = {entry: one for entry, one in known.items() if entry.score < 0 or not one.is_settled}
    again = _failed_again(connection, {entry: one.seen for entry, one in doubtful.items()})
    over = {entry for entry, one in doubtful.items() if not one.is_settled and one.noticed_at < now - LOOKED_AT_AGAIN}
    settle_scores([digests[entry] for entry in over.difference(again)])
    return [entry for entry in listed if entry not in known] + again


def _is_known(entry: Listed, known: Known | None) -> bool:
    return known is not None and known.score == repr(entry.score) and known.place == FailedJob.Place.FAILED


def _failed_again(connection: str, seen: dict[Listed, str]) -> list[Listed]:
    """Those that have a result newer than the one they were seen with."""
    named = [(entry, entry.job_id, token) for entry, token in seen.items() if entry.job_id is not None]
    known = [(job_id, token if _RESULT_ID.fullmatch(token) else "") for _entry, job_id, token in named]
    newer = have_newer_results(connection, known) if known else []
    return [entry for (entry, _id, _token), is_newer in zip(named, newer, strict=True) if is_newer]


def _look_again(connection: str, now: datetime, memory: Memory) -> int:
    """Read once more what was indexed a moment ago and has a newer result, though its score is the same."""
    again = _failed_again(connection, {entry: seen for entry, (seen, _until) in memory.fresh.items()})
    memory.fresh = {entry: kept for entry, kept in memory.fresh.items() if kept[1] > now}
    return sum(_index(connection, batch, now, memory) for batch in _batches(again))


def _index(connection: str, listed: Sequence[Listed], now: datetime, memory: Memory) -> int:
    found = apart(
        lambda some: _read_and_noted(connection, some, now),
        listed,
        lambda entry, error: _noted_unread(connection, entry, error, now),
    )
    for read in found:
        memory.learn_ttl(read.listed.queue, read.detail.job.failure_ttl_seconds if read.detail else None)
        if read.reading.row.failed_at > now - MAY_FAIL_AGAIN:
            memory.fresh[read.listed] = (read.reading.row.seen, now + LOOKED_AT_AGAIN)
    return len(found)


def _read_and_noted(connection: str, listed: Sequence[Listed], now: datetime) -> list[Read]:
    found = read_failures(connection, listed, now)
    # Before they count as indexed: from then on they are not read again, but for those with which it failed.
    for read in _not_asked_about(connection, found, now):
        read.reading.row.score = ""
    note_failures((read.reading for read in found), now)
    return found


def _noted_unread(connection: str, listed: Listed, error: Exception, now: datetime) -> Read:
    read = unread(connection, listed, error, now)
    note_failures([read.reading], now)
    return read


def _not_asked_about(connection: str, found: Sequence[Read], now: datetime) -> list[Read]:
    """Open the reviews that these want; returns those with which that failed."""

    def ask(some: Sequence[Read]) -> list[Read]:
        open_for_failed([read.detail for read in some if read.detail], now)
        return []

    def failed(read: Read, error: Exception) -> Read:
        log.error("an unexpected error keeps a failed job of %s from being asked about: %s", connection, told(error))
        return read

    return apart(ask, [read for read in found if read.detail and _is_in_doubt(read)], failed)


def _is_in_doubt(read: Read) -> bool:
    """Whether a review may be wanted: to ask what stands on record costs a query for each job."""
    return read.reading.row.finding in UNKNOWN_RESULTS


def _is_plain(entry: Listed) -> bool:
    """Whether the index can hold the id as it is."""
    return entry.job_id is not None and "\0" not in entry.job_id and len(entry.job_id) <= NAME_LENGTH


def _batches(entries: Sequence[Listed]) -> Iterator[Sequence[Listed]]:
    return (entries[start : start + BATCH] for start in range(0, len(entries), BATCH))
