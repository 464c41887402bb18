"""Every order in which the protocol's steps can happen, crashes between them included: what may never come of it.

And what does come of it as soon as one safeguard is missing: a model that finds nothing there would prove nothing.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobs.domain.idempotency import Idempotency
from jobs.domain.operations import EffectStatus
from jobs.domain.operations import OperationStatus as Status
from tests.domain.protocol_model import explore, stuck_states
from tests.domain.protocol_steps import Protocol

UNSAFE, KEYED, CHECKABLE = (
    Protocol(idempotency=one) for one in (Idempotency.UNSAFE, Idempotency.KEYED, Idempotency.CHECKABLE)
)
COMMON = {
    "W1: it is put on its queue",
    "W2: it counts as queued",
    "W3: a claim",
    "W3: turned away, already_completed",
    "W3: turned away, in_progress",
    "W4: the holder begins",
    "W4: turned away by the fence",
    "X: a stale attempt calls",
    "X: the call is refused",
    "W5: it is marked completed",
    "W5: it is known already",
    "W6: the operation is completed",
    "W6: turned away by the fence",
    "a takeover: nothing_begun",
    "a takeover: resume_only",
    "the observer: poison_suspected",
    "dead_after: the stale process is gone",
    "Redis loses all",
    "the process is killed before W3",
}
"""Steps that are to be found whatever the class: otherwise the search has not been where it should."""
OWN = {
    UNSAFE: {"a takeover: unsafe_begun", "a person: it happened", "a person: it did not happen"},
    KEYED: {"a takeover: same_key", "a takeover: key_expired", "the other side forgets the key"},
    CHECKABLE: {"a takeover: quarantine", "a takeover: probe", "the answer is yes", "the answer is no"},
}
TURNED_AWAY = "W5: the completion is turned away"
"""Only for a keyed effect that a later attempt has begun again, and to which the other side says the same."""


def happens_twice(state):
    return state.acts > 1


def is_falsely_completed(state):
    return state.status is Status.COMPLETED and not state.acts


def is_falsely_failed(state):
    """It looks as if nothing had happened."""
    return state.status is Status.FAILED and state.acts and state.effect is not EffectStatus.COMPLETED


@pytest.mark.parametrize("protocol", [UNSAFE, KEYED, CHECKABLE], ids=lambda one: one.idempotency)
def test_whatever_happens_the_effect_happens_once_is_never_denied_and_nothing_is_left_lying(protocol):
    search = explore(protocol)
    assert search.first(happens_twice) is None
    assert search.first(is_falsely_completed) is None
    assert search.first(is_falsely_failed) is None
    assert [search.path_to(state) for state in stuck_states(search)[:1]] == []
    assert search.names >= COMMON | OWN[protocol]
    assert (TURNED_AWAY in search.names) is (protocol is KEYED)


# Without one of its safeguards: what is missing, and steps of the story that then ends in a second effect.
BROKEN = {
    "no intent is written": (
        replace(UNSAFE, has_intent=False),
        ["no intent is written", "X: the holder calls", "no intent is written", "X: the holder calls"],
    ),
    "beginning is not fenced": (
        replace(UNSAFE, is_begin_fenced=False),
        ["a lease lapses", "W4: the holder begins", "W4: a stale attempt begins", "X: a stale attempt calls"],
    ),
    "a person answers while the process lives": (
        replace(UNSAFE, waits_for_death=False),
        ["a lease lapses", "a person: it did not happen", "X: a stale attempt calls", "X: the holder calls"],
    ),
    "the other side is asked while the process lives": (
        replace(CHECKABLE, waits_for_death=False),
        ["the other side is asked", "X: a stale attempt calls", "the answer is no", "X: the holder calls"],
    ),
    "an overtaken attempt may say that it did not happen": (
        replace(CHECKABLE, is_probe_fenced=False),
        [
            "the other side is asked",
            "a lease lapses",
            "the answer is no",
            "X: the answer gets lost",
            "the answer is no",
        ],
    ),
    "the horizon of the key is not minded": (
        replace(KEYED, minds_horizon=False),
        ["X: the holder calls", "W4: the holder begins", "the other side forgets the key", "X: the holder calls"],
    ),
    "a repeat that is refused counts for the call before it": (
        replace(KEYED, keeps_doubt=False),
        ["X: the holder calls", "the effect is released", "the other side forgets the key", "X: the holder calls"],
    ),
}


@pytest.mark.parametrize(("protocol", "story"), BROKEN.values(), ids=BROKEN)
def test_without_one_safeguard_the_effect_happens_twice(protocol, story):
    path = explore(protocol, until=happens_twice).first(happens_twice)
    assert path is not None
    steps = iter(path)
    assert all(step in steps for step in story), path


def test_a_completion_that_is_turned_away_for_its_fence_loses_the_answer_and_nothing_else():
    """Nobody would know that it happened but a person who looks: facts are not fenced, for that alone (W5)."""
    search = explore(replace(UNSAFE, takes_stale_completion=False))
    assert search.first(happens_twice) is None
    assert TURNED_AWAY in search.names
