"""The site as it is shipped: gunicorn, middleware and hashed static files, on the database of this test process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings

from opsboard.runner.valkey import free_port
from tests.support import database
from tests.support.real_rq import ROOT, wait_until
from tests.support.web import GUNICORN, can_connect

STATIC_ROOT = settings.VAR_DIR / "static"


class Site:
    """One gunicorn on a port of its own. Make it when the test database is there; `folder` is its var/."""

    def __init__(self, folder: Path, redis_url: str) -> None:
        self.log = folder / "web.log"
        self.exports = folder / "exports"
        self._port = free_port()
        self._environ = _environ(folder, redis_url, self._port)
        self.address = f"http://localhost:{self._port}"

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Start, wait for an answer; end it after use. The first of a test process collects the static files."""
        if not STATIC_ROOT.exists():
            collect = [sys.executable, "manage.py", "collectstatic", "--no-input", "--verbosity", "0"]
            subprocess.run(collect, cwd=ROOT, env=self._environ, check=True)
        # To a file: a pipe that nobody reads is full after some hundred requests, and then the server waits.
        with self.log.open("ab") as log:
            process = subprocess.Popen(GUNICORN, cwd=ROOT, env=self._environ, stderr=log)
        try:
            wait_until(lambda: can_connect(self._port), "gunicorn listens", seconds=60)
            yield
        finally:
            process.terminate()
            process.wait(timeout=20)

    def last_error(self) -> str:
        """The last traceback of its log, for the reader of a failed test; '' without one."""
        lines = [line for line in self.log.read_text().splitlines() if '"exception"' in line]
        return lines[-1].replace("\\n", "\n") if lines else ""


def _environ(folder: Path, redis_url: str, port: int) -> dict[str, str]:
    """Nothing of the test run's own settings but its key, so that a session made here is one there."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    ours = {
        "DJANGO_SETTINGS_MODULE": "tests.browser.served_settings",
        "OPSBOARD_SECRET_KEY": settings.SECRET_KEY,
        "OPSBOARD_VAR": str(folder),
        "OPSBOARD_EXPORTS": "1",
        "TEST_STATIC_ROOT": str(STATIC_ROOT),
        "DATABASE_URL": database.url(),
        "REDIS_URL": redis_url,
        "PORT": str(port),
    }
    return kept | ours
