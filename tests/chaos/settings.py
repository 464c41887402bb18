"""The product's settings with waits so short that a test can sit them out; those of every process of a world."""

from __future__ import annotations

import os

from opsboard.settings import *  # noqa: F403  # the product's settings, all of them, then what differs

OPSBOARD_LEASE_GRACE_SECONDS = 1
OPSBOARD_CALL_TIMEOUT_SECONDS = 0.5
OPSBOARD_QUEUE_GRACE_SECONDS = 1
OPSBOARD_NAMESPACE = "chaos"
OPSBOARD_DIE_WITH_WORKER = bool(os.environ.get("CHAOS_DIE_WITH_WORKER"))
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STORAGES = {"staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = True
