"""What can befall a store between the intent and the answer, how it ends, and what is then right."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from redis import exceptions

from tests.faults.line import Cut
from tests.faults.store import ACTOR, PASSWORD, Store
from tests.support.real_rq import wait_until

Deed = Callable[[Store], Any]


@dataclass(frozen=True, kw_only=True)
class Trouble:
    """It begins when the intent is on record and the script is still to be sent; it ends after the person's answer.

    `leaves`: what may have become of the job, `done` or `untouched`; `says`: what the person may be told.
    """

    name: str
    begin: Deed
    end: Deed = lambda store: None
    leaves: tuple[str, ...] = ("untouched",)
    says: tuple[str, ...] = ("not_done",)
    spares_room: bool = False
    """Acts that free memory are carried out all the same."""
    deadline: timedelta | None = None
    """A shorter one, where the test has to wait for it."""


SOON = timedelta(seconds=1)
UNKNOWN = ("intended",)


def _half(chunk: bytes) -> bytes:
    return chunk[: len(chunk) // 2]


def _set(name: str, value: str) -> Deed:
    return lambda store: store.admin.config_set(name, value)


def _user(*rules: str) -> Deed:
    return lambda store: store.change_actor(*rules)


def _hang_up(store: Store) -> None:
    store.admin.execute_command("CLIENT", "KILL", "USER", ACTOR)


def _another_password(store: Store) -> None:
    store.change_actor("resetpass", ">another")


def _another_password_for_everybody(store: Store) -> None:
    _another_password(store)
    _hang_up(store)


def _restart(store: Store) -> None:
    store.kill()
    store.restart()


def _cut_script(store: Store) -> None:
    def cut_once(chunk: bytes) -> bytes:
        store.line.on_script = bytes
        raise Cut

    store.line.on_script = cut_once


def _halve_script(store: Store) -> None:
    store.line.on_script = _half


def _cut_answer(store: Store) -> None:
    def cut_once(chunk: bytes) -> bytes:
        store.line.on_answer = bytes
        raise Cut

    store.line.on_answer = cut_once


def _swallow_answer(store: Store) -> None:
    store.line.on_answer = lambda chunk: b""


def _die_before_the_answer(store: Store) -> None:
    def die(chunk: bytes) -> bytes:
        store.kill()
        raise Cut

    store.line.on_answer = die


def _be_busy(store: Store) -> None:
    """Somebody else's script, which never ends."""
    store.admin.config_set("busy-reply-threshold", "1")

    def run() -> None:
        with suppress(exceptions.RedisError):
            store.admin.eval("while true do end", 0)

    threading.Thread(target=run, daemon=True).start()
    wait_until(lambda: _is_busy(store), "the store is busy")


def _let_nobody_be_busy(store: Store) -> None:
    store.admin.script_kill()
    wait_until(lambda: not _is_busy(store), "the store has time again")


def _is_busy(store: Store) -> bool:
    try:
        return not store.admin.ping()
    except exceptions.ResponseError:
        return True


TROUBLES = [
    Trouble(
        name="its memory is full",
        begin=_set("maxmemory", "1"),
        end=_set("maxmemory", "0"),
        spares_room=True,
    ),
    Trouble(
        name="it becomes a replica of a server that is not there",
        begin=lambda store: store.admin.replicaof("127.0.0.1", 1),
        end=lambda store: store.admin.replicaof("NO", "ONE"),
    ),
    Trouble(
        name="it has too few replicas",
        begin=_set("min-replicas-to-write", "1"),
        end=_set("min-replicas-to-write", "0"),
    ),
    Trouble(
        name="a script of somebody else never ends",
        begin=_be_busy,
        end=_let_nobody_be_busy,
    ),
    Trouble(
        name="it stands still and goes on after the deadline",
        begin=Store.freeze,
        end=Store.thaw,
        says=UNKNOWN,
        deadline=SOON,
    ),
    Trouble(
        name="it is paused until after the deadline",
        begin=lambda store: store.admin.client_pause(1_500),
        end=lambda store: store.admin.ping(),
        says=UNKNOWN,
        deadline=SOON,
    ),
    Trouble(
        name="it is paused for a moment",
        begin=lambda store: store.admin.client_pause(200),
        leaves=("done",),
        says=("done",),
    ),
    Trouble(name="the line is cut before the script", begin=_cut_script, says=UNKNOWN),
    Trouble(name="half of the script arrives", begin=_halve_script, says=UNKNOWN),
    Trouble(name="the line is cut before the answer", begin=_cut_answer, leaves=("done",), says=UNKNOWN),
    Trouble(name="the answer never arrives", begin=_swallow_answer, leaves=("done",), says=UNKNOWN),
    Trouble(
        name="it dies before the answer and is started again",
        begin=_die_before_the_answer,
        end=Store.restart,
        leaves=("done",),
        says=UNKNOWN,
    ),
    Trouble(
        name="it dies before the script and is started again",
        begin=_restart,
        leaves=("done", "untouched"),
        says=("done", "intended", "not_done"),
    ),
    Trouble(name="it hangs up", begin=_hang_up, leaves=("done", "untouched"), says=("done", "intended")),
    Trouble(
        name="its password changes for those who come",
        begin=_another_password,
        end=_user("resetpass", f">{PASSWORD}"),
        leaves=("done",),
        says=("done",),
    ),
    Trouble(
        name="its password changes for everybody",
        begin=_another_password_for_everybody,
        end=_user("resetpass", f">{PASSWORD}"),
        says=("not_done", "intended"),
    ),
    Trouble(name="our account may run no scripts", begin=_user("-eval"), end=_user("+eval")),
    Trouble(name="our account may touch no keys", begin=_user("resetkeys"), end=_user("~rq:*", "~opsboard:*")),
    Trouble(name="our account is off", begin=_user("off"), end=_user("on"), leaves=("done",), says=("done",)),
]
