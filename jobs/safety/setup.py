"""What a process needs before a job can run in it: Django, its own database connections, a parent that lives."""

from __future__ import annotations

import os
from typing import Any

import django
from django.apps import apps
from django.conf import ENVIRONMENT_VARIABLE, settings
from django.core.exceptions import ImproperlyConfigured

from jobs.safety.errors import SetupError

_APP = "opsboard_jobs"
_was_forked = False
_inherited: list[Any] = []
"""Database connections of the parent: closing one here would end it there too, so they are put aside and kept."""


def _note_fork() -> None:
    global _was_forked
    _was_forked = True


os.register_at_fork(after_in_child=_note_fork)


def set_up_django() -> None:
    """Load Django, unless it is there or just being loaded: a stock `rq worker` knows nothing of it.

    Raises SetupError naming the setting that is missing.
    """
    if apps.ready or apps.loading:
        return
    if not settings.configured and not os.environ.get(ENVIRONMENT_VARIABLE):
        raise SetupError(
            "Jobs of this kind need Django's settings: start the worker with "
            f"{ENVIRONMENT_VARIABLE}=yourproject.settings."
        )
    try:
        django.setup()
    except (ImportError, ImproperlyConfigured) as error:
        raise SetupError(f"Django's settings can't be used by this worker: {error}") from error


def prepare_process() -> None:
    """Make this process fit for a job. Raises SetupError naming what is missing."""
    set_up_django()
    if not apps.is_installed("jobs"):
        raise SetupError("Add “jobs.apps.JobsConfig” to INSTALLED_APPS, and run `manage.py migrate`.")
    from django.db import close_old_connections

    _put_inherited_connections_aside()
    close_old_connections()


def _put_inherited_connections_aside() -> None:
    """In a process that was forked, the sockets that were open before belong to the parent."""
    global _was_forked
    if not _was_forked:
        return
    from django.db import connections

    _was_forked = False
    for one in connections.all(initialized_only=True):
        if one.connection is not None:
            _inherited.append(one.connection)
            one.connection = None
