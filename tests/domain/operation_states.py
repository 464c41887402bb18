"""Operations in the states that the decision table tells apart; each differs from a usual one in what it says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from jobs.domain.idempotency import Idempotency
from jobs.domain.operations import EffectState, EffectStatus, ErrorKind, LiveAttempt, OperationStatus, Snapshot

NOW = datetime(2026, 3, 14, 15, 9, 26, tzinfo=UTC)
HOUR = timedelta(hours=1)
BEFORE, AFTER = NOW - HOUR, NOW + HOUR
OPEN, UNKNOWN, DONE, RELEASED = (
    EffectStatus.BEGUN,
    EffectStatus.UNKNOWN,
    EffectStatus.COMPLETED,
    EffectStatus.RELEASED,
)
CLASSES = ("repeatable", "keyed", "checkable", "unsafe", "undeclared")


def effect(idempotency, status=OPEN, **changes):
    """An effect of this class; the key of a keyed one is good for an hour."""
    key = {"key_valid_until": AFTER} if idempotency == "keyed" else {}
    usual = {"name": "charge", "begun_at": BEFORE, **key}
    return EffectState(**{**usual, **changes, "idempotency": Idempotency(idempotency), "status": status})


def running(lease_until, **changes):
    """The attempt that holds the operation, or held it."""
    return LiveAttempt(number=2, worker_name="w3", started_at=BEFORE, lease_until=lease_until, **changes)


def of(*effects, **changes):
    """An operation whose attempt was lost, with these effects."""
    usual = {"status": OperationStatus.RUNNING, "attempts_used": 1, "lost_attempts": 1, "last_error": ErrorKind.LOST}
    return Snapshot(**{**usual, "attempt": running(BEFORE), "effects": effects, **changes})


def rested(*effects, **changes):
    """An operation whose attempt reported an error, so that it waits for the next one, which is due."""
    usual = {"status": OperationStatus.RETRY_WAIT, "last_error": ErrorKind.TRANSIENT, "last_message": "Timeout: slow"}
    return of(*effects, **{**usual, "attempt": None, "lost_attempts": 0, "next_attempt_at": BEFORE, **changes})


FORGOTTEN = {"key_valid_until": NOW}
QUARANTINED = {"may_still_act": True, "dead_after": AFTER}
ASKED_OFTEN = {"probes_made": 5}
ABANDONED = {"status": OperationStatus.FAILED, "is_abandoned": True}
EXHAUSTED = {"attempts_used": 5}
POISON = {"lost_attempts": 3, "attempts_used": 3}
PERMANENT = {"last_error": ErrorKind.PERMANENT, "last_message": "InvoiceInvalid: no address"}
DECLARED = {"declared_effects": ("charge",)}

STATES = {
    "no record": Snapshot(exists=False),
    "other arguments": Snapshot(has_same_arguments=False),
    "other arguments, completed": Snapshot(has_same_arguments=False, status=OperationStatus.COMPLETED),
    "completed": Snapshot(status=OperationStatus.COMPLETED),
    "completed, then undone": of(effect("keyed", EffectStatus.REVERSED), status=OperationStatus.COMPLETED),
    "cancelled": Snapshot(status=OperationStatus.CANCELLED),
    "abandoned": of(effect("unsafe", EffectStatus.ABANDONED), **ABANDONED),
    "an effect given up": rested(effect("unsafe", EffectStatus.ABANDONED)),
    "an effect undone": rested(effect("unsafe", EffectStatus.REVERSED), effect("keyed", name="mail")),
    "failed": rested(status=OperationStatus.FAILED, next_attempt_at=None),
    "failed, in review": rested(status=OperationStatus.FAILED, has_open_review=True),
    "failed over an unsafe one": rested(effect("unsafe"), status=OperationStatus.FAILED),
    "in review": of(effect("unsafe", UNKNOWN), status=OperationStatus.UNKNOWN, has_open_review=True),
    "live attempt": of(effect("unsafe"), attempt=running(AFTER)),
    "live attempt, nothing begun": of(attempt=running(AFTER)),
    "lease over this moment": of(attempt=running(NOW)),
    "proved dead": of(attempt=running(AFTER, is_proved_dead=True)),
    "unknown repeatable": of(effect("repeatable", UNKNOWN)),
    "unknown keyed": of(effect("keyed", UNKNOWN)),
    "unknown checkable": of(effect("checkable", UNKNOWN)),
    "unknown unsafe": of(effect("unsafe", UNKNOWN)),
    "open unsafe": of(effect("unsafe")),
    "open undeclared": of(effect("undeclared")),
    "open keyed, other request": of(effect("keyed", is_same_request=False, has_probe=True)),
    "forgotten key": of(effect("keyed", **FORGOTTEN)),
    "no horizon": of(effect("keyed", key_valid_until=None)),
    "key just too short": of(effect("keyed", key_valid_until=NOW + timedelta(seconds=30))),
    "key just long enough": of(effect("keyed", key_valid_until=NOW + timedelta(seconds=31))),
    "forgotten key, perhaps alive": of(effect("keyed", has_probe=True, **FORGOTTEN, **QUARANTINED)),
    "forgotten key with a probe": of(effect("keyed", has_probe=True, **FORGOTTEN)),
    "open checkable, perhaps alive": of(effect("checkable", has_probe=True, **QUARANTINED)),
    "open checkable, not settled": of(effect("checkable", has_probe=True, settled_at=AFTER)),
    "open checkable, settled": of(effect("checkable", has_probe=True, settled_at=NOW)),
    "open checkable, asked often": of(effect("checkable", has_probe=True, **ASKED_OFTEN)),
    "open checkable, no code": of(effect("checkable", has_probe=True), is_code_known=False),
    "asked often, no code": of(effect("checkable", **ASKED_OFTEN), is_code_known=False),
    "no code": rested(is_code_known=False),
    "other parameters": rested(does_call_bind=False),
    "no code, live key": rested(effect("keyed"), is_code_known=False),
    "cancel asked, nothing begun": rested(is_cancel_requested=True),
    "cancel asked, released": rested(effect("unsafe", RELEASED), is_cancel_requested=True),
    "cancel asked, live key": rested(effect("keyed"), is_cancel_requested=True),
    "cancel asked, one done": rested(effect("unsafe", DONE), is_cancel_requested=True),
    "cancel asked, outside the layer": rested(is_layered=False, is_cancel_requested=True),
    "bad data": rested(**PERMANENT),
    "bad data, one done": rested(effect("unsafe", DONE), **PERMANENT),
    "bad data, live key": rested(effect("keyed"), **PERMANENT),
    "bad data, unsafe": rested(effect("unsafe"), **PERMANENT),
    "lost too often": of(**POISON),
    "lost too often, repeatable": of(effect("repeatable"), **POISON),
    "lost too often, live key": of(effect("keyed"), **POISON),
    "lost too often, all done": of(effect("unsafe", DONE), **POISON, **DECLARED),
    "exhausted": rested(**EXHAUSTED),
    "exhausted, repeatable": rested(effect("repeatable"), **EXHAUSTED),
    "exhausted, live key": rested(effect("keyed"), **EXHAUSTED),
    "exhausted, all done, lost": of(effect("unsafe", DONE), **EXHAUSTED, **DECLARED),
    "exhausted, all done, fails": rested(effect("unsafe", DONE), **EXHAUSTED, **DECLARED),
    "not due": rested(next_attempt_at=AFTER),
    "not due, live key": rested(effect("keyed"), next_attempt_at=AFTER),
    "due this moment": rested(next_attempt_at=NOW),
    "all done": of(effect("unsafe", DONE), **DECLARED),
    "all done, and another open": of(effect("unsafe", DONE), effect("repeatable", name="file"), **DECLARED),
    "one of two done": of(effect("unsafe", DONE), declared_effects=("charge", "mail")),
    "items done": of(effect("unsafe", DONE, item="7"), **DECLARED),
    "done, nothing declared": of(effect("unsafe", DONE)),
    "live key": of(effect("keyed")),
    "live key, perhaps alive": of(effect("keyed", **QUARANTINED)),
    "live key and repeatable": of(effect("repeatable", name="file"), effect("keyed")),
    "open repeatable": of(effect("repeatable")),
    "outside the layer, started": rested(is_layered=False),
    "outside the layer, bad data": rested(is_layered=False, **PERMANENT),
    "outside the layer, lost too often": of(is_layered=False, **POISON),
    "outside the layer, exhausted": rested(is_layered=False, **EXHAUSTED),
    "outside the layer, new": Snapshot(is_layered=False),
    "new": Snapshot(),
    "queued": Snapshot(status=OperationStatus.QUEUED),
    "released": of(effect("unsafe", RELEASED)),
    "nothing begun": of(),
    "unsafe beside quarantined": of(effect("checkable", name="mail", **QUARANTINED), effect("unsafe")),
    "asked often beside quarantined": of(
        effect("checkable", name="mail", **QUARANTINED), effect("checkable", **ASKED_OFTEN)
    ),
    "settled beside quarantined": of(effect("checkable", name="mail"), effect("checkable", **QUARANTINED)),
    "settled beside a live key": of(effect("keyed", name="mail"), effect("checkable")),
}
