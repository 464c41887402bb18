"""Stock workers of either RQ version that can run operations: the jobs of tests/chaos/work.py."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from rq import Worker

from tests.oracle.running import RunningOracle
from tests.support import database
from tests.support.real_rq import ROOT, RealRQ


class LoadedWorker(Worker):
    """A stock worker that has loaded the jobs before it forks: each horse starts in a moment."""

    def work(self, *args: Any, **kwargs: Any) -> bool:
        import_module("tests.chaos.work")
        return super().work(*args, **kwargs)


@contextmanager
def layer_rq(version: str, url: str, folder: Path, oracle: RunningOracle) -> Iterator[RealRQ]:
    """An RQ whose workers know Django, the tests' database and the oracle; all ends with it.

    What is to happen to a job stands in its key (tests.chaos.events).
    """
    for name in ("fired", "frozen", "results"):
        (folder / name).mkdir()
    environ = {
        "PYTHONPATH": str(ROOT),
        "DJANGO_SETTINGS_MODULE": "tests.chaos.bare_settings",
        "OPSBOARD_SECRET_KEY": "only-for-tests-" * 4,
        "OPSBOARD_TEST_POINTS": "tests.chaos.events:at",
        "CHAOS_DATABASE": json.dumps(database.entry()),
        "CHAOS_FOLDER": str(folder),
        "CHAOS_ORACLE": oracle.url,
        "REDIS_URL": url,
    }
    rq = RealRQ(version, url, folder, environ)
    try:
        yield rq
    finally:
        rq.close()
