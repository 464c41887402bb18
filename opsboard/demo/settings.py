"""The settings of the demo's worker: those of opsboard, but for where its mails go."""

from __future__ import annotations

from opsboard.mail import FOLDER
from opsboard.settings import *  # noqa: F403 - all of them, and then what differs
from opsboard.settings import EMAIL_BACKEND

if EMAIL_BACKEND == FOLDER:
    EMAIL_BACKEND = "opsboard.demo.mail.DemoBackend"
