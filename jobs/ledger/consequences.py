"""What a resolution means for the effect that was asked about, and for its operation (protocol, 2.1)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import F
from django.db.models.functions import Greatest

from jobs.domain.decisions import Action, Decision
from jobs.domain.operations import EffectStatus
from jobs.domain.operations import OperationStatus as Status
from jobs.domain.verdicts import Verdict
from jobs.ledger import events
from jobs.ledger.moves import rest, wait_until
from jobs.ledger.snapshots import ABANDONED
from jobs.models import Effect, Operation, Resolution, Review

ANOTHER_RUN: dict[str, Any] = {
    "max_attempts": Greatest(F("max_attempts"), F("attempts_used") + 1),
    "last_error": "",
    "lost_attempts": 0,
}
"""What a person allows who wants the operation to go on: one more attempt at least, whatever made the last one end."""


def follow_resolution(review: Review, resolution: Resolution, now: datetime) -> None:
    """Carry out a verdict about an effect, in the transaction that closes its review."""
    operation = Operation.objects.get(pk=review.operation_id)
    verdict = Verdict(resolution.verdict)
    if review.effect is not None:
        _settle_effect(review.effect, verdict, resolution, now)
    if verdict is Verdict.HAPPENED and review.effect is None:
        # What ran unseen has left no effects behind by which another run would know what not to do again.
        rest(operation, Status.COMPLETED, "said_happened", "It ran unseen, and it is known to have happened.", now)
    elif verdict in _GOES_ON:
        wait_until(operation, now, _GOES_ON[verdict], now, is_on_its_way=False, **ANOTHER_RUN)
    elif verdict is Verdict.ABANDON:
        rest(operation, Status.FAILED, ABANDONED, "Its review was given up: it may have happened.", now)
    elif verdict is Verdict.REVERSED:
        rest(operation, Status.CANCELLED, "reversed", "It happened, and was undone.", now)


def _settle_effect(effect: Effect, verdict: Verdict, resolution: Resolution, now: datetime) -> None:
    changes: dict[str, Any] = {"status": _EFFECT_AFTER[verdict]}
    if verdict is Verdict.HAPPENED:
        changes |= {"completed_at": now, "external_id": str(resolution.evidence.get("external_id", ""))[:255]}
    if verdict is Verdict.PROBE_AGAIN:
        changes["probes_made"] = 0
    else:
        is_human = resolution.source == Resolution.Source.HUMAN
        changes["source"] = Effect.Source.HUMAN if is_human else Effect.Source.LATE_EVIDENCE
    # What has become a fact since the review was opened stays one.
    in_question = Effect.objects.filter(pk=effect.pk, status__in=(EffectStatus.UNKNOWN, EffectStatus.BEGUN))
    if in_question.update(**changes) and verdict is Verdict.DID_NOT_HAPPEN:
        code, operation = "said_not_happened", effect.operation
        events.note(operation, events.Kind.RELEASED, now=now, code=code, effect=effect, text=resolution.reason)


_EFFECT_AFTER = {
    Verdict.HAPPENED: EffectStatus.COMPLETED,
    Verdict.DID_NOT_HAPPEN: EffectStatus.RELEASED,
    Verdict.ABANDON: EffectStatus.ABANDONED,
    Verdict.PROBE_AGAIN: EffectStatus.BEGUN,
    Verdict.REVERSED: EffectStatus.REVERSED,
}
_GOES_ON = {
    Verdict.HAPPENED: Decision(Action.RETRY, "said_happened", "It happened; what is left of the job goes on."),
    Verdict.DID_NOT_HAPPEN: Decision(Action.RETRY, "said_not_happened", "It did not happen, and is done again."),
    Verdict.PROBE_AGAIN: Decision(Action.PROBE, "probe_again", "The other side is asked again."),
}
