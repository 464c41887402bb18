"""A project that has nothing of opsboard but the app with its models; DATABASE and WITHOUT come from the test."""

from __future__ import annotations

import json
import os

SECRET_KEY = "only-for-tests-" * 4
INSTALLED_APPS = ["django.contrib.auth", "django.contrib.contenttypes", "jobs.apps.JobsConfig", "shop"]
if os.environ.get("WITHOUT") == "app":
    INSTALLED_APPS.remove("jobs.apps.JobsConfig")
# Kept open, so that there is one to inherit.
DATABASES = {"default": {**json.loads(os.environ["DATABASE"]), "CONN_MAX_AGE": 600}}
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
TIME_ZONE = "UTC"
USE_TZ = True
RQ_QUEUES = {"default": {"URL": os.environ["REDIS_URL"]}}
OPSBOARD_NAMESPACE = "shop"
