"""Finds the system's Chromium: the browser tests drive that one, and none of their own."""

from __future__ import annotations

import os
import shutil

INSTALL = "apt-get install chromium"
"""How to get it on Debian and its kin."""

_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
"""First the one without the parts of a window: the same engine opens a page in a quarter of the time."""


def find_chromium() -> str | None:
    """The path of a Chromium: TEST_CHROMIUM's, else the first on PATH; None without one."""
    return shutil.which(os.environ.get("TEST_CHROMIUM", "")) or next(filter(None, map(shutil.which, _NAMES)), None)
