"""What the owner of an export reads: five states, each told by its operation and the clock, none of them stored."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from django.utils.translation import gettext as _

from exports.models import Export
from jobs.models import Operation

_Status = Operation.Status


class ExportState(StrEnum):
    """How far an export is. *Accepted* and *ready* are two events."""

    ACCEPTED = "accepted"
    RUNNING = "running"
    READY = "ready"
    FAILED = "failed"
    EXPIRED = "expired"
    """It was ready, and its time is over."""


_OF_OPERATION: Mapping[str, ExportState] = {
    _Status.ACCEPTED: ExportState.ACCEPTED,
    _Status.QUEUED: ExportState.ACCEPTED,
    _Status.RUNNING: ExportState.RUNNING,
    _Status.RETRY_WAIT: ExportState.RUNNING,
    _Status.COMPLETED: ExportState.READY,
    _Status.FAILED: ExportState.FAILED,
    _Status.CANCELLED: ExportState.FAILED,
    # A person has to look at it first: of no use to who waits for the file.
    _Status.UNKNOWN: ExportState.FAILED,
}
GOING_ON = tuple(status for status, state in _OF_OPERATION.items() if state in ("accepted", "running"))
"""The states of an operation in which its export is still to come."""


def state_of(export: Export, now: datetime) -> ExportState:
    """The state of an export whose operation is loaded."""
    assert export.operation is not None
    state = _OF_OPERATION[export.operation.status]
    if state is ExportState.ACCEPTED and export.operation.fence > 0:
        # On its queue once more, after an attempt: who has read "running" must not read that none has begun.
        return ExportState.RUNNING
    if state is ExportState.FAILED and export.ready_at is not None:
        # The file and its mail are there, by one commit. All that failed was to say so of the operation.
        state = ExportState.READY
    if state is ExportState.READY and is_over(export, now):
        return ExportState.EXPIRED
    return state


def is_over(export: Export, now: datetime) -> bool:
    """Whether its file is kept no longer."""
    return export.removed_at is not None or (export.expires_at is not None and export.expires_at <= now)


def reason_of(export: Export) -> str:
    """Why it failed, for its owner: what the job has written down, or else what is true of every failure."""
    assert export.operation is not None
    if _OF_OPERATION[export.operation.status] is not ExportState.FAILED:
        return ""
    if export.operation.status == _Status.CANCELLED:
        return _("It was cancelled. Ask for it again if you still need it.")
    return export.reason or looking_into_it()


def accepted() -> str:
    """What the owner of an export reads of whose making nothing has begun. It promises no time: nobody knows it."""
    return _("Accepted. It is made as soon as a worker is free; you may close this page.")


def looking_into_it() -> str:
    """What the owner of an export reads that failed for a reason of ours."""
    return _("It failed, and we are looking into it. You need not ask again.")
