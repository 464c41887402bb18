"""Notices which jobs of the index stand in the failed registry no more, and what became of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime

from jobs.broker.watching import Standing, count_failed, scores_of, standing_of
from jobs.ledger.failures import count_standing, deleted_here, digest_of, note_departures, odd_rows, standing_rows
from jobs.models import FailedJob

BATCH = 500
_Place = FailedJob.Place


def walk(connection: str, now: datetime) -> Iterator[int]:
    """Look after every job that was failed when it was last seen, some at a time; yields how many are not any more.

    Whatever is listed is in the index, so a queue of which no more is in the index than is listed has lost nobody.
    Raises BrokerUnavailable.
    """
    standing = count_standing(connection)
    listed = count_failed(connection, list(standing))
    for queue in (queue for queue, count in standing.items() if count > listed[queue]):
        last = 0
        while rows := standing_rows(connection, queue, after=last, limit=BATCH):
            yield _note_those_that_left(connection, [row for row in rows if _is_named(row)], now)
            last = rows[-1].pk


def odd_ones_left(connection: str, queue: str, listed: Collection[str], *, began: datetime, now: datetime) -> int:
    """Note that ids which the index can't hold as they are have left: those a whole sweep did not meet (by digest)."""
    rows = [row for row in odd_rows(connection, queue) if row.noticed_at < began and not _is_named(row)]
    return note_departures([row for row in rows if row.digest not in listed], _Place.GONE, now)


def _note_those_that_left(connection: str, rows: Sequence[FailedJob], now: datetime) -> int:
    scores = scores_of(connection, [(row.queue, row.job_id.encode()) for row in rows])
    missing = [row for row, score in zip(rows, scores, strict=True) if score is None]
    if not missing:
        return 0
    # Entry and hash are looked at together: a job on its way from one list to the other is neither gone nor moved.
    standing = standing_of(connection, [(row.queue, row.job_id) for row in missing])
    deleted = deleted_here(missing)
    places = {
        row.pk: _place(row, seen, is_deleted=row.pk in deleted) for row, seen in zip(missing, standing, strict=True)
    }
    return sum(
        note_departures([row for row in missing if places[row.pk] == place], place, now)
        for place in (_Place.MOVED, _Place.GONE, _Place.DELETED)
    )


def _place(row: FailedJob, seen: Standing, *, is_deleted: bool) -> str:
    is_there = seen.origin == row.queue or (seen.origin is None and seen.status is not None)
    if seen.score is not None or (is_there and seen.status in ("failed", "stopped")):
        # Listed again by now, or failed and in no list: nothing speaks against leaving it among the failed ones.
        return _Place.FAILED
    if is_there:
        return _Place.MOVED
    return _Place.DELETED if is_deleted else _Place.GONE


def _is_named(row: FailedJob) -> bool:
    """Whether the row holds the id as it is in Redis, not cut or with other characters in it."""
    return digest_of(row.connection, row.queue, row.job_id) == row.digest
