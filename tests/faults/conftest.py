"""The jobs that acts are tried on, and the interpreter whose processes are killed while they act."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as configured

from jobs.actions.guarded import Wish
from jobs.actions.reviews import Saying
from jobs.actions.settle import MARGIN, settle_open_entries
from jobs.broker import commands
from jobs.models import JobType
from tests.faults.scene import JOBS, furnish
from tests.support import database
from tests.support.keyspace import Dump
from tests.support.real_rq import ROOT


@pytest.fixture(params=["3.0"])
def rq_version(request) -> str:
    """What an act does to the data of either version is proved in tests/broker."""
    return request.param


@pytest.fixture(params=JOBS)
def verb(request) -> str:
    """Each act."""
    return request.param


@pytest.fixture(scope="session")
def _furniture() -> list[Dump]:
    return []


@pytest.fixture
def furniture(real_rq, redis_client, _furniture) -> Dump:
    """What Redis holds of the jobs; a real RQ made them, once for all tests."""
    if not _furniture:
        _furniture.append(furnish(real_rq, redis_client))
        redis_client.flushall()
    return _furniture[0]


@pytest.fixture
def declared(transactional_db) -> None:
    JobType.objects.create(path="fx.boom", idempotency="repeatable")


@pytest.fixture
def settle(monkeypatch) -> Callable[[], None]:
    """Settle what is open, at an hour when every deadline and the margin after it are over."""

    def settle_later() -> None:
        store_time = commands.server_time
        with monkeypatch.context() as later:
            later.setattr(commands, "server_time", lambda connection: store_time(connection) + 10 * MARGIN)
            settle_open_entries(now=datetime.now(UTC))

    return settle_later


class Mortals:
    """Processes that die while they act, on the database of the tests and one Redis."""

    def __init__(self, folder: Path, redis_url: str) -> None:
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        ours = {
            "DJANGO_SETTINGS_MODULE": "opsboard.settings",
            "OPSBOARD_SECRET_KEY": configured.SECRET_KEY,
            "OPSBOARD_VAR": str(folder),
            "DATABASE_URL": database.url(),
            "REDIS_URL": redis_url,
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.mortal"],
            cwd=ROOT,
            env=kept | ours,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def act(self, verb: str, wish: Wish, *, dying: str) -> int:
        """Carry out the act in a process that dies at that point; returns how it ended (-9: it was killed there)."""
        request = {
            "verb": verb,
            "point": dying,
            "actor": wish.actor.pk,
            "queue": wish.queue.pk,
            "job_id": wish.job_id,
            "seen": wish.seen,
            "confirmed": wish.confirmed,
            "typed": wish.typed,
            "now": wish.now.isoformat(),
        }
        return self._ask(request)

    def resolve(self, saying: Saying, *, dying: str) -> int:
        """The same for *it did not happen*, said in a review."""
        request = {
            "point": dying,
            "actor": saying.actor.pk,
            "review": saying.review_id,
            "version": saying.version,
            "seen": saying.seen,
            "given": dict(saying.given),
            "now": saying.now.isoformat(),
        }
        return self._ask(request)

    def _ask(self, request: dict[str, Any]) -> int:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return int(json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        self._process.communicate()


@pytest.fixture(scope="session")
def mortals(django_db_setup, django_db_blocker, valkey, tmp_path_factory) -> Iterator[Mortals]:
    with django_db_blocker.unblock():
        mortals = Mortals(tmp_path_factory.mktemp("mortals"), valkey.url)
    yield mortals
    mortals.close()
