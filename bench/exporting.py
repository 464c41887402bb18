"""One step of the benchmark of exports, in a process of its own; what it has measured is printed as JSON.

python -m bench.exporting lay COUNT | ask | fetch | plain | rows | whole
"""

from __future__ import annotations

import django

django.setup()

import csv
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import connection, transaction

from exports.models import Order
from exports.orders import make_orders
from exports.requesting import request_export
from exports.snapshot import snapshot
from exports.writing import COLUMNS, ROWS_PER_STAGE, Hashed, write_rows

YEAR = "2025"
END = datetime(2025, 12, 31, 12, tzinfo=UTC)
STATEMENT = f"SELECT {', '.join(COLUMNS)} FROM exports_order ORDER BY placed_at, id"


def main(step: str, *arguments: str) -> None:
    steps: dict[str, Callable[..., Any]] = {
        "lay": lay,
        "ask": ask,
        "fetch": lambda: measured(fetch),
        "plain": lambda: measured(plain),
        "rows": lambda: measured(rows),
        "whole": lambda: measured(whole),
    }
    print(json.dumps(steps[step](*arguments)))


def lay(count: str) -> dict[str, float]:
    """The orders, all of one year, and what they took."""
    began, cpu = time.perf_counter(), time.process_time()
    make_orders(int(count), END, days=360)
    return {"seconds": time.perf_counter() - began, "cpu": time.process_time() - cpu}


def ask() -> int:
    """Ask for an export of all of them; its id."""
    person, _is_new = User.objects.get_or_create(username="bench", email="bench@shop.example")
    return int(request_export(person, YEAR, "").export.pk)


def measured(run: Callable[[], int]) -> dict[str, float]:
    began, cpu = time.perf_counter(), time.process_time()
    count = run()
    return {"rows": count, "seconds": time.perf_counter() - began, "cpu": time.process_time() - cpu}


def fetch() -> int:
    """The rows as the database's own driver gives them."""
    return sum(len(stage) for stage in _stages())


def plain() -> int:
    """The loop that everybody would write: those rows, and a csv.writer."""
    with open(os.devnull, "w", encoding="utf-8", newline="") as file:
        writer, count = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC), 0
        for stage in _stages():
            writer.writerows(stage)
            count += len(stage)
    return count


def rows() -> int:
    """The rows as Django gives them, with times and amounts of the same kind from every database."""
    return sum(1 for _row in _rows("default"))


def whole() -> int:
    """All that an export does to its rows: cells that are no formulas, bytes, the sum; without a disk and a job."""
    with snapshot() as alias, open(os.devnull, "wb") as file:
        return max(write_rows(Hashed(file), _rows(alias)), default=0)


def _rows(alias: str) -> Iterator[Any]:
    chosen = Order.objects.using(alias).order_by("placed_at", "id")
    return chosen.values_list(*COLUMNS).iterator(chunk_size=ROWS_PER_STAGE)


def _stages() -> Iterator[list[Any]]:
    with transaction.atomic(), connection.chunked_cursor() as cursor:
        cursor.execute(STATEMENT)
        while stage := cursor.fetchmany(ROWS_PER_STAGE):
            yield stage


if __name__ == "__main__":
    main(*sys.argv[1:])
