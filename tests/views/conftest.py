"""The shop that the tests of the views look at: made once by a real RQ, put back for each test."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from redis import Redis

from tests.support.keyspace import Dump, dump, load
from tests.support.minefield import lay
from tests.support.real_rq import RealRQ, wait_until
from tests.support.watched import WatchedClient

ROLES = ("signed_out", "outsider", "viewer", "operator", "pia", "lead", "superuser")
"""Everybody there is: the last five by what they may do in orders, where pia may do nothing; payroll is hers."""
LEASE_SECONDS = 60


@pytest.fixture
def shop(_shop, redis_client) -> Redis:
    """Jobs in every state on the queue orders, and one failed job, pay-1, on payroll. A client of the same Redis.

    Failed: 4711 (boom), 4712 (declined) and 4713 (killed). Else, by name: done-1, next-1 and next-2 (waiting), later-1
    (scheduled), held-1 (waits for 4711), canceled-1, and slow-1, which the worker `packer` is running.
    """
    load(redis_client, _shop)
    beat(redis_client)
    return redis_client


@pytest.fixture(scope="session")
def _shop(valkey, _interpreters) -> Dump:
    with Redis.from_url(valkey.url) as client:
        client.flushall()
        _fill(_interpreters("3.0"))
        return dump(client)


@pytest.fixture
def minefield(rq_version, redis_client, _mines, mined_folder) -> Redis:
    """What tests/support/minefield.py lays, by each version of RQ. A client of the same Redis."""
    load(redis_client, _mines(rq_version))
    return redis_client


@pytest.fixture(scope="session")
def mined_folder(tmp_path_factory) -> Path:
    """Empty until a trap goes off: then there is a file of its name."""
    folder: Path = tmp_path_factory.mktemp("traps")
    return folder


@pytest.fixture(scope="session")
def _mines(valkey, _interpreters, mined_folder) -> Callable[[str], Dump]:
    laid: dict[str, Dump] = {}

    def mines_of(version: str) -> Dump:
        if version not in laid:
            with Redis.from_url(valkey.url) as client:
                lay(_interpreters(version), client, mined_folder)
                laid[version] = dump(client)
                client.flushall()
        return laid[version]

    return mines_of


@pytest.fixture
def browser_of(request) -> Callable[..., Client]:
    """A browser by the name of a role, signed in or not; `strict`: its forms need their token, as real ones do.

    It opens the failed list as that of `sign_in` does.
    """

    def browser(role: str, *, strict: bool = False, watched: bool = True) -> Client:
        found = (WatchedClient if watched else Client)(HTTP_HOST="localhost", enforce_csrf_checks=strict)
        if role != "signed_out":
            person = request.getfixturevalue(role)
            found.force_login(person, backend="django.contrib.auth.backends.ModelBackend")
        return found

    return browser


def _fill(rq: RealRQ) -> None:
    rq.enqueue("fx.boom", 7, job_id="4711")
    rq.enqueue("fx.declined", 8, job_id="4712")
    rq.enqueue("fx.die", 9, job_id="4713")
    rq.enqueue("fx.ok", 1, job_id="done-1", result_ttl=-1)
    rq.enqueue("fx.boom", 1, queue="payroll", job_id="pay-1")
    rq.burst("orders", "payroll")
    rq.enqueue("fx.ok", 2, job_id="held-1", depends_on="4711")
    rq.enqueue("fx.ok", 3, job_id="later-1", seconds=3600)
    rq.enqueue("fx.ok", 4, job_id="canceled-1")
    rq.evaluate("rq.job.Job.fetch('canceled-1', connection=connection).cancel()")
    rq.enqueue("fx.slow", 5, 600, job_id="slow-1")
    packer = rq.start("orders", name="packer")
    packer.wait_for_horse()
    wait_until(lambda: rq.evaluate("connection.hget('rq:job:slow-1', 'status') == b'started'"), "slow-1 runs")
    wait_until(lambda: rq.evaluate("connection.zcard('rq:wip:orders')"), "slow-1 has its lease")
    rq.enqueue("fx.ok", 6, job_id="next-1")
    rq.enqueue("fx.ok", 7, job_id="next-2")
    packer.kill_session()


def beat(client: Redis) -> None:
    """What the worker `packer` would have gone on doing: it says that it lives, and renews its lease."""
    client.hset("rq:worker:packer", "last_heartbeat", timezone.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ"))
    # The job's own list keeps a run a minute longer than its lease.
    for key, seconds in (("rq:wip:orders", LEASE_SECONDS), ("rq:executions:slow-1", LEASE_SECONDS + 60)):
        runs: Any = client.zrange(key, 0, -1)
        client.zadd(key, dict.fromkeys(runs, time.time() + seconds))
