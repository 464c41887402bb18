"""The named Redis connections, each with a client that reads, one that watches and one that acts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeAlias
from urllib.parse import unquote, urlsplit
from weakref import WeakKeyDictionary

from django.conf import settings
from redis import BlockingConnectionPool, ConnectionPool, Redis, exceptions
from redis.backoff import NoBackoff
from redis.client import Pipeline
from redis.retry import Retry
from redis.sentinel import Sentinel

from jobs.broker.errors import BrokerUnavailable, UnknownConnection
from jobs.broker.guarded import ReadOnlyRedis, WatchingRedis
from jobs.broker.keys import Keys

Role: TypeAlias = Literal["reading", "watching", "acting"]

CONNECT_SECONDS = 1.0
READ_SECONDS = 2.0
"""A page must answer within five seconds while Redis is silent: one connect and one read, no second try."""


@dataclass(frozen=True, kw_only=True)
class Connection:
    """One configured job store: `name` is ours and may be shown, the addresses may not."""

    name: str
    url: str
    read_url: str | None = None
    prefix: str = "rq"

    def __repr__(self) -> str:
        return f"Connection({self.name!r})"

    @property
    def keys(self) -> Keys:
        return Keys(self.prefix)


def names() -> tuple[str, ...]:
    """Every configured connection's name, in the order of the settings."""
    return tuple(_configured())


def get(name: str) -> Connection:
    """The connection of that name. Raises UnknownConnection."""
    try:
        return _configured()[name]
    except KeyError:
        raise UnknownConnection(f"No connection is called “{name[:64]}”.") from None


def reset() -> None:
    """Forget settings and clients, closing their sockets; for tests and for processes that fork."""
    if _client.cache_info().currsize:
        for name in _configured():
            for role in _KINDS:
                _client(name, role).close()
    _client.cache_clear()
    _configured.cache_clear()


@contextmanager
def reading(name: str) -> Iterator[ReadOnlyRedis]:
    """The client that can only read. Raises BrokerUnavailable for whatever keeps Redis from answering."""
    client = _client(name, "reading")
    assert isinstance(client, ReadOnlyRedis)
    with _plain_errors(name):
        yield client


@contextmanager
def watching(name: str) -> Iterator[WatchingRedis]:
    """The observer's client: it can only read, and may go through whole keys. Raises BrokerUnavailable."""
    client = _client(name, "watching")
    assert isinstance(client, WatchingRedis)
    with _plain_errors(name):
        yield client


@contextmanager
def acting(name: str) -> Iterator[Redis]:
    """The client that acts: nothing is ever sent a second time. Raises BrokerUnavailable."""
    with _plain_errors(name):
        yield _client(name, "acting")


def acting_client(name: str) -> Redis:
    """The client that acts, with redis-py's own errors: for callers to whom a time-out is not the same as a refusal."""
    return _client(name, "acting")


def in_time(client: Redis) -> Redis:
    """The same store and account, for somebody who waits: what does not answer within our limits is given up on.

    redis-py's own patience differs by version, from 20 seconds to none at all. The client that is given stays as it is,
    and so does the answer where its server is found through Sentinel, or by a pool of somebody's own.
    """
    pool = client.connection_pool
    if type(pool) not in (ConnectionPool, BlockingConnectionPool):
        return client
    if pool not in _impatient:
        of_pool = {name: value for name, value in pool.connection_kwargs.items() if not name.startswith(_OF_THE_POOL)}
        impatient = ConnectionPool(connection_class=pool.connection_class, **{**of_pool, **_options(tries=1)})
        _impatient[pool] = Redis(connection_pool=impatient)
    return _impatient[pool]


_impatient: WeakKeyDictionary[ConnectionPool, Redis] = WeakKeyDictionary()
_OF_THE_POOL = ("orig_", "maint_notifications_")
"""What a pool of redis-py 8 tells its connections of itself: its own patience, to which they would return."""


def fetch(pipeline: Pipeline) -> list[Any]:
    """Run a pipeline of reads in one round trip; an answer may be a ResponseError (a key of the wrong type).

    Raises BrokerUnavailable (through `reading`) when the whole server refuses, not just one key.
    """
    answers = pipeline.execute(raise_on_error=False)
    for answer in answers:
        if isinstance(answer, (exceptions.ConnectionError, exceptions.NoPermissionError)):
            raise answer
    return answers


def value(answer: Any, default: Any = None) -> Any:
    """An answer of `fetch`, with damage (a key of the wrong type) read as `default`."""
    return default if isinstance(answer, Exception) or answer is None else answer


@cache
def _configured() -> Mapping[str, Connection]:
    declared: Mapping[str, Mapping[str, Any]] | None = getattr(settings, "OPSBOARD_CONNECTIONS", None)
    if declared is None:
        declared = _from_rq_queues(getattr(settings, "RQ_QUEUES", {}))
    return {name: Connection(name=name, **options) for name, options in declared.items()}


def _from_rq_queues(queues: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Connections of a host project that only knows django-rq's setting, each named after its first queue."""
    found: dict[str, dict[str, Any]] = {}
    for queue, options in queues.items():
        url = options.get("URL") or _url_of(options)
        if url not in [known["url"] for known in found.values()]:
            found[queue] = {"url": url}
    return found


def _url_of(options: Mapping[str, Any]) -> str:
    if "UNIX_SOCKET_PATH" in options:
        return f"unix://{options['UNIX_SOCKET_PATH']}?db={options.get('DB', 0)}"
    scheme = "rediss" if options.get("SSL") else "redis"
    account = f"{options.get('USERNAME') or ''}:{options['PASSWORD']}@" if options.get("PASSWORD") else ""
    return f"{scheme}://{account}{options['HOST']}:{options.get('PORT', 6379)}/{options.get('DB', 0)}"


_KINDS: Mapping[Role, type[Redis]] = {"reading": ReadOnlyRedis, "watching": WatchingRedis, "acting": Redis}


@cache
def _client(name: str, role: Role) -> Redis:
    connection, acting = get(name), role == "acting"
    # A read may find that the server has closed an idle socket and is worth one more try, but never after a time-out;
    # an act is never sent twice.
    options = {"protocol": 2, **_options(tries=1 if acting else 2)}
    kind = _KINDS[role]
    url = connection.url if acting else connection.read_url or connection.url
    return _sentinel_client(url, kind, options) if url.startswith("redis+sentinel") else kind.from_url(url, **options)


def _options(*, tries: int) -> dict[str, Any]:
    return {
        "socket_connect_timeout": CONNECT_SECONDS,
        "socket_timeout": READ_SECONDS,
        "retry": Retry(NoBackoff(), tries - 1, supported_errors=(exceptions.ConnectionError,)),
    }


def _sentinel_client(url: str, kind: type[Redis], options: dict[str, Any]) -> Redis:
    parts = urlsplit(url)
    account, _, hosts = parts.netloc.rpartition("@")
    user, _, password = account.partition(":")
    service, _, database = parts.path.strip("/").partition("/")
    addresses = [(host.rpartition(":")[0], int(host.rpartition(":")[2])) for host in hosts.split(",")]
    sentinel = Sentinel(addresses, sentinel_kwargs={"socket_timeout": CONNECT_SECONDS})
    login = {"username": unquote(user) or None, "password": unquote(password) or None}
    client: Redis = sentinel.master_for(service, redis_class=kind, db=int(database or 0), **login, **options)
    return client


@contextmanager
def _plain_errors(name: str) -> Iterator[None]:
    """Turn redis-py's errors, whose texts hold addresses, into ours."""
    try:
        yield
    except (exceptions.RedisError, OSError) as error:
        raise BrokerUnavailable(name, _cause(error)) from None


def _cause(error: Exception) -> str:
    return next((words for kind, words in _CAUSES if isinstance(error, kind)), "it refuses the command")


_CAUSES: tuple[tuple[type[Exception], str], ...] = (
    (exceptions.AuthenticationError, "it refuses our password"),
    (exceptions.AuthenticationWrongNumberOfArgsError, "it refuses our password"),
    (exceptions.BusyLoadingError, "it is still loading its data"),
    (exceptions.TimeoutError, "it does not answer in time"),
    (exceptions.NoPermissionError, "our account may not do this there"),
    (exceptions.ReadOnlyError, "it is a read-only replica"),
    (exceptions.OutOfMemoryError, "it is out of memory"),
    (exceptions.ConnectionError, "no connection"),
    (OSError, "no connection"),
)
"""From the narrow to the wide: the first that fits is said."""
