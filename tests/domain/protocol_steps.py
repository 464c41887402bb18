"""The whole protocol as a model: one operation with one effect, and every order in which its steps can happen.

Two workers (each slot runs one process at a time), the queue, the observer, a person in review and the service outside
take steps of one committed transaction or one call each; bad luck comes in between as often as the bounds allow. What
is decided is decided by the product's own `decide`, so a change of its rules is caught here.

The model is harsher than the product, whose lease ends when its process is dead for certain: here a lease also lapses
while the process still lives, and that process goes on for as long as it likes.

Two promises about time are taken for granted. A process whose lease lapsed dies some time later (`dead_after`). The
other side's memory of a key outlives the processes that began under it: what begins has tested the horizon.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from jobs.domain.decisions import Action, Decision
from jobs.domain.idempotency import Idempotency
from jobs.domain.operation_rules import decide
from jobs.domain.operations import AskedBy, EffectState, EffectStatus, ErrorKind, LiveAttempt, Snapshot
from jobs.domain.operations import OperationStatus as Status
from tests.domain.operation_states import AFTER, BEFORE, NOW

DEAD, NOBODY = 2, 3
"""Whose an attempt is, where it is not the process in slot 0 or 1."""
IDLE, ENTERED, BEGUN, BEGUN_AGAIN, CALLED, MARKED, FAILING, REFUSED, PROBING, FOUND, ABSENT = range(11)
"""Where a process stands: which of its steps it has taken."""
AT_CALL = frozenset({BEGUN, BEGUN_AGAIN})


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """Which class the effect has, and the safeguards; a model without one of them is to show what it is for."""

    idempotency: Idempotency
    has_intent: bool = True
    is_begin_fenced: bool = True
    is_probe_fenced: bool = True
    waits_for_death: bool = True
    minds_horizon: bool = True
    takes_stale_completion: bool = True
    keeps_doubt: bool = True
    """A repeat that is refused proves nothing of the call that it repeats."""


class State(NamedTuple):
    """Everything there is, in all stores and processes."""

    status: Status = Status.ACCEPTED
    effect: EffectStatus | None = None
    begun_by: int = NOBODY
    holder: int = NOBODY
    is_lapsed: bool = False
    """The lease of the holder is over, though its process may live."""
    workers: tuple[int, int] = (IDLE, IDLE)
    deliveries: int = 0
    is_key_alive: bool = True
    """By the ledger: its horizon is not over yet."""
    is_remembered: bool = False
    """By the other side."""
    acts: int = 0
    """How often it really happened, outside."""
    lost: int = 0
    """Attempts, and no more than are too many for the rules (R17)."""
    crashes: int = 2
    lapses: int = 2
    redis_losses: int = 1
    errors: int = 1
    redeliveries: int = 2
    """What RQ delivers besides the first one and those of the observer, which come when Redis has none."""


class Step(NamedTuple):
    """One thing that can happen. `is_luck`: bad luck, which nobody may have to wait for."""

    name: str
    state: State
    is_luck: bool = False


def steps_from(state: State, protocol: Protocol) -> Iterator[Step]:
    """Everything that can happen next."""
    for slot in (0, 1):
        yield from _WORK[state.workers[slot]](state, slot, protocol)
    yield from _steps_of_observer(state, protocol)
    yield from _steps_of_person(state, protocol)
    yield from _bad_luck(state, protocol)


# The worker -----------------------------------------------------------------------------------------------------------


def _claim(state: State, slot: int, protocol: Protocol) -> Iterator[Step]:
    """W3. What stands in its way, whatever the operation's state, is for the rules to say."""
    if not state.deliveries:
        return
    taken = _overtaken(state, protocol)._replace(deliveries=state.deliveries - 1)
    decision = _decide(taken, protocol, AskedBy.AUTO)
    if decision.action in (Action.RETRY, Action.PROBE):
        held = taken._replace(status=Status.RUNNING, holder=slot, is_lapsed=False)
        yield Step("W3: a claim", _at(held, slot, PROBING if decision.action is Action.PROBE else ENTERED))
    else:
        yield Step(f"W3: turned away, {decision.code}", _settle(taken, decision))
    if state.crashes:
        gone = state._replace(deliveries=state.deliveries - 1, crashes=state.crashes - 1)
        yield Step("the process is killed before W3", gone, is_luck=True)


def _begin(state: State, slot: int, protocol: Protocol) -> Iterator[Step]:
    """W4, or what comes instead: skip what has happened, or don't begin at all."""
    is_again = state.effect is EffectStatus.BEGUN
    if state.effect is EffectStatus.COMPLETED:
        yield Step("the effect is skipped", _at(state, slot, MARKED))
    elif protocol.is_begin_fenced and not _has_lease(state, slot):
        yield Step("W4: turned away by the fence", _gone(state, slot))
    elif is_again and not _may_begin_again(state, protocol):
        yield Step("W4: turned away by the effect", _at(state, slot, FAILING))
    elif not protocol.has_intent:
        yield Step("no intent is written", _at(state, slot, BEGUN))
    else:
        alive = state.is_key_alive or not is_again
        begun = state._replace(effect=EffectStatus.BEGUN, begun_by=slot, is_key_alive=alive)
        place = BEGUN_AGAIN if is_again and protocol.keeps_doubt else BEGUN
        yield Step(f"W4: {_who(state, slot)} begins", _at(begun, slot, place))


def _call(state: State, slot: int, protocol: Protocol) -> Iterator[Step]:
    """X: the process alone decides; neither lease nor fence reaches the other side.

    A refusal proves that this call did nothing. Of a call before it, under the same key, it proves nothing.
    """
    is_keyed = protocol.idempotency is Idempotency.KEYED
    acted = state._replace(acts=state.acts + (not state.is_remembered), is_remembered=is_keyed)
    yield Step(f"X: {_who(state, slot)} calls", _at(acted, slot, CALLED))
    if state.errors:
        refused = FAILING if state.workers[slot] == BEGUN_AGAIN else REFUSED
        for name, after, place in (
            ("the call is refused", state, refused),
            ("the call gets lost", state, FAILING),
            ("the answer gets lost", acted, FAILING),
        ):
            yield Step(f"X: {name}", _at(after, slot, place)._replace(errors=state.errors - 1), is_luck=True)


def _complete(state: State, slot: int, protocol: Protocol) -> Iterator[Step]:
    """W5: a fact, and so without a fence; it closes the review that asks about it."""
    is_mine = state.begun_by == slot and state.effect in (EffectStatus.BEGUN, EffectStatus.UNKNOWN)
    is_taken = protocol.takes_stale_completion or state.holder == slot
    if not protocol.has_intent or (is_mine and is_taken):
        yield Step("W5: it is marked completed", _at(_known_to_have_happened(state), slot, MARKED))
    elif state.effect is EffectStatus.COMPLETED:
        yield Step("W5: it is known already", _at(state, slot, MARKED))
    else:
        yield Step("W5: the completion is turned away", _at(state, slot, MARKED))


def _finish(state: State, slot: int, _protocol: Protocol) -> Iterator[Step]:
    """W6, fenced."""
    if state.holder == slot and state.effect is EffectStatus.COMPLETED:
        yield Step("W6: the operation is completed", _gone(_released(state, Status.COMPLETED), slot))
    elif state.holder == slot:
        yield Step("the job returns without its effect", _at(state, slot, FAILING))
    else:
        yield Step("W6: turned away by the fence", _gone(state, slot))


def _fail(state: State, slot: int, protocol: Protocol) -> Iterator[Step]:
    """The attempt says how it ended, and what follows is decided in the same transaction, if it still holds it."""
    ended = _gone(state, slot)
    if state.holder == slot:
        rested = _released(ended, Status.RETRY_WAIT)
        ended = _settle(rested, _decide(rested, protocol, AskedBy.AUTO))
    yield Step(f"{_who(state, slot)} reports an error", ended)


def _release(state: State, slot: int, _protocol: Protocol) -> Iterator[Step]:
    """The call was provably not made: a fact of the attempt that began it."""
    is_mine = state.begun_by == slot and state.effect in (EffectStatus.BEGUN, EffectStatus.UNKNOWN)
    freed = _known_not_to_have_happened(state) if is_mine else state
    yield Step("the effect is released", _at(freed, slot, FAILING))


def _probe(state: State, slot: int, _protocol: Protocol) -> Iterator[Step]:
    yield Step("the other side is asked", _at(state, slot, FOUND if state.acts else ABSENT))


def _record_found(state: State, slot: int, _protocol: Protocol) -> Iterator[Step]:
    yield Step("the answer is yes", _at(_known_to_have_happened(state), slot, ENTERED))


def _record_absent(state: State, slot: int, protocol: Protocol) -> Iterator[Step]:
    """It rests on nobody having begun it since, which the fence sees to."""
    if protocol.is_probe_fenced and not _has_lease(state, slot):
        yield Step("the answer is turned away by the fence", _gone(state, slot))
    else:
        yield Step("the answer is no", _at(_known_not_to_have_happened(state), slot, ENTERED))


_WORK = {
    IDLE: _claim,
    ENTERED: _begin,
    BEGUN: _call,
    BEGUN_AGAIN: _call,
    CALLED: _complete,
    MARKED: _finish,
    FAILING: _fail,
    REFUSED: _release,
    PROBING: _probe,
    FOUND: _record_found,
    ABSENT: _record_absent,
}

# The others -----------------------------------------------------------------------------------------------------------


def _steps_of_observer(state: State, protocol: Protocol) -> Iterator[Step]:
    """W1 and W2 are steps of its own too: it does them when the one who accepted the operation did not."""
    if state.status is Status.ACCEPTED:
        yield Step("W2: it counts as queued", state._replace(status=Status.QUEUED))
    taken = _overtaken(state, protocol)
    decision = _decide(taken, protocol, AskedBy.SWEEPER)
    if taken is not state:
        yield Step(f"a takeover: {decision.code}", _settle(taken, decision))
    elif decision.action in (Action.REVIEW, Action.FAIL):
        yield Step(f"the observer: {decision.code}", _settle(state, decision))
    elif decision.action in (Action.RETRY, Action.PROBE) and not state.deliveries:
        yield Step("W1: it is put on its queue", state._replace(deliveries=1))


def _steps_of_person(state: State, protocol: Protocol) -> Iterator[Step]:
    """Who says the truth, and says “it did not happen” only once nobody can make it happen any more."""
    if state.status is not Status.UNKNOWN:
        return
    if state.acts:
        yield Step("a person: it happened", _known_to_have_happened(state)._replace(lost=0))
    elif not protocol.waits_for_death or not _may_still_act(state):
        freed = _known_not_to_have_happened(state)
        yield Step("a person: it did not happen", freed._replace(lost=0))


def _bad_luck(state: State, protocol: Protocol) -> Iterator[Step]:
    for slot in (0, 1):
        yield from _bad_luck_of_process(state, slot)
    if state.deliveries and state.redis_losses:
        yield Step("Redis loses all", state._replace(deliveries=0, redis_losses=state.redis_losses - 1), is_luck=True)
    if state.deliveries < 2 and state.redeliveries:
        again = state._replace(deliveries=state.deliveries + 1, redeliveries=state.redeliveries - 1)
        yield Step("RQ delivers once more", again, is_luck=True)
    is_needed = protocol.minds_horizon and not AT_CALL.isdisjoint(state.workers)
    if state.is_remembered and not is_needed:
        forgotten = state._replace(is_remembered=False, is_key_alive=False)
        yield Step("the other side forgets the key", forgotten, is_luck=True)


def _bad_luck_of_process(state: State, slot: int) -> Iterator[Step]:
    if state.workers[slot] == IDLE:
        return
    if not _has_lease(state, slot):
        yield Step("dead_after: the stale process is gone", _gone(state, slot))
    elif state.crashes:
        yield Step("the process is killed", _gone(state, slot)._replace(crashes=state.crashes - 1), is_luck=True)
    if state.holder == slot and not state.is_lapsed and state.lapses:
        yield Step("a lease lapses", state._replace(is_lapsed=True, lapses=state.lapses - 1), is_luck=True)


# What the ledger holds ------------------------------------------------------------------------------------------------


def _decide(state: State, protocol: Protocol, asked_by: AskedBy) -> Decision:
    holder = None if state.holder == NOBODY else (state.is_lapsed, state.holder == DEAD)
    key = state.is_key_alive or not protocol.minds_horizon
    may_act = protocol.waits_for_death and _may_still_act(state)
    return _decided(protocol.idempotency, state.status, holder, state.effect, may_act, key, state.lost, asked_by)


@cache
def _decided(idempotency, status, holder, effect, may_still_act, is_key_alive, lost, asked_by) -> Decision:
    """The product's answer to what the ledger shows of a state."""
    row = EffectState(
        name="charge",
        idempotency=idempotency,
        status=effect or EffectStatus.RELEASED,
        key_valid_until=AFTER if is_key_alive else BEFORE,
        has_probe=idempotency is Idempotency.CHECKABLE,
        may_still_act=may_still_act,
    )
    snapshot = Snapshot(
        status=status,
        has_open_review=status is Status.UNKNOWN,
        attempt=_attempt(*holder) if holder else None,
        effects=(row,) if effect else (),
        declared_effects=("charge",),
        last_error=ErrorKind.LOST if lost else None,
        lost_attempts=lost,
    )
    return decide(snapshot, NOW, asked_by)


def _attempt(is_lapsed, is_dead) -> LiveAttempt:
    until = BEFORE if is_lapsed else AFTER
    return LiveAttempt(number=1, worker_name="w", started_at=BEFORE, lease_until=until, is_proved_dead=is_dead)


def _overtaken(state: State, protocol: Protocol) -> State:
    """Without its attempt, if that is over by the rules; else as it is."""
    if state.status is not Status.RUNNING or _decide(state, protocol, AskedBy.SWEEPER).code == "in_progress":
        return state
    return _released(state, Status.RETRY_WAIT)._replace(lost=min(state.lost + 1, 3))


def _settle(state: State, decision: Decision) -> State:
    """Where an operation goes that nobody holds."""
    if decision.action is Action.REVIEW:
        assert state.effect in (EffectStatus.BEGUN, EffectStatus.UNKNOWN)
        return state._replace(status=Status.UNKNOWN, effect=EffectStatus.UNKNOWN)
    if decision.action is Action.FAIL:
        return state._replace(status=Status.FAILED)
    return state


def _known_to_have_happened(state: State) -> State:
    return _out_of_review(state._replace(effect=EffectStatus.COMPLETED))


def _known_not_to_have_happened(state: State) -> State:
    return _out_of_review(state._replace(effect=EffectStatus.RELEASED, begun_by=NOBODY))


def _out_of_review(state: State) -> State:
    return state._replace(status=Status.RETRY_WAIT) if state.status is Status.UNKNOWN else state


def _released(state: State, status: Status) -> State:
    """Nobody holds it; an attempt that did has lost its fence."""
    return state._replace(status=status, holder=NOBODY, is_lapsed=False)


def _gone(state: State, slot: int) -> State:
    """The process has ended, and its slot is free for another."""
    holder, begun_by = (DEAD if whose == slot else whose for whose in (state.holder, state.begun_by))
    return _at(state._replace(holder=holder, begun_by=begun_by), slot, IDLE)


def _at(state: State, slot: int, place: int) -> State:
    workers = (place, state.workers[1]) if slot == 0 else (state.workers[0], place)
    return state._replace(workers=workers)


def _has_lease(state: State, slot: int) -> bool:
    return state.holder == slot and not state.is_lapsed


def _may_still_act(state: State) -> bool:
    """A process that began the effect lives. One that was overtaken counts too: it may be just before its call."""
    return state.begun_by in (0, 1) or not AT_CALL.isdisjoint(state.workers)


def _may_begin_again(state: State, protocol: Protocol) -> bool:
    """The rules are asked once more, of the effect alone, by the attempt that holds its operation."""
    alone = state._replace(holder=NOBODY, lost=0)
    return _decide(alone, protocol, AskedBy.OPERATOR).action is Action.RETRY


def _who(state: State, slot: int) -> str:
    return "the holder" if state.holder == slot else "a stale attempt"
