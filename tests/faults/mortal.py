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

Places = dict[str, Callable[[], object]]

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
POINTS_OF_A_VERDICT = (
    "after the rights are checked",
    "after the evidence is read",
    "after the deadline is set",
    "after the review has taken its turn",
    "before the intent is committed",
    "after the intent is committed",
    "before the script is sent",
    "after the script is sent",
    "after the answer is read",
    "before the review is closed",
    "before the end is committed",
    "after the entry is closed",
)
"""In the order of *it did not happen*, said in a review."""


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
            point, is_verdict = request.pop("point"), "review" in request
            (_places_of_a_verdict() if is_verdict else _places())[point]()
            (_resolve if is_verdict else _act)(**request)
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


def _resolve(*, actor: int, review: int, version: int, seen: str, given: dict[str, str], now: str) -> None:
    from django.contrib.auth.models import User

    from jobs.actions.reviews import Saying, resolve
    from jobs.domain.verdicts import Verdict

    said = Saying(
        actor=User.objects.get(pk=actor),
        review_id=review,
        verdict=Verdict.DID_NOT_HAPPEN,
        version=version,
        seen=seen,
        given=given,
        now=datetime.fromisoformat(now),
    )
    resolve(said)


def _places() -> Places:
    """By point, what arranges for the end of this process there."""
    from django.db.models.signals import post_save
    from redis.connection import AbstractConnection

    from jobs import ledger
    from jobs.actions import guarded
    from jobs.broker import commands
    from jobs.models import AuditEntry

    places: Places = {
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
    return places


def _places_of_a_verdict() -> Places:
    from django.db.models.signals import post_save
    from redis.connection import AbstractConnection

    from jobs import ledger
    from jobs.actions import reviews as actions
    from jobs.broker import commands
    from jobs.ledger import failures, reviews
    from jobs.models import Resolution

    places: Places = {
        "after the rights are checked": lambda: _after(actions, "_require_retry"),
        "after the evidence is read": lambda: _after(actions, "read_job"),
        "after the deadline is set": lambda: _after(commands, "server_time"),
        # In the transaction of the intent.
        "after the review has taken its turn": lambda: _after(reviews, "_take_turn"),
        "before the intent is committed": lambda: post_save.connect(_die, sender=Resolution, weak=False),
        "after the intent is committed": lambda: _after(reviews, "intend_retry"),
        "before the script is sent": lambda: _before(AbstractConnection, "send_command", "EVAL"),
        "after the script is sent": lambda: _after(AbstractConnection, "send_command", "EVAL"),
        "after the answer is read": lambda: _before(ledger, "close_entry"),
        # In the transaction of the end.
        "before the review is closed": lambda: _before(reviews, "conclude_retry"),
        "before the end is committed": lambda: _after(failures, "note_act"),
        "after the entry is closed": lambda: _after(ledger, "close_entry"),
    }
    assert tuple(places) == POINTS_OF_A_VERDICT
    return places


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
