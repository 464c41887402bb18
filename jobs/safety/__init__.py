"""What job code imports to be safe to run again: operations, their effects, and words for how something failed.

    @job("billing")
    @operation("invoice:{invoice_id}", entity="invoice_id")
    def send_invoice(invoice_id):
        once("send-invoice", lambda e: gateway.send(invoice_id, idempotency_key=e.key).id, safety=Keyed(hours(24)))

Importing it loads Django where nobody has, as under a stock `rq worker`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from jobs.domain.backoff import Backoff
from jobs.safety.errors import (
    ArgumentsDiffer,
    ArgumentsRefused,
    CancelledByOperator,
    LeaseLost,
    MisuseError,
    NotPerformed,
    OutcomeUnknown,
    PermanentError,
    RefusedDelivery,
    SetupError,
    StopRequested,
    TransientError,
    UnfinishedEffect,
)
from jobs.safety.operation import operation
from jobs.safety.promises import (
    Absent,
    Checkable,
    Found,
    Inconclusive,
    Keyed,
    Repeatable,
    Unsafe,
    days,
    hours,
    minutes,
    seconds,
)
from jobs.safety.setup import require_app, set_up_django

if TYPE_CHECKING:
    from jobs.safety.attempt import is_last_attempt, report_progress
    from jobs.safety.effects import atomic_effect, effect, once
    from jobs.safety.files import result_file
    from jobs.safety.http import classify_http
    from jobs.safety.smtp import classify_smtp
    from jobs.safety.stopping import should_stop

__all__ = [
    "Absent",
    "ArgumentsDiffer",
    "ArgumentsRefused",
    "Backoff",
    "CancelledByOperator",
    "Checkable",
    "Found",
    "Inconclusive",
    "Keyed",
    "LeaseLost",
    "MisuseError",
    "NotPerformed",
    "OutcomeUnknown",
    "PermanentError",
    "RefusedDelivery",
    "Repeatable",
    "SetupError",
    "StopRequested",
    "TransientError",
    "UnfinishedEffect",
    "Unsafe",
    "atomic_effect",
    "classify_http",
    "classify_smtp",
    "days",
    "effect",
    "hours",
    "is_last_attempt",
    "minutes",
    "once",
    "operation",
    "report_progress",
    "result_file",
    "seconds",
    "should_stop",
]

_WITH_MODELS = {
    "atomic_effect": "effects",
    "effect": "effects",
    "is_last_attempt": "attempt",
    "once": "effects",
    "report_progress": "attempt",
    "result_file": "files",
    "classify_http": "http",
    "classify_smtp": "smtp",
    "should_stop": "stopping",
}
"""These need Django's models, so their modules are imported when they are asked for, and not before Django is there."""

set_up_django()


def __getattr__(name: str) -> Any:
    if name in _WITH_MODELS:
        require_app()
        return getattr(import_module(f"jobs.safety.{_WITH_MODELS[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
