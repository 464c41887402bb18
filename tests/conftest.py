"""The stores, the people and the hour that tests share."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.models import Permission, User
from django.test import Client
from guardian.models import UserObjectPermission
from redis import Redis

from jobs.broker import connections
from jobs.models import Queue
from opsboard.runner.valkey import EmbeddedValkey, free_port
from tests.oracle.running import RunningOracle, running_oracle
from tests.support import database
from tests.support.append_only import let_tests_clean_up
from tests.support.chromium import INSTALL, find_chromium
from tests.support.keyspace import Dump, dump, load
from tests.support.layered import Workshop
from tests.support.real_rq import VERSIONS, RealRQ
from tests.support.watched import WatchedClient

PASSWORD = "correct horse battery staple"
"""Everybody's, where a test signs in through the page."""
BROWSER = Path(__file__).parent / "browser"
ACTS = ("retry_job", "delete_job", "cancel_job", "resolve_review", "triage_failure")
LONGEST = ("tests/chaos/", "tests/mutations/")
MODEL_WIDE = ("change_jobtype", "view_audit", "manage_access")


# The run --------------------------------------------------------------------------------------------------------------


def pytest_configure(config):
    if find_chromium() is None and os.environ.get("CI", "").lower() in ("1", "true"):
        raise pytest.UsageError(f"The browser tests need Chromium, and here they must run: {INSTALL}")


def pytest_unconfigure():
    shutil.rmtree(settings.VAR_DIR, ignore_errors=True)


def pytest_ignore_collect(collection_path):
    return True if collection_path.is_relative_to(BROWSER) and find_chromium() is None else None


def pytest_terminal_summary(terminalreporter):
    if find_chromium() is None:
        terminalreporter.write_line(f"tests/browser was left out: no Chromium. To have it: {INSTALL}")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """What takes minutes by itself begins first, or one process would be left alone with it in the end."""
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST))


@pytest.fixture
def now() -> datetime:
    """The hour at which time stands still: code under test is handed it."""
    return datetime(2026, 3, 14, 15, 9, 26, tzinfo=UTC)


# Redis ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Valkey:
    """The private server of this test process. `url` names database 0."""

    url: str
    port: int
    pid: int


@pytest.fixture(scope="session")
def valkey(tmp_path_factory) -> Iterator[Valkey]:
    """A private Valkey on a free loopback port, gone when the tests end."""
    server = EmbeddedValkey(folder=tmp_path_factory.mktemp("valkey"), port=free_port())
    process = server.start()
    yield Valkey(server.url, server.port, process.pid)
    process.terminate()
    process.wait(10)


@pytest.fixture
def redis_client(valkey, settings) -> Iterator[Redis]:
    """A plain client on an empty database, which is also what the connection `default` of opsboard points at."""
    client = Redis.from_url(valkey.url)
    client.flushall()
    connections.reset()
    settings.OPSBOARD_CONNECTIONS = {"default": {"url": valkey.url, "read_url": None, "prefix": "rq"}}
    connections.reset()
    yield client
    connections.reset()
    client.close()


@pytest.fixture(autouse=True)
def _own_signal_handlers() -> Iterator[None]:
    """A worker that runs in the test's process leaves its handlers, under which a later fork would not end."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        if signal.getsignal(number) is not handler:
            signal.signal(number, handler)


@pytest.fixture(autouse=True)
def _forget_connections() -> Iterator[None]:
    """A test that brought connections of its own leaves none of their clients behind."""
    yield
    connections.reset()


# RQ -------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def _interpreters(valkey, tmp_path_factory) -> Iterator[Callable[[str], RealRQ]]:
    folder = tmp_path_factory.mktemp("rq")
    started: dict[str, RealRQ] = {}

    def interpreter_of(version: str) -> RealRQ:
        if version not in started:
            started[version] = RealRQ(version, valkey.url, folder)
        return started[version]

    yield interpreter_of
    for rq in started.values():
        rq.close()


@pytest.fixture(params=VERSIONS)
def rq_version(request) -> str:
    """Each RQ the tests meet. Where one is enough: `@pytest.mark.parametrize("rq_version", ["3.0"])` on the test."""
    return request.param


@pytest.fixture
def real_rq(rq_version, redis_client, _interpreters) -> Iterator[RealRQ]:
    """A real RQ on the empty Redis; whatever worker the test leaves running is killed."""
    rq = _interpreters(rq_version)
    yield rq
    rq.end_workers()


@pytest.fixture
def workshop(redis_client, orders) -> Workshop:
    """The queue orders, and the jobs of operations that run through it."""
    return Workshop(redis_client)


# The other side -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def oracle(tmp_path_factory) -> Iterator[RunningOracle]:
    """The service that counts effects, one for all tests: each takes business keys of its own."""
    with running_oracle(tmp_path_factory.mktemp("oracle") / "book.jsonl") as running:
        yield running


@pytest.fixture(scope="session")
def _laid() -> dict[tuple[str, ...], Dump]:
    return {}


@pytest.fixture
def lay_once(real_rq, redis_client, _laid) -> Callable[[Callable[[RealRQ, Redis], object]], None]:
    """lay_once(lay): into an empty Redis, what `lay(rq, redis)` puts there. Real workers do it once for each RQ.

    From then on the same keys are put back, whose times to live begin again and whose times grow old: what must be of
    just now is for the test to renew. Of workers that `lay` started only the keys are there.
    """

    def lay_it(lay: Callable[[RealRQ, Redis], object]) -> None:
        name = (lay.__module__, lay.__qualname__, real_rq.version)
        if name in _laid:
            load(redis_client, _laid[name])
            return
        lay(real_rq, redis_client)
        real_rq.end_workers()
        _laid[name] = dump(redis_client)

    return lay_it


# SQL ------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup, django_db_blocker) -> None:
    """The database of the tests, which a loss of power may damage."""
    with django_db_blocker.unblock():
        database.write_without_waiting()


@pytest.fixture(scope="session", autouse=True)
def _clean_up() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        let_tests_clean_up(monkeypatch)
        yield


# People ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def orders(db) -> Queue:
    return Queue.objects.create(connection="default", name="orders")


@pytest.fixture
def payroll(db) -> Queue:
    return Queue.objects.create(connection="default", name="payroll")


@pytest.fixture
def viewer(orders) -> User:
    """May look at orders."""
    return _person("vera", orders, [])


@pytest.fixture
def operator(orders) -> User:
    """May look at orders and act there."""
    return _person("otto", orders, ACTS)


@pytest.fixture
def lead(orders) -> User:
    """An operator of orders who also declares job types, reads the audit and gives access."""
    person = _person("lena", orders, ACTS)
    person.user_permissions.add(*_rights(*MODEL_WIDE))
    return person


@pytest.fixture
def superuser(db) -> User:
    return User.objects.create_superuser("root", password=PASSWORD)


@pytest.fixture
def outsider(db) -> User:
    """Has an account and no right at all."""
    return User.objects.create_user("nina", password=PASSWORD)


@pytest.fixture
def pia(payroll) -> User:
    """May do everything in payroll, and nothing elsewhere."""
    return _person("pia", payroll, ACTS)


def _person(name, queue, acts) -> User:
    person = User.objects.create_user(name, password=PASSWORD)
    given = {"user": person, "object_pk": str(queue.pk)}
    # At once: guardian's own way takes a dozen queries for each.
    UserObjectPermission.objects.bulk_create(
        UserObjectPermission(**given, permission=one, content_type_id=one.content_type_id)
        for one in _rights("view_queue", *acts)
    )
    return person


def _rights(*names) -> list[Permission]:
    found = list(Permission.objects.filter(content_type__app_label="opsboard_jobs", codename__in=names))
    assert len(found) == len(names)
    return found


@pytest.fixture
def client() -> Client:
    """A browser on this machine that nobody is signed in to."""
    return Client(HTTP_HOST="localhost")


@pytest.fixture
def sign_in() -> Callable[..., Client]:
    """A browser of a person's own, signed in.

    Before it opens the failed list, what an observer would have written down by then is written down; with
    `watched=False` only what the test has written itself, or `watch()` for it.
    """

    def browser_of(person: User, *, watched: bool = True) -> Client:
        browser = (WatchedClient if watched else Client)(HTTP_HOST="localhost")
        browser.force_login(person, backend="django.contrib.auth.backends.ModelBackend")
        return browser

    return browser_of
