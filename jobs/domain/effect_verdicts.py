"""What may be said in a review of an effect, and when: the ledger's own rows tell whether anybody may still act."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo

from jobs.domain.decisions import Action, Decision
from jobs.domain.operations import EffectState
from jobs.domain.times import moment
from jobs.domain.verdicts import Verdict

VERDICTS = (
    *(Verdict.HAPPENED, Verdict.DID_NOT_HAPPEN, Verdict.PROBE_AGAIN),
    *(Verdict.REVERSED, Verdict.ABANDON, Verdict.SNOOZE),
)
"""In the order in which a page offers them."""
MAY_CALL_AGAIN = (Verdict.DID_NOT_HAPPEN, Verdict.PROBE_AGAIN)
"""What may have the call made once more: whoever says it needs the right to retry besides."""


@dataclass(frozen=True, kw_only=True)
class InReview:
    """The effect that is asked about, as it stands at `now` by the database's clock; None where no row says which."""

    effect: EffectState | None
    now: datetime
    zone: tzinfo = UTC

    @property
    def acts_until(self) -> datetime | None:
        """Until when the attempt that began it may act; None once it is dead."""
        return self.effect.dead_after if self.effect and self.effect.may_still_act else None

    @property
    def settles_at(self) -> datetime | None:
        """From when on the other side's answer can be believed; None where it can be now."""
        at = self.effect.settled_at if self.effect else None
        return at if at and self.now < at else None


def decide_effect_verdict(verdict: Verdict, asked: InReview) -> Decision:
    """Whether this may be said of the effect now. Each is recorded at once; what follows is the operation's business.

    While its attempt may act, or the other side may change its answer, a search that found nothing proves nothing
    (protocol, 1.6 and 2.1).
    """
    if verdict is Verdict.PROBE_AGAIN and not (asked.effect and asked.effect.has_probe):
        return Decision(Action.REFUSE, "no_probe", "Its code has no way to ask the other side.")
    if verdict in MAY_CALL_AGAIN and (asked.acts_until or asked.settles_at):
        return Decision(
            Action.WAIT, "quarantine", _until(asked), "R12", not_before=asked.acts_until or asked.settles_at
        )
    follows = _ALL_DONE if verdict is Verdict.HAPPENED and asked.effect is None else _FOLLOWS[verdict]
    return Decision(Action.RECORD, _CODES.get(verdict, verdict.value), follows)


def liveness_of_effect(asked: InReview) -> str:
    """Whether the attempt that began it may still act, as it is shown beside a verdict and kept with it."""
    if asked.acts_until:
        return f"The attempt that began it may still act, at the latest until {moment(asked.acts_until, asked.zone)}."
    return "The attempt that began it is dead: it can no longer act."


# ----------------------------------------------------------------------------------------------------------------------


def _until(asked: InReview) -> str:
    times = [at for at in (asked.acts_until, asked.settles_at) if at]
    who = (
        "The attempt that began it may still act" if asked.acts_until else "The other side may still change its answer"
    )
    return f"{who} until {moment(max(times), asked.zone)}: before that a search proves nothing."


_CODES = {Verdict.HAPPENED: "said_happened", Verdict.DID_NOT_HAPPEN: "said_not_happened"}
_ALL_DONE = "It counts as done, all of it: the operation is completed, and nothing of it is run again."
_FOLLOWS = {
    Verdict.HAPPENED: "It counts as done and is not done again; what is left of the operation goes on.",
    Verdict.DID_NOT_HAPPEN: "It is done again, under the same key, as soon as the observer queues the operation.",
    Verdict.PROBE_AGAIN: "A worker asks the other side again; what it answers settles it, or the review comes back.",
    Verdict.REVERSED: "It is closed as undone, and the operation is not run again.",
    Verdict.ABANDON: "It is closed without an answer, stays filed as “may have happened”, and is not run again.",
    Verdict.SNOOZE: "The review stays open, and is put off until then.",
}
"""What follows from each for the effect and its operation (protocol, 2.1)."""
