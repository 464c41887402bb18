"""What a Redis database holds, whole and comparable, so that a test can say "nothing changed"."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from redis import Redis


class Stored(NamedTuple):
    """One key: its type, its whole value, and whether it is going to expire."""

    kind: str
    value: Any
    expires: bool


_READERS = {
    "string": lambda pipeline, key: pipeline.get(key),
    "hash": lambda pipeline, key: pipeline.hgetall(key),
    "list": lambda pipeline, key: pipeline.lrange(key, 0, -1),
    "set": lambda pipeline, key: pipeline.smembers(key),
    "zset": lambda pipeline, key: pipeline.zrange(key, 0, -1, withscores=True),
    "stream": lambda pipeline, key: pipeline.xrange(key),
}


def snapshot(client: Redis) -> dict[bytes, Stored]:
    """Every key of the client's database with its value, byte for byte.

    Of an expiry only its presence is kept: the time left runs on by itself. A key that a worker takes away while they
    are read is not there.
    """
    pipeline: Any = client.pipeline(transaction=False)
    keys = list(client.scan_iter(count=1000))
    for key in keys:
        pipeline.type(key).pttl(key)
    answers = pipeline.execute()
    kinds = [kind if isinstance(kind, str) else kind.decode() for kind in answers[::2]]
    there = [one for one in zip(keys, kinds, answers[1::2], strict=True) if one[1] != "none"]
    for key, kind, _ttl in there:
        _READERS[kind](pipeline, key)
    values = pipeline.execute()
    return {key: Stored(kind, value, ttl != -1) for (key, kind, ttl), value in zip(there, values, strict=True)}


Dump: TypeAlias = dict[bytes, tuple[int, bytes]]
"""Every key with what is left of its time to live (milliseconds, 0 for ever) and its value in Redis's own form."""


def dump(client: Redis) -> Dump:
    """What a database holds, to be put back by `load`: making jobs with real workers takes seconds, this does not."""
    found = {key: (max(0, client.pttl(key)), client.dump(key)) for key in client.scan_iter(count=1000)}
    return {key: (ttl, value) for key, (ttl, value) in found.items() if value is not None}


def load(client: Redis, dumped: Dump) -> None:
    """Put back what was dumped; times to live begin again with what was left of them then."""
    pipeline = client.pipeline()
    for key, (ttl, value) in dumped.items():
        pipeline.restore(key, ttl, value, replace=True)
    pipeline.execute()
