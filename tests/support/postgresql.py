"""Databases for processes beside the tests: a file, or one in a PostgreSQL that is there or is started for it."""

from __future__ import annotations

import os
import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg import sql

from opsboard.runner.valkey import free_port


@contextmanager
def a_database(kind: str, folder: Path) -> Iterator[str]:
    """The address of an empty database, gone after use; PostgreSQL's is that of TEST_DATABASE_URL, if it is set."""
    if kind == "sqlite":
        yield f"sqlite:///{folder / 'world.sqlite3'}"
        return
    with _server(folder) as server:
        name = f"opsboard_{secrets.token_hex(6)}"
        _execute(server, "CREATE DATABASE {}", name)
        try:
            yield server.rpartition("/")[0] + f"/{name}"
        finally:
            _execute(server, "DROP DATABASE {} WITH (FORCE)", name)


def has_server() -> bool:
    """Whether there is a PostgreSQL to be had."""
    return bool(os.environ.get("TEST_DATABASE_URL") or _programs())


# ----------------------------------------------------------------------------------------------------------------------


@contextmanager
def _server(folder: Path) -> Iterator[str]:
    """The address of its database for housekeeping."""
    if url := os.environ.get("TEST_DATABASE_URL"):
        yield url
        return
    programs, data, port = _programs(), folder / "cluster", free_port()
    assert programs, "there is no PostgreSQL here: apt-get install postgresql, or name one in TEST_DATABASE_URL"
    data.mkdir(mode=0o700)
    if os.geteuid() == 0:
        _let_through(data)
    _as_postgres(programs / "initdb", "-D", data / "data", "-A", "trust", "-U", "postgres", "-E", "UTF8")
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off"
    control = (programs / "pg_ctl", "-D", data / "data", "-w")
    _as_postgres(*control, "-l", data / "log", "-o", options, "start")
    try:
        yield f"postgres://postgres@127.0.0.1:{port}/postgres"
    finally:
        _as_postgres(*control, "-m", "immediate", "stop")


def _programs() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda one: int(one.parts[-3]))
    return found[-1].parent if found else None


def _as_postgres(*command: object) -> None:
    """PostgreSQL refuses to run as root."""
    become = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    subprocess.run([*become, *map(str, command)], cwd="/", check=True, stdout=subprocess.DEVNULL)


def _let_through(folder: Path) -> None:
    subprocess.run(["chown", "postgres", folder], check=True)
    for parent in (folder.parent, *folder.parents):
        if parent.stat().st_uid == 0 and str(parent).startswith("/tmp/"):
            parent.chmod(0o711)


def _execute(url: str, statement: str, name: str) -> None:
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(sql.SQL(statement).format(sql.Identifier(name)))
