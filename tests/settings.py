"""The product's settings, cut off from whatever the machine that runs the tests has configured."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

# One folder for each process of each run, so that two runs of the suite on one machine do not meet.
_RUN = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))[:12]
_FOLDER = Path(tempfile.gettempdir()) / f"opsboard-tests-{_RUN}-{os.environ.get('PYTEST_XDIST_WORKER', 'main')}"

for _name in [name for name in os.environ if name.startswith(("OPSBOARD_", "REDIS_", "RQ_"))]:
    del os.environ[_name]
os.environ.pop("DATABASE_URL", None)
if _database := os.environ.get("TEST_DATABASE_URL"):
    os.environ["DATABASE_URL"] = _database
os.environ.update(
    PORT="8000",
    OPSBOARD_VAR=str(_FOLDER),
    OPSBOARD_SECRET_KEY="only-for-tests-" * 4,
    # Nobody listens there: a test that forgot to ask for a Redis gets none, and surely not the machine's.
    OPSBOARD_EMBEDDED_REDIS_URL="redis://127.0.0.1:1/0",
    OPSBOARD_EXPORTS="1",
)

from opsboard.settings import *  # noqa: E402
from opsboard.settings import DATABASES, STORAGES  # noqa: E402

if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # A file, not memory: only then do two threads wait for each other as they do in real life.
    DATABASES["default"]["TEST"] = {"NAME": str(_FOLDER / "test.sqlite3")}
    DATABASES["default"]["OPTIONS"]["init_command"] += "PRAGMA synchronous=OFF;"
else:
    DATABASES["default"]["TEST"] = {"NAME": f"test_opsboard_{_RUN}"}

# As served, but found without collectstatic.
STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = True
# Slow on purpose elsewhere.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
_FOLDER.mkdir(exist_ok=True)
