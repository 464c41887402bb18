"""What one effect that was begun says to another run: rows R8 to R13 of the decision table (protocol, 2)."""

from __future__ import annotations

from datetime import datetime, timedelta

from jobs.domain.decisions import Action, Decision
from jobs.domain.idempotency import Idempotency
from jobs.domain.operations import EffectState, EffectStatus, Snapshot
from jobs.domain.questions import Question, quote

_CAUTION = {Action.PROBE: 0, Action.WAIT: 1, Action.REVIEW: 2}


def judge_effects(question: Question) -> Decision | None:
    """The most cautious answer of all effects; of equal ones that of the earlier row. None: no effect objects."""
    answers = [answer for effect in question.snapshot.effects if (answer := judge_effect(question, effect))]
    return min(answers, key=lambda answer: (-_CAUTION[answer.action], int(answer.rule[1:])), default=None)


def judge_effect(question: Question, effect: EffectState) -> Decision | None:
    """What this effect alone has against another run (R8 to R13), or None."""
    if not effect.is_open:
        return None
    return next((answer for row in _ROWS if (answer := row(question, effect))), None)


def is_key_alive(effect: EffectState, *, now: datetime, call_timeout: timedelta) -> bool:
    """Whether a call that begins now is over before the other side forgets the key (protocol, R11 and W4)."""
    return effect.key_valid_until is not None and now + call_timeout < effect.key_valid_until


def can_run_code(snapshot: Snapshot) -> bool:
    """Whether this release can take up the stored call at all (R14)."""
    return snapshot.is_code_known and snapshot.does_call_bind


# ----------------------------------------------------------------------------------------------------------------------


def _r8_unknown(question: Question, effect: EffectState) -> Decision | None:
    if effect.status is not EffectStatus.UNKNOWN:
        return None
    sentence = f"Nobody can prove whether {quote(effect.label)} happened{_begun(question, effect)}."
    return Decision(Action.REVIEW, "effect_unknown", sentence, "R8")


def _r9_unsafe(question: Question, effect: EffectState) -> Decision | None:
    if effect.idempotency not in (Idempotency.UNSAFE, Idempotency.UNDECLARED):
        return None
    why = (
        "the other side can’t recognise a repeat"
        if effect.idempotency is Idempotency.UNSAFE
        else "nobody has declared whether it may be repeated"
    )
    sentence = f"The call of {quote(effect.label)} may have been made{question.at(effect.begun_at)}, and {why}."
    return Decision(Action.REVIEW, "unsafe_begun", sentence, "R9")


def _r10_other_request(_question: Question, effect: EffectState) -> Decision | None:
    if effect.idempotency is not Idempotency.KEYED or effect.is_same_request:
        return None
    sentence = (
        f"{quote(effect.label)} would be sent with other content under the same key: "
        "the other side would reject it, or hide a real change."
    )
    return Decision(Action.REVIEW, "key_request_changed", sentence, "R10")


def _r11_forgotten_key(question: Question, effect: EffectState) -> Decision | None:
    if not _has_forgotten_key(question, effect) or effect.has_probe:
        return None
    until = effect.key_valid_until
    memory = (
        f"recognises its key only until {question.moment(until)}, which a retry might not keep to"
        if until
        else "may have forgotten its key: how long it is remembered is not on record"
    )
    sentence = f"{quote(effect.label)} may have happened{_begun(question, effect)}, and the other side {memory}."
    return Decision(Action.REVIEW, "key_expired", sentence, "R11")


def _r12_too_early(question: Question, effect: EffectState) -> Decision | None:
    if not _wants_answer(question, effect):
        return None
    settled_at = effect.settled_at if effect.settled_at and question.now < effect.settled_at else None
    if not effect.may_still_act and not settled_at:
        return None
    times = [at for at in (effect.dead_after if effect.may_still_act else None, settled_at) if at]
    until = max(times, default=None)
    who = (
        "The attempt that began it may still act"
        if effect.may_still_act
        else "The other side may still change its answer"
    )
    when = f" until {question.moment(until)}" if until else ""
    sentence = f"{quote(effect.label)} may have happened. {who}{when}: a check now would prove nothing."
    return Decision(Action.WAIT, "quarantine", sentence, "R12", not_before=until)


def _r13_ask(question: Question, effect: EffectState) -> Decision | None:
    if not _wants_answer(question, effect):
        return None
    if effect.probes_made >= effect.probes_allowed:
        sentence = (
            f"The other side was asked {effect.probes_made} times whether {quote(effect.label)} happened, "
            "and gave no answer that settles it."
        )
        return Decision(Action.REVIEW, "probe_inconclusive", sentence, "R13")
    if not can_run_code(question.snapshot):
        return None
    due_at = question.snapshot.next_attempt_at
    sentence = (
        f"{quote(effect.label)} may have happened: the other side is asked. What it knows is not done again, "
        "what it does not know is."
    )
    not_before = due_at if due_at and question.is_automatic and question.now < due_at else None
    return Decision(Action.PROBE, "probe", sentence, "R13", not_before=not_before)


_ROWS = (_r8_unknown, _r9_unsafe, _r10_other_request, _r11_forgotten_key, _r12_too_early, _r13_ask)


def _wants_answer(question: Question, effect: EffectState) -> bool:
    """Only the other side can say whether it may be repeated: R12 and R13 are about these."""
    return effect.idempotency is Idempotency.CHECKABLE or _has_forgotten_key(question, effect)


def _has_forgotten_key(question: Question, effect: EffectState) -> bool:
    timeout = question.snapshot.call_timeout
    return effect.idempotency is Idempotency.KEYED and not is_key_alive(effect, now=question.now, call_timeout=timeout)


def _begun(question: Question, effect: EffectState) -> str:
    return f" (begun{question.at(effect.begun_at)})" if effect.begun_at else ""
