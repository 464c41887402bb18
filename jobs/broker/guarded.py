"""The reading client: it cannot send a command that changes anything, whatever the caller asks.

The Redis account may be allowed more; this is the second lock (the first is deploy/redis-acl.conf).
"""

from __future__ import annotations

from typing import Any

from redis import Redis
from redis.client import Pipeline

from jobs.broker.errors import WriteOnReadPath

READ_COMMANDS = frozenset(
    [
        "EXISTS",
        "GET",
        "HGET",
        "HMGET",
        "HSTRLEN",
        "INFO",
        "LINDEX",
        "LLEN",
        "LPOS",
        "LRANGE",
        "PING",
        "PTTL",
        "SCARD",
        "SMEMBERS",
        "TIME",
        "TTL",
        "TYPE",
        "XLEN",
        "XRANGE",
        "XREAD",
        "XREVRANGE",
        "ZCARD",
        "ZCOUNT",
        "ZRANGE",
        "ZRANGEBYSCORE",
        "ZREVRANGE",
        "ZREVRANGEBYSCORE",
        "ZREVRANK",
        "ZSCORE",
    ]
)
"""An allow-list: a command that nobody thought of is refused. KEYS, SCAN, SORT and EVAL are left out on purpose."""

WATCH_COMMANDS = READ_COMMANDS | {"SCAN", "ZSCAN"}
"""What the observer may send besides: it goes through everything there is, bit by bit, which no page may do."""


def _check(name: object, allowed: frozenset[str]) -> None:
    if str(name).upper() not in allowed:
        raise WriteOnReadPath(f"{name} is not allowed while reading; act through jobs.broker.commands.")


class ReadOnlyPipeline(Pipeline):
    """A pipeline of reads; never a transaction, so that it stays within a read-only account's rights."""

    allowed = READ_COMMANDS

    def execute_command(self, *args: Any, **options: Any) -> Any:
        _check(args[0], self.allowed)
        return super().execute_command(*args, **options)  # type: ignore[no-untyped-call]  # redis-py says no types


class ReadOnlyRedis(Redis):
    """A Redis client that refuses every command outside READ_COMMANDS before it leaves the process."""

    allowed = READ_COMMANDS
    pipeline_class = ReadOnlyPipeline

    def execute_command(self, *args: Any, **options: Any) -> Any:
        _check(args[0], self.allowed)
        return super().execute_command(*args, **options)  # type: ignore[no-untyped-call]  # redis-py says no types

    def pipeline(self, transaction: bool = False, shard_hint: Any = None) -> ReadOnlyPipeline:
        if transaction:
            raise WriteOnReadPath("MULTI is not allowed while reading.")
        return self.pipeline_class(self.connection_pool, self.response_callbacks, False, shard_hint)


class WatchingPipeline(ReadOnlyPipeline):
    """As ReadOnlyPipeline, for the observer."""

    allowed = WATCH_COMMANDS


class WatchingRedis(ReadOnlyRedis):
    """As ReadOnlyRedis, for the observer: WATCH_COMMANDS."""

    allowed = WATCH_COMMANDS
    pipeline_class = WatchingPipeline
