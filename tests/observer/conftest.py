"""Failures to be observed: from the keys of one real failure, as many as a test wants and whenever it wants them."""

from __future__ import annotations

import pytest

from tests.safety.conftest import declared, forget_what_jobs_did, queue, run_all  # noqa: F401  # fixtures, used by name
from tests.support.failing import Failing
from tests.support.keyspace import Dump, dump, load

_kept: dict[str, Dump] = {}


@pytest.fixture
def failing(redis_client, _interpreters) -> Failing:
    """Makes jobs fail; its model is gone from Redis again."""
    if not _kept:
        _interpreters("3.0").fail("fx.boom", 7, job_id="model")
        _kept["3.0"] = dump(redis_client)
    redis_client.flushall()
    load(redis_client, _kept["3.0"])
    made = Failing(redis_client)
    redis_client.flushall()
    return made
