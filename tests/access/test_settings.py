"""The settings as a process of its own reads them."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from django.urls import get_resolver

from tests.support.real_rq import ROOT

ASK = """
import json, os
os.environ["DJANGO_SETTINGS_MODULE"] = "opsboard.settings"
from django.core.exceptions import ImproperlyConfigured
from django.conf import settings
try:
    print(json.dumps({expression}, default=str))
except ImproperlyConfigured as error:
    print(json.dumps("refused: " + str(error)))
"""


@pytest.fixture
def ask(tmp_path):
    def value_of(expression, **environ):
        kept = {"PATH": os.environ["PATH"], "OPSBOARD_VAR": str(tmp_path / "var"), **environ}
        command = [sys.executable, "-c", ASK.replace("{expression}", expression)]
        done = subprocess.run(command, cwd=ROOT, env=kept, check=True, capture_output=True, text=True)
        return json.loads(done.stdout)

    return value_of


def test_sqlite_keeps_what_was_committed_and_writers_wait_for_each_other(ask):
    pragmas = ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
    expression = (
        f"[__import__('django.db').db.connection.cursor().execute('PRAGMA ' + p).fetchone()[0] for p in {pragmas}]"
    )
    assert ask(expression) == ["wal", 2, 1, 20000]
    assert ask("settings.DATABASES['default']['OPTIONS']['transaction_mode']") == "IMMEDIATE"
    assert ask("settings.DATABASES['default'].get('ATOMIC_REQUESTS', False)") is False


def test_a_sqlite_file_of_ones_own_is_kept_as_safe(ask, tmp_path):
    url = f"sqlite:///{tmp_path}/other.sqlite3"
    assert ask("settings.DATABASES['default']['OPTIONS']['transaction_mode']", DATABASE_URL=url) == "IMMEDIATE"


def test_postgresql_is_asked_for_by_address_and_fails_fast(ask):
    database = ask(
        "settings.DATABASES['default']", DATABASE_URL="postgres://o:p%40ss@db.example:5433/ops?sslmode=require"
    )
    assert (database["ENGINE"], database["HOST"], database["PORT"]) == (
        "django.db.backends.postgresql",
        "db.example",
        5433,
    )
    assert (database["PASSWORD"], database["CONN_HEALTH_CHECKS"]) == ("p@ss", True)
    assert database["OPTIONS"] == {"connect_timeout": 5, "sslmode": "require"}


@pytest.mark.parametrize(
    "url", ["mysql://u:s3cret@h/d", "s3cret", "postgres://u:s3cret@[h/d", "postgres://u:s3cret@h:x/d"]
)
def test_a_database_address_that_cannot_be_read_is_not_repeated(ask, url):
    said = ask("settings.DATABASES['default']", DATABASE_URL=url)
    assert said.startswith("refused: DATABASE_URL can't be read; ")
    assert "s3cret" not in said


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OPSBOARD_MODE", "open"),
        ("OPSBOARD_READ_ONLY", "perhaps"),
        ("OPSBOARD_TIME_ZONE", "Berlin"),
        ("OPSBOARD_SESSION_HOURS", "0"),
        ("OPSBOARD_LOG_LEVEL", "DEBUG"),
        ("OPSBOARD_ENVIRONMENT_COLOUR", "mauve"),
        ("OPSBOARD_DEBUG", "2"),
        ("PORT", "0"),
        ("REDIS_URL", "localhost:6379"),
        ("OPSBOARD_RETENTION_DAYS", "0"),
        ("OPSBOARD_REVIEW_AGE_LIMIT_HOURS", "2.5"),
        ("OPSBOARD_LEASE_GRACE_SECONDS", "0"),
        ("OPSBOARD_CALL_TIMEOUT_SECONDS", "soon"),
        ("OPSBOARD_QUEUE_GRACE_SECONDS", "-1"),
        ("OPSBOARD_DIE_WITH_WORKER", "often"),
    ],
)
def test_a_bad_value_ends_the_start_with_a_sentence_that_names_the_variable(ask, name, value):
    assert ask("settings.DEBUG", **{name: value}).startswith(f"refused: {name} ")


def test_without_any_variable_everything_has_its_safe_default(ask):
    names = (
        "DEBUG",
        "OPSBOARD_READ_ONLY",
        "OPSBOARD_DEMO",
        "TIME_ZONE",
        "USE_TZ",
        "ALLOWED_HOSTS",
        "OPSBOARD_CONNECTIONS",
        "OPSBOARD_RETENTION_DAYS",
        "OPSBOARD_REVIEW_AGE_LIMIT_HOURS",
        "OPSBOARD_LINKS",
    )
    expression = f"[getattr(settings, name) for name in {names}]"
    local = ["localhost", "127.0.0.1", "[::1]"]
    assert ask(expression) == [False, False, False, "UTC", True, local, {}, 90, 24, []]


def test_what_operations_need_has_its_default_too(ask):
    names = ("NAMESPACE", "CONNECTION", *(f"{one}_SECONDS" for one in ("LEASE_GRACE", "CALL_TIMEOUT", "QUEUE_GRACE")))
    expression = f"[getattr(settings, f'OPSBOARD_{{name}}') for name in {(*names, 'DIE_WITH_WORKER')}]"
    assert ask(expression) == ["local", "", 90.0, 30.0, 60.0, False]
    assert ask("settings.OPSBOARD_NAMESPACE", OPSBOARD_ENVIRONMENT="staging") == "staging"
    assert ask("settings.OPSBOARD_CONNECTION", OPSBOARD_REDIS_BILLING_URL="redis://h:6379/0") == "billing"


def test_the_connection_of_operations_must_be_a_known_one(ask):
    said = ask("settings.OPSBOARD_CONNECTION", REDIS_URL="redis://h:6379/0", OPSBOARD_CONNECTION="mail")
    assert said.startswith("refused: OPSBOARD_CONNECTION must be one of default; ")


def test_the_exports_are_not_looked_for_in_another_store_than_their_jobs_are_put_into(ask):
    stores = {"REDIS_URL": "redis://h:6379/0", "OPSBOARD_REDIS_OTHER_URL": "redis://o:6379/0"}
    said = ask("settings.OPSBOARD_CONNECTION", OPSBOARD_EXPORTS="1", OPSBOARD_CONNECTION="other", **stores)
    assert said.startswith("refused: The exports use the store of REDIS_URL; ")
    assert ask("settings.OPSBOARD_CONNECTION", OPSBOARD_EXPORTS="0", OPSBOARD_CONNECTION="other", **stores) == "other"
    assert ask("settings.OPSBOARD_CONNECTION", OPSBOARD_EXPORTS="1", **stores) == "default"


def test_no_admin_site_and_no_page_of_django_rq_is_there(ask):
    assert "django.contrib.admin" not in ask("settings.INSTALLED_APPS")
    assert ask("settings.RQ_SHOW_ADMIN_LINK") is False
    assert not [name for name in get_resolver().app_dict if name not in ("jobs", "exports")]


def test_the_worker_command_finds_its_queues(ask):
    queues = ask("settings.RQ_QUEUES", REDIS_URL="redis://h:6379/0", OPSBOARD_WORKER_QUEUES="exports, mail")
    assert queues == {"exports": {"URL": "redis://h:6379/0"}, "mail": {"URL": "redis://h:6379/0"}}
    assert list(ask("settings.RQ_QUEUES", REDIS_URL="redis://h:6379/0")) == ["default", "high", "low"]
