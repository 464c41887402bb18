"""What a process needs before a job can run in it: Django, its own database connections, a parent that lives."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import django
from django.apps import apps
from django.conf import ENVIRONMENT_VARIABLE, settings
from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError, ProgrammingError, connections

from jobs.safety.errors import SetupError

_APP = "opsboard_jobs"
_inherited: list[Any] = []
"""Database connections of the parent: closing one here would end it there too, so they are put aside and kept."""


def _note_fork() -> None:
    """What is open at this moment is the parent's; what the child opens later, before its first job, is its own."""
    if settings.configured:
        opened = connections.all(initialized_only=True)
        _inherited.extend(one.connection for one in opened if one.connection is not None)


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
    require_app()
    _put_inherited_connections_aside()
    close_old_connections()


def require_app() -> None:
    """Load Django. Raises SetupError unless the project has the layer's models."""
    set_up_django()
    if not apps.is_installed("jobs"):
        raise SetupError("Add “jobs.apps.JobsConfig” to INSTALLED_APPS, and run `manage.py migrate`.")


@contextmanager
def needing_tables() -> Iterator[None]:
    """Raises SetupError where a statement in the block fails since the layer's tables are not there, or are older."""
    try:
        yield
    except (OperationalError, ProgrammingError) as error:
        state = getattr(error.__cause__, "sqlstate", None)
        if state in _NO_SUCH_THING or _NOT_THERE.search(str(error)):
            raise SetupError(
                "The tables of “jobs” are missing or older than its code: run `manage.py migrate`."
            ) from error
        raise


_NO_SUCH_THING = ("42P01", "42703")
"""PostgreSQL: undefined table, undefined column."""
_NOT_THERE = re.compile(r"no such (table|column): .*opsboard_jobs_|table opsboard_jobs_\w+ has no column")
"""SQLite has only words for it."""


def close_old_connections() -> None:
    """Close what is past its age, or does not answer: a worker may have been idle for hours between two jobs.

    Not Django's function of that name: without a CONN_MAX_AGE it closes all of them, and so each job of a long-lived
    worker would pay for a new connection (on SQLite for a checkpoint too), while nothing else of RQ's does that.
    """
    for one in connections.all(initialized_only=True):
        if one.connection is None or one.in_atomic_block:
            continue
        is_old = (
            bool(one.settings_dict["CONN_MAX_AGE"]) and one.close_at is not None and time.monotonic() > one.close_at
        )
        if is_old or not one.is_usable():
            one.close()


def _put_inherited_connections_aside() -> None:
    """In a process that was forked, the sockets that were open before belong to the parent."""
    for one in connections.all(initialized_only=True):
        if any(one.connection is parents for parents in _inherited):
            one.connection = None
