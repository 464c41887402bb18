"""What gunicorn runs with for the browser tests: the product's settings, on the test's database and accounts."""

from __future__ import annotations

import os
from pathlib import Path

from opsboard.settings import *  # noqa: F403
from opsboard.settings import MIDDLEWARE

# Collected anew from what is there now, as `make run` would; the folder of this machine's own runs is left alone.
STATIC_ROOT = Path(os.environ["TEST_STATIC_ROOT"])
# What the accounts of the tests are made with: fast.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
MIDDLEWARE = [
    # Every test finds the tables of content types filled anew, under other numbers.
    "tests.browser.content_types.forget_content_types",
    # No observer runs beside the site: it would go on writing while the tests empty the database.
    "tests.browser.watching.be_watched",
    *MIDDLEWARE,
]
