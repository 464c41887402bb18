"""What a Redis database holds, whole and comparable, so that a test can say "nothing changed"."""

from __future__ import annotations

from typing import Any, NamedTuple

from redis import Redis


class Stored(NamedTuple):
    """One key: its type, its whole value, and whether it is going to expire."""

    kind: str
    value: Any
    expires: bool


_READERS = {
    "string": lambda client, key: client.get(key),
    "hash": lambda client, key: client.hgetall(key),
    "list": lambda client, key: client.lrange(key, 0, -1),
    "set": lambda client, key: frozenset(client.smembers(key)),
    "zset": lambda client, key: client.zrange(key, 0, -1, withscores=True),
    "stream": lambda client, key: client.xrange(key),
}


def snapshot(client: Redis) -> dict[bytes, Stored]:
    """Every key of the client's database with its value, byte for byte.

    Of an expiry only its presence is kept: the time left runs on by itself.
    """
    return {key: _stored(client, key) for key in client.scan_iter(count=1000)}


def _stored(client: Redis, key: bytes) -> Stored:
    answer = client.type(key)
    kind = answer if isinstance(answer, str) else answer.decode()
    return Stored(kind, _READERS[kind](client, key), client.pttl(key) != -1)
