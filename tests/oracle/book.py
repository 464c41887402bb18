"""What the oracle keeps: an append-only file of JSON lines, and the same in memory.

A line is on the disk before anything follows from it, so the book outlives the death of whoever called, and its own.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections import defaultdict
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any


class Fault(StrEnum):
    """What may go wrong with a call, once armed."""

    DROP_REQUEST = "drop_request"
    """The connection is closed, and nothing was done."""
    DROP_ANSWER = "drop_answer"
    """It is done, then the connection is closed without an answer."""
    HANG = "hang"
    """It is done, then no answer comes for `seconds`, and after that none either."""
    ERROR_AFTER = "error_after"
    """It is done, and the answer is the error `status`."""
    ERROR_BEFORE = "error_before"
    """The answer is the error `status`, and nothing was done."""
    SLOW = "slow"
    """It is done after `seconds`, whether or not the caller still waits; its key is in progress until then."""
    TOO_MANY = "too_many"
    """Turned away with 429 and a Retry-After of `seconds`."""


@dataclass(frozen=True, kw_only=True)
class Armed:
    """A fault that waits for a call. `nth` counts the calls of one verb for one business key from 1; 0 is every one."""

    fault: Fault
    verb: str = "act"
    nth: int = 1
    seconds: float = 30.0
    status: int = 500


@dataclass(frozen=True, kw_only=True)
class Rules:
    """How the service treats a business key. Both may be changed at any time, and hold for what lies back as well."""

    forget_after: float
    settles_in: float


@dataclass(frozen=True, kw_only=True)
class Call:
    """One request. `status`: of the answer, None while there is none; `effect`: what it did or was answered with."""

    number: int
    at: float
    verb: str
    mode: str
    business_key: str
    nth: int
    idempotency_key: str
    fault: str
    status: int | None = None
    effect: str = ""


@dataclass(frozen=True, kw_only=True)
class Effect:
    """Something that happened, once. `call`: the number of the request that did it."""

    id: str
    at: float
    business_key: str
    mode: str
    idempotency_key: str
    fingerprint: str
    call: int


@dataclass
class Key:
    """An idempotency key in use: since when, for which request, and what came of it (None: in progress)."""

    at: float
    fingerprint: str
    effect: str | None = None


@dataclass
class Book:
    """Every call and every effect. Methods are safe to call from any thread."""

    path: Path
    rules: Rules
    calls: list[Call] = field(default_factory=list)
    effects: dict[str, list[Effect]] = field(default_factory=lambda: defaultdict(list))
    keys: dict[str, Key] = field(default_factory=dict)
    _armed: dict[str, list[Armed]] = field(default_factory=lambda: defaultdict(list))
    _own_rules: dict[str, Rules] = field(default_factory=dict)
    _counts: dict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def __post_init__(self) -> None:
        whole = _whole_lines(self.path)
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        # A line that a crash cut short says nothing, and must not run into the next.
        os.ftruncate(self._file, len(whole))
        for line in whole.splitlines():
            self._apply(**json.loads(line))

    def open_call(
        self, verb: str, mode: str, business_key: str, idempotency_key: str = ""
    ) -> tuple[Call, Armed | None]:
        """Write a request down as it comes in, with the fault that waited for it."""
        with self._lock:
            nth = self._counts[verb, business_key] + 1
            armed = self._armed_for(verb, business_key, nth)
            call = Call(
                number=len(self.calls) + 1,
                at=time.time(),
                verb=verb,
                mode=mode,
                business_key=business_key,
                nth=nth,
                idempotency_key=idempotency_key,
                fault=armed.fault if armed else "",
            )
            self._append("call", asdict(call))
            return call, armed

    def close_call(self, call: Call, status: int | None, effect: str = "") -> None:
        """Add what was answered; None: nothing."""
        with self._lock:
            self._append("answer", {"number": call.number, "status": status, "effect": effect})

    def add_effect(self, call: Call, fingerprint: str) -> str:
        """Let it happen, and return the id it got; on the disk when this returns. A call has one effect at most."""
        with self._lock:
            effect = Effect(
                id=f"E{call.number}",
                at=time.time(),
                business_key=call.business_key,
                mode=call.mode,
                idempotency_key=call.idempotency_key,
                fingerprint=fingerprint,
                call=call.number,
            )
            self._append("effect", asdict(effect))
        os.fdatasync(self._file)
        return effect.id

    def claim_key(self, call: Call, fingerprint: str) -> Key | None:
        """Take an idempotency key for this request; the one that is known already, if there is one."""
        with self._lock:
            known = self.keys.get(call.idempotency_key)
            if known and not self._is_forgotten(known, call.business_key):
                return replace(known)
            self.keys[call.idempotency_key] = Key(call.at, fingerprint)
            return None

    def visible_effect(self, business_key: str) -> Effect | None:
        """The first effect that has settled."""
        settled_before = time.time() - self.rules_of(business_key).settles_in
        return next((effect for effect in self.effects_of(business_key) if effect.at <= settled_before), None)

    def arm(self, business_key: str, armed: Armed) -> None:
        """Let a fault wait. Raises ValueError for a call that has been made already: it would wait for ever."""
        with self._lock:
            if 0 < armed.nth <= self._counts.get((armed.verb, business_key), 0):
                raise ValueError(f"{armed.verb} number {armed.nth} of {business_key} has been made already")
            self._append("arm", {"business_key": business_key, **asdict(armed)})

    def change_rules(self, business_key: str, changed: dict[str, float]) -> None:
        """Treat a business key in its own way from now on."""
        with self._lock:
            rules = replace(self.rules_of(business_key), **changed)
            self._append("rules", {"business_key": business_key, **asdict(rules)})

    def rules_of(self, business_key: str) -> Rules:
        """How it is treated now."""
        return self._own_rules.get(business_key, self.rules)

    def effects_of(self, business_key: str) -> list[Effect]:
        """All that happened under a business key, in order."""
        with self._lock:
            return list(self.effects.get(business_key, ()))

    def counts(self) -> dict[str, int]:
        """How often each business key had an effect."""
        with self._lock:
            return {key: len(effects) for key, effects in self.effects.items()}

    def calls_of(self, business_key: str | None) -> list[Call]:
        """The calls of one business key, or all, in order."""
        with self._lock:
            return [call for call in self.calls if business_key in (None, call.business_key)]

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)

    # ------------------------------------------------------------------------------------------------------------------

    def _armed_for(self, verb: str, business_key: str, nth: int) -> Armed | None:
        waiting = self._armed.get(business_key, ())
        return next((armed for armed in waiting if armed.verb == verb and armed.nth in (0, nth)), None)

    def _is_forgotten(self, key: Key, business_key: str) -> bool:
        return key.effect is not None and time.time() - key.at >= self.rules_of(business_key).forget_after

    def _append(self, kind: str, fields: dict[str, Any]) -> None:
        os.write(self._file, json.dumps({"kind": kind, **fields}).encode() + b"\n")
        self._apply(kind, **fields)

    def _apply(self, kind: str, **fields: Any) -> None:
        getattr(self, f"_apply_{kind}")(**fields)

    def _apply_call(self, **fields: Any) -> None:
        call = Call(**fields)
        self._counts[call.verb, call.business_key] = call.nth
        self.calls.append(call)

    def _apply_answer(self, *, number: int, status: int | None, effect: str) -> None:
        self.calls[number - 1] = replace(self.calls[number - 1], status=status, effect=effect)

    def _apply_effect(self, **fields: Any) -> None:
        effect = Effect(**fields)
        self.effects[effect.business_key].append(effect)
        if effect.mode == "keyed":
            begun_at = self.calls[effect.call - 1].at
            self.keys[effect.idempotency_key] = Key(begun_at, effect.fingerprint, effect.id)

    def _apply_arm(self, *, business_key: str, fault: str, **fields: Any) -> None:
        # What was armed last comes first.
        self._armed[business_key].insert(0, Armed(fault=Fault(fault), **fields))

    def _apply_rules(self, *, business_key: str, **fields: Any) -> None:
        self._own_rules[business_key] = Rules(**fields)


def _whole_lines(path: Path) -> bytes:
    content = path.read_bytes() if path.exists() else b""
    return content[: content.rfind(b"\n") + 1]
