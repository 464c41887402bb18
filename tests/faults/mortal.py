"""Runs in an interpreter of its own: carries out acts, each in a process that SIGKILL ends at a named point of the act.

One JSON line in, one out. Processes are forked from here, where there is neither a thread nor a socket that a fork
would share. Nothing in the product helps: the points are found from outside, and one that is not passed is seen, since
the process then lives.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from datetime import datetime
from typing import Any
from unittest import mock

import django

POINTS = (
    "before the right is checked",
    "after the right is checked",
    "after the evidence is read",
    "after the decision",
    "after the deadline is set",
    "before the intent is committed",
    "after the intent is committed",
    "before the script is sent",
    "after the script is sent",
    "after the answer is read",
    "after the entry is closed",
)
"""In the order of an act."""


def main() -> None:
    django.setup()
    for line in sys.stdin:
        request = json.loads(line)
        sys.stdout.write(json.dumps(_end_of(request)) + "\n")
        sys.stdout.flush()


def _end_of(request: dict[str, Any]) -> int:
    """Carry out the act in a process of its own, and say how that ended: the exit code, negative for a signal."""
    pid = os.fork()
    if pid == 0:
        try:
            _die_at(request.pop("point"))
            _act(**request)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _act(*, verb: str, actor: int, queue: int, now: str, **wish: Any) -> None:
    from django.contrib.auth.models import User

    from jobs.actions import jobs
    from jobs.actions.guarded import Wish
    from jobs.models import Queue

    person, place = User.objects.get(pk=actor), Queue.objects.get(pk=queue)
    getattr(jobs, verb)(Wish(actor=person, queue=place, now=datetime.fromisoformat(now), **wish))


def _die_at(point: str) -> None:
    """Arrange for the end of this process."""
    from django.db.models.signals import post_save
    from redis.connection import AbstractConnection

    from jobs import ledger
    from jobs.actions import guarded
    from jobs.broker import commands
    from jobs.models import AuditEntry

    places: dict[str, Callable[[], object]] = {
        "before the right is checked": lambda: _before(guarded, "require"),
        "after the right is checked": lambda: _after(guarded, "require"),
        "after the evidence is read": lambda: _after(guarded, "read_job"),
        "after the decision": lambda: _before(commands, "server_time"),
        "after the deadline is set": lambda: _after(commands, "server_time"),
        # In its transaction.
        "before the intent is committed": lambda: post_save.connect(_die, sender=AuditEntry, weak=False),
        "after the intent is committed": lambda: _after(ledger, "open_entry"),
        "before the script is sent": lambda: _before(AbstractConnection, "send_command", "EVAL"),
        "after the script is sent": lambda: _after(AbstractConnection, "send_command", "EVAL"),
        "after the answer is read": lambda: _before(ledger, "close_entry"),
        "after the entry is closed": lambda: _after(ledger, "close_entry"),
    }
    assert tuple(places) == POINTS
    places[point]()


def _before(owner: object, name: str, word: str = "") -> None:
    real = getattr(owner, name)

    def die_first(*args: Any, **options: Any) -> Any:
        if word in args or not word:
            _die()
        return real(*args, **options)

    mock.patch.object(owner, name, die_first).start()


def _after(owner: object, name: str, word: str = "") -> None:
    real = getattr(owner, name)

    def die_then(*args: Any, **options: Any) -> Any:
        answer = real(*args, **options)
        if word in args or not word:
            _die()
        return answer

    mock.patch.object(owner, name, die_then).start()


def _die(*_args: object, **_options: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
