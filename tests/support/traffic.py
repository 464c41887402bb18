"""Counts what code under test asks of Redis: commands as the server saw them, round trips as the client sent them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from unittest import mock

from redis import Redis
from redis.connection import AbstractConnection

_OUR_OWN = re.compile(r"(info|hello|auth|select|client\|set(info|name)|command.*)")
"""The counting itself, and a new connection's handshake: the same for every page, so not the page's cost."""


@dataclass
class Traffic:
    """What one block of code cost; filled in when the block ends."""

    round_trips: int = 0
    connections: int = 0
    by_command: dict[str, int] = field(default_factory=dict)

    @property
    def commands(self) -> int:
        """Commands that reached the server, handshakes left out."""
        return sum(self.by_command.values())


@contextmanager
def count_traffic(client: Redis) -> Iterator[Traffic]:
    """Count what is sent by this process, and served by the client's whole server, until the block ends.

    `client` is for the counting only. Nothing else may use that server meanwhile.
    """
    traffic, shaking_hands = Traffic(), [0]
    connect, send = AbstractConnection.on_connect_check_health, AbstractConnection.send_packed_command

    def counted_connect(self, *args, **options):
        traffic.connections += 1
        shaking_hands[0] += 1
        try:
            return connect(self, *args, **options)
        finally:
            shaking_hands[0] -= 1

    def counted_send(self, *args, **options):
        traffic.round_trips += not shaking_hands[0]
        return send(self, *args, **options)

    before = _served(client)
    with (
        mock.patch.object(AbstractConnection, "on_connect_check_health", counted_connect),
        mock.patch.object(AbstractConnection, "send_packed_command", counted_send),
    ):
        yield traffic
    after = _served(client)
    traffic.by_command = {name: calls - before.get(name, 0) for name, calls in after.items()}
    traffic.by_command = {name: calls for name, calls in traffic.by_command.items() if calls}


def _served(client: Redis) -> dict[str, int]:
    stats = client.info("commandstats")
    names = {name: name.removeprefix("cmdstat_").lower() for name in stats}
    return {names[name]: stat["calls"] for name, stat in stats.items() if not _OUR_OWN.fullmatch(names[name])}
