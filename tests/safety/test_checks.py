"""The system checks that a project gets with the app: each setting under which a promise would be void is named."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from jobs import checks
from jobs.broker import connections
from jobs.checks import check_encoding, check_layer

STORES = {name: {"url": f"redis://{name}.example:6379/0"} for name in ("mail", "billing")}
SQLITE = {"ENGINE": "django.db.backends.sqlite3", "NAME": "shop.sqlite3"}


@pytest.fixture(autouse=True)
def sound(settings, monkeypatch):
    """A project with nothing to find fault with."""
    settings.OPSBOARD_NAMESPACE, settings.OPSBOARD_CONNECTION = "production", "mail"
    settings.OPSBOARD_CONNECTIONS = STORES
    # In place: Django warns of another dictionary, and no connection is made here.
    monkeypatch.setitem(settings.DATABASES, "default", SQLITE)
    connections.reset()


def found() -> set[str]:
    connections.reset()
    return {str(message.id).partition(".")[2] for message in check_layer(None)}


@pytest.fixture
def with_options(settings, monkeypatch):
    """Give the database these options."""
    return lambda **options: monkeypatch.setitem(settings.DATABASES, "default", {**SQLITE, "OPTIONS": options})


def test_sound_settings_pass():
    assert found() == set()


def test_keys_without_a_namespace(settings):
    settings.OPSBOARD_NAMESPACE = settings.OPSBOARD_ENVIRONMENT = ""
    assert found() == {"W001"}
    settings.OPSBOARD_ENVIRONMENT = "staging"
    assert found() == set()


def test_a_connection_that_is_not_there_and_one_that_is_only_guessed(settings):
    settings.OPSBOARD_CONNECTION = "parcels"
    assert found() == {"E002"}
    settings.OPSBOARD_CONNECTION = ""
    assert found() == {"W003"}


def test_a_name_that_only_the_dashboard_knows(settings):
    settings.OPSBOARD_CONNECTIONS = {}
    assert found() == set()


@pytest.mark.parametrize(
    "options",
    [
        {"init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"},
        {"init_command": "pragma synchronous = 0"},
        {"options": "-c synchronous_commit=off"},
    ],
    ids=["normal", "zero", "asynchronous"],
)
def test_a_database_that_forgets_commits(with_options, options):
    with_options(**options)
    assert found() == {"W004"}


def test_a_database_that_keeps_them(with_options):
    with_options(init_command="PRAGMA synchronous=FULL;", options="-c synchronous_commit=on")
    assert found() == set()


def test_a_pool_that_forks_would_share(with_options):
    with_options(pool=True)
    assert found() == {"W005"}


def test_a_ledger_apart_from_the_business_data(settings, monkeypatch):
    class Apart:
        def db_for_write(self, model, **hints):
            return "ledger"

    monkeypatch.setitem(settings.DATABASES, "ledger", SQLITE)
    settings.DATABASE_ROUTERS = [Apart()]
    assert found() == {"W006"}


def test_times_without_a_zone_and_a_lease_shorter_than_a_kill(settings):
    settings.USE_TZ = False
    assert found() == {"E007"}
    settings.USE_TZ, settings.OPSBOARD_LEASE_GRACE_SECONDS = True, 59
    assert found() == {"W008"}


def test_a_database_that_cannot_hold_every_text(monkeypatch):
    class Postgresql:
        """Answers as one that was made under LANG=C."""

        vendor = "postgresql"
        encoding = "SQL_ASCII"

        def cursor(self):
            return nullcontext(self)

        def execute(self, statement):
            assert statement == "SHOW server_encoding"

        def fetchone(self):
            return (self.encoding,)

    monkeypatch.setattr(checks, "django_connections", {"default": Postgresql()})
    assert [one.id for one in check_encoding(None, databases=["default"])] == ["opsboard_jobs.E009"]
    assert check_encoding(None) == []
    monkeypatch.setattr(Postgresql, "encoding", "UTF8")
    assert check_encoding(None, databases=["default"]) == []


@pytest.mark.django_db
def test_the_database_of_the_tests_holds_every_text():
    assert check_encoding(None, databases=["default"]) == []
