"""The jobs of the matrix: one effect each, at the oracle, in a file, or in our own database.

The key that a job is given says what is to happen to it (tests.chaos.events), and is its business key at the oracle.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from jobs.safety import (
    Absent,
    Backoff,
    Checkable,
    Found,
    Keyed,
    Repeatable,
    Unsafe,
    atomic_effect,
    classify_http,
    hours,
    once,
    operation,
    result_file,
    seconds,
)
from jobs.safety.promises import Answer, Safety
from tests.chaos.events import at, is_first
from tests.oracle import client

AT_ONCE = Backoff(max_attempts=5, base=0, max_lost=3)
CALL_SECONDS = 8.0
"""Of patience on the wire: longer than the oracle ever takes, and than a job's time limit where that is to run out."""
MODES = {"repeatable": "blind", "keyed": "keyed", "short_keyed": "keyed", "checkable": "checkable", "unsafe": "blind"}


def oracle_url() -> str:
    """Where the other side listens."""
    return os.environ["CHAOS_ORACLE"]


def find(handle: Any) -> Answer:
    """The other side's answer about an effect."""
    key = handle.operation_id.partition(":")[2]
    known = client.ask(oracle_url(), key)
    return Found(known) if known else Absent()


SAFETIES: dict[str, Safety] = {
    "repeatable": Repeatable(),
    "keyed": Keyed(hours(24)),
    "short_keyed": Keyed(seconds(1)),
    "checkable": Checkable(find, settles_in=seconds(1)),
    "unsafe": Unsafe(),
}


def call(kind: str, key: str, idempotency_key: str) -> str:
    """Have the effect at the oracle. Between the request and its answer lies a point."""
    headers = {"Idempotency-Key": idempotency_key} if MODES[kind] == "keyed" else {}
    place = "127.0.0.1:1" if is_first(key, "call", "refused") else urlsplit(oracle_url()).netloc
    connection = HTTPConnection(place, timeout=CALL_SECONDS)
    try:
        connection.request("POST", f"/act/{MODES[kind]}/{quote(key, safe='')}", key, headers)
        at("in_call")
        return _id_in(connection)
    finally:
        connection.close()


def act_once(kind: str, key: str) -> str:
    """The effect, by the layer."""

    def called(handle: Any) -> str:
        with classify_http():
            return call(kind, key, handle.key)

    return str(once("act", called, safety=SAFETIES[kind]))


@operation("{kind}:{key}", entity="key", retry=AT_ONCE)
def act(kind: str, key: str) -> str:
    """One effect outside."""
    return act_once(kind, key)


@operation("{kind}:{key}", entity="key", retry=AT_ONCE, effects=["act"])
def act_declared(kind: str, key: str) -> str:
    """One effect outside, which is said to be the only one."""
    return act_once(kind, key)


@operation("{kind}:{key}", entity="key", retry=AT_ONCE)
def swallow(kind: str, key: str) -> None:
    """A job that hides what went wrong in its effect."""
    with suppress(Exception):
        act_once(kind, key)


@operation("{kind}:{key}", entity="key", retry=AT_ONCE)
def enclose(kind: str, key: str) -> str:
    """A job that has its effect inside a transaction, which could take back the record of it."""
    from django.db import transaction

    with transaction.atomic():
        return act_once(kind, key)


@operation("{kind}:{key}", entity="key", retry=AT_ONCE)
def write_down(kind: str, key: str) -> str:
    """One effect in our own database: a row."""
    from jobs.models import Queue

    with atomic_effect("write") as done:
        if not done.completed:
            Queue.objects.create(connection="chaos", name=key)
    return key


@operation("{kind}:{key}", entity="key", retry=AT_ONCE)
def export(kind: str, key: str) -> str:
    """One effect in the file system: a result."""
    once("file", lambda: _write_file(key), safety=Repeatable())
    return key


# ----------------------------------------------------------------------------------------------------------------------


def file_of(key: str) -> Path:
    """Where the result of a job lies."""
    return Path(os.environ["CHAOS_FOLDER"]) / "results" / key


LINES = 200


def _write_file(key: str) -> str:
    with result_file(file_of(key)) as file:
        for number in range(LINES):
            file.write(f"{number} {key}\n".encode())
            if number == LINES // 2:
                file.flush()
                at("in_file")
    return key


def _id_in(connection: HTTPConnection) -> str:
    response = connection.getresponse()
    text = response.read().decode()
    if response.status >= 400:
        raise client.AnsweredWithError(client.Response(response.status, response.headers, text))
    return str(json.loads(text)["id"])
