"""The least that a worker needs to run operations, as in another project: no page, nothing that pages need."""

from __future__ import annotations

import json
import os

SECRET_KEY = os.environ["OPSBOARD_SECRET_KEY"]
INSTALLED_APPS = ["django.contrib.auth", "django.contrib.contenttypes", "jobs.apps.JobsConfig"]
DATABASES = {"default": json.loads(os.environ["CHAOS_DATABASE"])}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
RQ_QUEUES = {"default": {"URL": os.environ["REDIS_URL"]}}
OPSBOARD_LEASE_GRACE_SECONDS = 1
OPSBOARD_CALL_TIMEOUT_SECONDS = 0.5
OPSBOARD_QUEUE_GRACE_SECONDS = 1
OPSBOARD_NAMESPACE = "chaos"
