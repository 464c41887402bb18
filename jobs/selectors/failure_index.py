"""The index of failures, read in SQL: one page in the order of time, its count, and what it can be narrowed by.

Every question is asked queue by queue and merged. An index gives the rows of one queue in the order in which they are
shown, so a page reads its rows and no more, however many failures of other queues lie between them. Django's querysets
can't say that on SQLite, where they limit no part of a union, so the SQL is written here: every name in it is one of
ours, every value a parameter.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from typing import Any, TypeAlias

from django.db import connection as database

from jobs.models import FailedJob
from jobs.selectors.paging import PAGE_SIZE, Sheet, TimedPlace, read_sheet

COUNTED = 10_000
"""Further than this nobody counts."""
CHOICES = 200
"""Values that a filter offers; any other can stand in the address."""

Place: TypeAlias = TimedPlace
_AT_ONCE = 200
"""Queues asked for in one query; SQLite allows 500."""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What is to be read of one connection's failures; '' and None narrow nothing."""

    connection: str
    job_type: str = ""
    error_class: str = ""
    finding: str = ""
    since: datetime | None = None
    until: datetime | None = None
    with_closed: bool = False
    """Also those that nobody has to look after any more: retried, deleted, resolved."""
    leading: str = ""
    """The column whose index is read, where it could be several (`steered`)."""

    @property
    def exact(self) -> dict[str, str]:
        """The columns that must have one value, with it."""
        values = {"job_type": self.job_type, "error_class": self.error_class, "finding": self.finding}
        return {column: value for column, value in values.items() if value}

    @property
    def is_narrowed(self) -> bool:
        return bool(self.exact or self.since or self.until)


def steered(wanted: Wanted, queues: Sequence[str]) -> Wanted:
    """The same, told which of its columns is the rarest, for the planner of SQLite can't know. No query for one column.

    Of two values that are both frequent and hardly ever meet, one is still read to its end.
    """
    if len(wanted.exact) < 2:
        return wanted
    alone = {column: count(_only(wanted, column), queues) for column in wanted.exact}
    return replace(wanted, leading=min(alone, key=lambda column: alone[column]))


def _only(wanted: Wanted, column: str) -> Wanted:
    kept = {column: wanted.exact[column]}
    return replace(
        wanted,
        job_type=kept.get("job_type", ""),
        error_class=kept.get("error_class", ""),
        finding=kept.get("finding", ""),
    )


def read_page(
    wanted: Wanted, queues: Sequence[str], *, after: Place | None, before: Place | None
) -> Sheet[FailedJob, Place]:
    """The newest rows of these queues, those after a place, or those before it. Two queries for 200 queues."""
    return read_sheet(lambda *beyond: _read(wanted, queues, *beyond), _place, after=after, before=before)


def count(wanted: Wanted, queues: Sequence[str]) -> int:
    """How many rows there are; COUNTED + 1 when there are more than COUNTED. One query for 200 queues."""
    most = COUNTED + 1
    return min(most, sum(_count(wanted, some, most) for some in _chunks(queues)))


def choices(column: str, wanted: Wanted, queues: Sequence[str]) -> list[str]:
    """The values of a column that there are in these queues, whatever it is narrowed to. One query.

    It leaps from value to value in the index of this column, so it costs what it finds and is capped by CHOICES.
    """
    starts = [(queue, is_open) for queue in queues for is_open in _states(wanted)]
    if not starts:
        return []
    sql = _LEAP_OVER_VALUES.format(column=column, starts=", ".join(["(%s, %s, '')"] * len(starts)))
    found = _fetch(sql, [*chain.from_iterable(starts), wanted.connection, CHOICES * 10])
    return sorted({value for (value,) in found})[:CHOICES]


def indexed_queues(connection: str) -> list[str]:
    """The queues of a connection of which a failure is on record, recorded as queues or not. One query."""
    return [name for (name,) in _fetch(_LEAP_OVER_QUEUES, [connection, connection])]


_TABLE = FailedJob._meta.db_table
_LEAP_OVER_QUEUES = f"""
    WITH RECURSIVE leap(name) AS (
        SELECT MIN(queue) FROM {_TABLE} WHERE connection = %s
        UNION ALL
        SELECT (SELECT MIN(queue) FROM {_TABLE} WHERE connection = %s AND queue > name) FROM leap WHERE name IS NOT NULL
    )
    SELECT name FROM leap WHERE name IS NOT NULL
"""
_LEAP_OVER_VALUES = f"""
    WITH RECURSIVE leap(queue, is_open, value) AS (
        VALUES {{starts}}
        UNION ALL
        SELECT queue, is_open, (
            SELECT MIN(job.{{column}}) FROM {_TABLE} AS job
            WHERE job.connection = %s AND job.queue = leap.queue AND job.is_open = leap.is_open
            AND job.{{column}} > leap.value
        )
        FROM leap WHERE value IS NOT NULL
    )
    SELECT value FROM leap WHERE value <> '' LIMIT %s
"""


def _place(row: FailedJob) -> Place:
    return Place(row.failed_at, row.pk)


def _read(wanted: Wanted, queues: Sequence[str], place: Place | None, is_backwards: bool) -> list[FailedJob]:
    """Up to a page and one of the rows beyond a place, from there on."""
    beyond, order = (">", "ASC") if is_backwards else ("<", "DESC")
    # Row values, compared at once: so the index begins at the place also among thousands of equal times.
    there = (f" AND (failed_at, id) {beyond} (%s, %s)", [_adapted(place.at), place.pk]) if place else ("", [])
    sorting = f"ORDER BY failed_at {order}, id {order} LIMIT {PAGE_SIZE + 1}"
    found: list[tuple[Any, int]] = []
    for some in _chunks(queues):
        sql, parameters = _union("failed_at, id", wanted, some, there, f" {sorting}")
        found += _fetch(f"SELECT failed_at, id FROM ({sql}) AS found {sorting}", parameters)
    kept = [pk for _at, pk in sorted(found, reverse=not is_backwards)[: PAGE_SIZE + 1]]
    rows = FailedJob.objects.in_bulk(kept)
    return [rows[pk] for pk in kept if pk in rows]


def _count(wanted: Wanted, queues: Sequence[str], most: int) -> int:
    sql, parameters = _union("id", wanted, queues, ("", []), f" LIMIT {most}")
    counted = _fetch(f"SELECT COUNT(*) FROM (SELECT id FROM ({sql}) AS found LIMIT {most}) AS counted", parameters)
    return int(counted[0][0])


_Condition = tuple[str, list[Any]]
"""SQL, and the values of its parameters."""


def _union(columns: str, wanted: Wanted, queues: Sequence[str], beyond: _Condition, ending: str) -> _Condition:
    """The rows of each queue, read as `ending` says."""
    narrowed, values = _narrowed(wanted)
    asked = [(queue, is_open) for queue in queues for is_open in _states(wanted)]
    rows = f"SELECT {columns} FROM {_TABLE} AS job WHERE connection = %s{narrowed}{beyond[0]}"
    shared = [wanted.connection, *values, *beyond[1]]
    if database.vendor == "postgresql":
        # Planned once for all queues, where a union is planned queue by queue.
        named = ", ".join(["(%s, %s)"] * len(asked))
        each = f"{rows} AND job.queue = asked.queue AND job.is_open = asked.is_open{ending}"
        sql = f"SELECT {columns} FROM (VALUES {named}) AS asked(queue, is_open) CROSS JOIN LATERAL ({each}) AS branch"
        return sql, [*chain.from_iterable(asked), *shared]
    branch = f"SELECT * FROM ({rows} AND queue = %s AND is_open = %s{ending}) AS branch"
    return " UNION ALL ".join([branch] * len(asked)), [value for one in asked for value in (*shared, *one)]


def _narrowed(wanted: Wanted) -> _Condition:
    """The one predicate of list and count, beside connection, queue and state."""
    # An expression finds no index: only the leading column shall.
    columns = {
        column: column if wanted.leading in ("", column) else f"COALESCE({column}, '')" for column in wanted.exact
    }
    given = {f"{columns[column]} = %s": value for column, value in wanted.exact.items()}
    times = {"failed_at >= %s": wanted.since, "failed_at <= %s": wanted.until}
    given |= {condition: _adapted(at) for condition, at in times.items() if at}
    return "".join(f" AND {condition}" for condition in given), list(given.values())


def _states(wanted: Wanted) -> tuple[bool, ...]:
    return (True, False) if wanted.with_closed else (True,)


def _adapted(at: datetime) -> Any:
    return database.ops.adapt_datetimefield_value(at)


def _fetch(sql: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
    with database.cursor() as cursor:
        cursor.execute(sql, parameters)
        return list(cursor.fetchall())


def _chunks(queues: Sequence[str]) -> Iterable[Sequence[str]]:
    return (queues[at : at + _AT_ONCE] for at in range(0, len(queues), _AT_ONCE))
