"""The table of situations in the README: whether an export is tried again, and what its owner reads meanwhile.

What a killed worker leaves is in test_build_kills, a period that does not exist in test_from_click_to_file.
"""

from __future__ import annotations

import os
import socket
import stat
from dataclasses import replace

import pytest
from django.core import mail
from django.db import InterfaceError, OperationalError
from django.utils import timezone

from exports import tasks
from exports.files import folder, path_of
from exports.requesting import request_export
from exports.selectors import find_export
from exports.states import ExportState
from exports.tasks import build_export
from jobs.ledger import attempts
from jobs.safety import Backoff
from tests.exports.shop import outcomes, read

pytestmark = pytest.mark.django_db(transaction=True)
TIMED_OUT = [
    OperationalError("canceling statement due to statement timeout"),
    OperationalError("database is locked"),
    InterfaceError("connection already closed"),
    TimeoutError("timed out"),
    ConnectionResetError(104, "Connection reset by peer"),
    socket.gaierror(-3, "Temporary failure in name resolution"),
]


@pytest.fixture
def ask(exporter, make_orders, queues, monkeypatch):
    """ask(): an export, tried again without a pause."""
    make_orders(3)
    kind = replace(build_export.kind, retry=replace(build_export.kind.retry, base=0))
    monkeypatch.setattr(build_export, "kind", kind)
    return lambda: request_export(exporter, "2025", "").export


@pytest.fixture
def told(exporter):
    """told(export): the state, and the sentence that its owner reads."""

    def look(export):
        shown = find_export(exporter, export.pk, timezone.now())
        return shown.state, shown.sentence

    return look


def fail(monkeypatch, error, *, until=None, seen=lambda: None):
    """Have the writing of a file fail, at all attempts or at those before this one."""
    write, begun = tasks.write_file, []

    def write_or_fail(*args):
        begun.append(1)
        if until is None or len(begun) < until:
            raise error
        seen()
        return write(*args)

    monkeypatch.setattr(tasks, "write_file", write_or_fail)


@pytest.mark.parametrize("error", TIMED_OUT, ids=lambda error: f"{type(error).__name__} {error.args[-1]}")
def test_a_database_or_network_that_does_not_answer_is_tried_again_and_the_owner_reads_running(
    ask, told, run_jobs, monkeypatch, error
):
    export, seen = ask(), []
    fail(monkeypatch, error, until=3, seen=lambda: seen.append(told(export)))
    run_jobs()
    assert seen == [(ExportState.RUNNING, "It is being made; you may close this page.")]
    assert outcomes(read(export.pk).operation) == ["retrying", "retrying", "completed"]
    assert told(export) == (ExportState.READY, "The file is ready.")


def test_between_two_tries_the_owner_reads_running_too(exporter, make_orders, run_jobs, told, monkeypatch):
    make_orders(3)
    export = request_export(exporter, "2025", "").export
    fail(monkeypatch, TIMED_OUT[0])
    run_jobs()
    assert read(export.pk).operation.status == "retry_wait"
    sentence = "An attempt to make it did not succeed; the next one follows by itself."
    assert told(export) == (ExportState.RUNNING, sentence)


def test_the_pauses_grow(exporter, queues):
    stored = request_export(exporter, "2025", "").export.operation.policy
    longest = [Backoff.from_json(stored).delay(attempt, chance=1.0) for attempt in range(1, 5)]
    assert longest == sorted(set(longest))
    assert longest[0].total_seconds() >= 10


def test_with_its_tries_used_up_the_owner_reads_that_we_look_into_it(ask, told, run_jobs, monkeypatch):
    export = ask()
    fail(monkeypatch, TIMED_OUT[0])
    run_jobs()
    assert outcomes(read(export.pk).operation) == ["retrying"] * 4 + ["failed"]
    assert told(export) == (ExportState.FAILED, "It failed, and we are looking into it. You need not ask again.")


def test_what_is_ready_is_made_ready_by_no_second_attempt(ask, told, run_jobs, monkeypatch):
    """Its first attempt has made it ready, and could not say so of itself; the next one looks at the state first."""
    export, complete, ready = ask(), attempts.complete, []

    def interrupted(operation, attempt):
        if operation.pk == export.operation.pk and not ready:
            ready.append((read(export.pk).ready_at, path_of(export.pk).stat().st_ino))
            raise OperationalError("the connection was closed")
        return complete(operation, attempt)

    monkeypatch.setattr(attempts, "complete", interrupted)
    run_jobs()
    assert outcomes(read(export.pk).operation) == ["retrying", "completed"]
    assert told(export) == (ExportState.READY, "The file is ready.")
    assert (read(export.pk).ready_at, path_of(export.pk).stat().st_ino) == ready[0]
    assert len(mail.outbox) == 1


def test_the_pages_may_read_the_file_and_others_may_not(ask, run_jobs):
    """Where workers have an account of their own, the pages are of its group."""
    export, umask = ask(), os.umask(0o022)
    try:
        run_jobs()
    finally:
        os.umask(umask)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (path_of(export.pk), folder())] == [0o640, 0o750]
