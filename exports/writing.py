"""The CSV file of an export: streamed from the orders of one moment, in the memory of one stage, whole or not there."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from hashlib import sha256
from itertools import islice
from typing import Any, BinaryIO

from django.conf import settings
from django.db.models import QuerySet

from exports.csv_cells import safe_text
from exports.files import path_of
from exports.models import Export, Order
from exports.periods import Period
from exports.snapshot import snapshot
from jobs.safety import StopRequested, report_progress, result_file, should_stop

COLUMNS = ("number", "placed_at", "customer", "note", "status", "amount", "currency")
ROWS_PER_STAGE = 1000
"""After so many rows the job looks up: is it to stop, and how far is it?"""
_LONGEST_NAP_SECONDS = 0.5
_READABLE_BY_THE_WEB = 0o640
_BYTE_ORDER_MARK = "\ufeff".encode()
"""Without it spreadsheets take UTF-8 for something else."""


@dataclass(frozen=True)
class Written:
    """What is in the file: rows without the header, bytes, and the sha256 in hex."""

    rows: int
    size: int
    sha256: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class Hashed:
    """Passes bytes on to a file, and knows how many they were and their sha256."""

    file: BinaryIO
    size: int = 0
    digest: Any = field(default_factory=sha256)

    def write(self, data: bytes) -> None:
        self.file.write(data)
        self.size += len(data)
        self.digest.update(data)


def write_file(export: Export, period: Period) -> Written:
    """Write the file of an export. Raises StopRequested between two stages, OSError, and what the database raises.

    What killed attempts have left is removed before: an attempt runs only once all before it are surely dead.
    """
    with (
        result_file(path_of(export.pk), permissions=_READABLE_BY_THE_WEB, left_over_after=timedelta()) as file,
        snapshot() as alias,
    ):
        chosen = orders_of(export, period).using(alias)
        total = chosen.count()
        report_progress(0, total)
        target = Hashed(file)
        rows = 0
        for rows in write_rows(target, chosen.values_list(*COLUMNS).iterator(chunk_size=ROWS_PER_STAGE)):
            _look_up(rows, total)
        return Written(rows=rows, size=target.size, sha256=target.digest.hexdigest())


def orders_of(export: Export, period: Period) -> QuerySet[Order]:
    """What is asked for, the oldest first."""
    chosen = Order.objects.filter(placed_at__gte=period.start, placed_at__lt=period.end)
    if export.order_status:
        chosen = chosen.filter(status=export.order_status)
    return chosen.order_by("placed_at", "id")


def write_rows(target: Hashed, rows: Iterable[Sequence[Any]]) -> Iterator[int]:
    """Write header and rows, and say after each stage how many rows that were by now. Not one more is read ahead."""
    target.write(_BYTE_ORDER_MARK + _lines([COLUMNS]))
    done = 0
    for stage in _stages(iter(rows)):
        target.write(_lines(map(_cells, stage)))
        done += len(stage)
        yield done


def _stages(rows: Iterator[Sequence[Any]]) -> Iterator[list[Sequence[Any]]]:
    while stage := list(islice(rows, ROWS_PER_STAGE)):
        yield stage


def _cells(row: Sequence[Any]) -> tuple[Any, ...]:
    number, placed_at, customer, note, status, amount, currency = row
    return (
        safe_text(number),
        placed_at.isoformat(),
        safe_text(customer),
        safe_text(note),
        # The database holds neither to what the form offers.
        safe_text(status),
        amount,
        safe_text(currency),
    )


def _lines(rows: Iterable[Sequence[Any]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_NONNUMERIC).writerows(rows)
    return text.getvalue().encode()


def _look_up(done: int, total: int) -> None:
    """Between two stages, and while it waits so as not to write faster than it is to."""
    report_progress(done, total)
    rate = settings.OPSBOARD_EXPORTS_ROWS_PER_SECOND
    until = time.monotonic() + (ROWS_PER_STAGE / rate if rate else 0)
    while True:
        if should_stop():
            raise StopRequested
        if (left := until - time.monotonic()) <= 0:
            return
        # A low rate makes for long waits, and a stop must not wait for their end.
        time.sleep(min(left, _LONGEST_NAP_SECONDS))
