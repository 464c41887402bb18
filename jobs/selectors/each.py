"""Asking several job stores at once, so that a silent one costs its own time-out and not the sum of all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from jobs.broker.errors import BrokerUnavailable

T = TypeVar("T")


def read_each(connections: Sequence[str], read: Callable[[str], T]) -> dict[str, T | BrokerUnavailable]:
    """`read` for each connection, with the error in place of an answer. `read` must not touch the database."""

    def attempt(connection: str) -> T | BrokerUnavailable:
        try:
            return read(connection)
        except BrokerUnavailable as error:
            return error

    if len(connections) < 2:
        return {name: attempt(name) for name in connections}
    with ThreadPoolExecutor(max_workers=min(8, len(connections))) as pool:
        return dict(zip(connections, pool.map(attempt, connections), strict=True))
