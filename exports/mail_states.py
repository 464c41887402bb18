"""What is known of the mail that says that an export is ready: told by its operation and effect, nothing is stored."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from exports.models import Export
from jobs.domain.operations import TERMINAL, EffectStatus
from jobs.models import Effect, Operation


class MailState(StrEnum):
    """How far the mail is. It says nothing of the file: that is ready, whatever becomes of the mail."""

    NONE = "none"
    """None is due yet, or no address was known when the file was ready."""
    ON_ITS_WAY = "on_its_way"
    SENT = "sent"
    """A mail server has taken it, or somebody has found that out; it may still bounce."""
    FAILED = "failed"
    """It was not sent, and nothing sends it by itself."""
    UNKNOWN = "unknown"
    """It may have been sent. Nobody sends it once more, unless somebody finds out that it was not."""


@dataclass(frozen=True)
class MailNews:
    """The state, and when the mail was sent, if that is known."""

    state: MailState
    sent_at: datetime | None = None


def mail_news(export: Export) -> MailNews:
    """What is known of an export's mail.

    For a list load them with `.select_related("mail_operation").prefetch_related("mail_operation__effects")`.
    """
    operation = export.mail_operation
    if operation is None:
        return MailNews(MailState.NONE)
    effect = next(iter(operation.effects.all()), None)
    if effect is not None and effect.status in _HAPPENED:
        return MailNews(MailState.SENT, _sent_at(effect))
    return MailNews(_unsent(operation, effect))


def mail_state(export: Export) -> MailState:
    """The state alone."""
    return mail_news(export).state


def _sent_at(effect: Effect) -> datetime | None:
    """When it was sent. Whoever found that out says so later: of the mail itself the beginning alone is on record."""
    return effect.completed_at if effect.source == Effect.Source.JOB else effect.begun_at


def _unsent(operation: Operation, effect: Effect | None) -> MailState:
    """Of a mail that is not known to have been sent."""
    may_have_happened = effect is not None and effect.status in _IN_DOUBT
    if operation.status == Operation.Status.UNKNOWN or (may_have_happened and operation.status in TERMINAL):
        return MailState.UNKNOWN
    return MailState.FAILED if operation.status in TERMINAL else MailState.ON_ITS_WAY


_HAPPENED = (EffectStatus.COMPLETED, EffectStatus.REVERSED)
_IN_DOUBT = (EffectStatus.BEGUN, EffectStatus.UNKNOWN, EffectStatus.ABANDONED)
