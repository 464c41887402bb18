"""The decision table over the whole product of its inputs: total, bounded, and never bolder for more doubt (I9)."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from jobs.domain.decisions import Action
from jobs.domain.idempotency import Idempotency
from jobs.domain.operation_rules import decide
from jobs.domain.operations import AskedBy, EffectStatus, ErrorKind, OperationStatus, Snapshot
from tests.domain.operation_states import (
    AFTER,
    ASKED_OFTEN,
    BEFORE,
    CLASSES,
    DONE,
    FORGOTTEN,
    NOW,
    OPEN,
    QUARANTINED,
    RELEASED,
    UNKNOWN,
    effect,
    running,
)

BOOLEANS = (False, True)
ABSENT = None
BY_ITSELF, BY_HAND = AskedBy.AUTO, AskedBy.OPERATOR

# What is known of one effect. Except for class and status, doubt is the second of two.
EFFECT = {
    "class": CLASSES,
    "status": (ABSENT, RELEASED, DONE, OPEN, UNKNOWN),
    "key": ({}, FORGOTTEN),
    "request": ({}, {"is_same_request": False}),
    "probe": ({"has_probe": True}, {"has_probe": False}),
    "liveness": ({}, QUARANTINED),
    "settling": ({}, {"settled_at": AFTER}),
    "asked": ({}, ASKED_OFTEN),
}
# What is known of its operation.
OPERATION = {
    "asked_by": (BY_ITSELF, BY_HAND),
    "is_code_known": (True, False),
    "last_error": (ErrorKind.LOST, ErrorKind.PERMANENT),
    "is_exhausted": BOOLEANS,
    "is_poison": BOOLEANS,
    "is_due": (True, False),
}
DIMENSIONS = {**EFFECT, **OPERATION}
NAMES = tuple(DIMENSIONS)
# More doubt about the same effect: pairs of (surer, more doubtful). A key that is forgotten and an answer that can be
# had are doubts of different kinds, so keyed and checkable are not compared; nor are ways of being sure.
MORE_DOUBT: dict[str, tuple] = {
    name: (({}, values[1]),) for name, values in EFFECT.items() if name not in ("class", "status", "probe")
} | {
    "class": (
        ("repeatable", "keyed"),
        ("repeatable", "checkable"),
        ("keyed", "unsafe"),
        ("checkable", "unsafe"),
        ("unsafe", "undeclared"),
    ),
    "status": ((ABSENT, OPEN), (RELEASED, OPEN), (DONE, OPEN), (OPEN, UNKNOWN)),
    "probe": (EFFECT["probe"],),
    "is_code_known": ((True, False),),
}

ACTS = frozenset({Action.RETRY, Action.FAIL})
"""What is settled at once and by nobody else: run again, or closed for good. All else leaves everything as it is."""
CAUTION = {Action.RETRY: 0, Action.FAIL: 0, Action.PROBE: 1, Action.WAIT: 2, Action.REVIEW: 3}
"""How much is left to others: nothing, an answer from outside, time, a person."""


def an_effect(kind, status, *changes):
    if status is ABSENT:
        return ()
    return (effect(kind, status, **{name: value for change in changes for name, value in change.items()}),)


def an_operation(effects, is_code_known, last_error, is_exhausted, is_poison, is_due):
    return Snapshot(
        status=OperationStatus.RETRY_WAIT,
        effects=effects,
        declared_effects=("charge",),
        is_code_known=is_code_known,
        last_error=last_error,
        attempts_used=5 if is_exhausted else 3,
        lost_attempts=3 if is_poison else 1,
        next_attempt_at=BEFORE if is_due else AFTER,
    )


def combined(dimensions):
    """Each combination: the places of its values, and the values."""
    for chosen in product(*(enumerate(values) for values in dimensions.values())):
        yield tuple(zip(*chosen, strict=True))


@pytest.fixture(scope="module")
def answers():
    """Every combination, by the places of its values."""
    operations = list(combined(OPERATION))
    found = {}
    for effect_places, values in combined(EFFECT):
        effects = an_effect(*values)
        for places, (asked_by, *of_operation) in operations:
            found[effect_places + places] = decide(an_operation(effects, *of_operation), NOW, asked_by)
    assert len(found) == 5 * 5 * 2**6 * 2**6
    return found


def known(places, *names):
    """The values of a combination."""
    return tuple(DIMENSIONS[name][places[NAMES.index(name)]] for name in names)


def test_every_combination_has_an_answer_with_code_row_and_sentence(answers):
    actions = set()
    for decision in answers.values():
        assert decision.code and decision.rule[0] == "R" and decision.sentence.endswith(".")
        actions.add(decision.action)
    assert actions == {*CAUTION, Action.REFUSE}


def test_nothing_is_closed_as_failed_while_something_may_have_happened(answers):
    for places, decision in answers.items():
        if decision.action is Action.FAIL:
            kind, status = known(places, "class", "status")
            assert status is not UNKNOWN and (status is not OPEN or kind == "repeatable"), places


def test_nothing_open_is_done_again_unless_it_is_repeatable_or_its_key_is_known(answers):
    for places, decision in answers.items():
        kind, status, key, request = known(places, "class", "status", "key", "request")
        if decision.action is Action.RETRY and status in (OPEN, UNKNOWN):
            assert status is OPEN and kind in ("repeatable", "keyed"), places
            assert kind == "repeatable" or not (key or request), places


def test_the_other_side_is_only_asked_once_its_answer_means_something(answers):
    for places, decision in answers.items():
        if decision.action is Action.PROBE:
            assert known(places, "liveness", "settling", "asked", "is_code_known") == ({}, {}, {}, True), places
            assert known(places, "status") == (OPEN,)


def test_what_runs_by_itself_comes_to_an_end(answers):
    """Out of attempts there is only the final mark to set; and attempts that are lost have a limit of their own."""
    for places, decision in answers.items():
        asked_by, error, exhausted, poison, due = known(
            places, "asked_by", "last_error", "is_exhausted", "is_poison", "is_due"
        )
        if decision.action is Action.RETRY and asked_by is BY_ITSELF:
            assert due and not poison, places
            assert not exhausted or (decision.code == "resume_only" and error is ErrorKind.LOST), places


def test_who_asks_changes_an_answer_only_in_the_four_rows_that_a_person_may_override(answers):
    at, overridden = NAMES.index("asked_by"), set()
    for places, decision in answers.items():
        by_hand = answers[(*places[:at], 1, *places[at + 1 :])]
        if (decision.action, decision.code) != (by_hand.action, by_hand.code):
            assert by_hand.action is Action.RETRY, places
            overridden.add(decision.rule)
    assert overridden == {"R16", "R17", "R18", "R19"}


@pytest.mark.parametrize("name", sorted(MORE_DOUBT))
def test_more_doubt_never_makes_bolder(answers, name):
    """It makes no run of what was none; and where only doubt counts, neither time nor attempts, it asks for more."""
    for surer, doubtful, places in doubts(answers, name):
        assert surer.action in ACTS or doubtful.action is not Action.RETRY, places
        if name not in ("liveness", "settling") and known(places, "asked_by", "is_code_known") == (BY_HAND, True):
            assert CAUTION.get(surer.action, 3) <= CAUTION.get(doubtful.action, 3), places


def doubts(answers, name):
    """Each two answers that differ in one doubt about this."""
    at, values = NAMES.index(name), DIMENSIONS[name]
    for surer, doubtful in MORE_DOUBT[name]:
        one, other = values.index(surer), values.index(doubtful)
        for places, decision in answers.items():
            if places[at] == one:
                yield decision, answers[(*places[:at], other, *places[at + 1 :])], places


# What stands in the way of everything, by which of its two values is the doubt; and what else there is to know.
GUARDS = {
    "exists": (True, False),
    "has_same_arguments": (True, False),
    "has_open_review": BOOLEANS,
    "attempt": (None, running(AFTER)),
    "is_layered": (True, False),
    "is_abandoned": BOOLEANS,
}
REST = {
    "is_cancel_requested": BOOLEANS,
    "last_error": (None, ErrorKind.PERMANENT),
    "status": tuple(OperationStatus),
    "effects": (
        (),
        *((effect("keyed", status),) for status in (OPEN, DONE, EffectStatus.ABANDONED, EffectStatus.REVERSED)),
        (effect("unsafe"),),
    ),
    "asked_by": tuple(AskedBy),
}
CLOSED = (OperationStatus.COMPLETED, OperationStatus.CANCELLED)
GIVEN_UP = (EffectStatus.ABANDONED, EffectStatus.REVERSED)


@pytest.fixture(scope="module")
def guarded():
    dimensions = {**GUARDS, **REST}
    found = {}
    for places, values in combined(dimensions):
        inputs = dict(zip(dimensions, values, strict=True))
        asked_by, snapshot = inputs.pop("asked_by"), Snapshot(**inputs)
        found[places] = (asked_by, snapshot, decide(snapshot, NOW, asked_by))
    assert len(found) == 2**6 * 2 * 2 * 8 * 6 * 4
    return found


def test_the_same_question_has_the_same_answer(guarded):
    for asked_by, snapshot, decision in list(guarded.values())[::3]:
        assert decide(snapshot, NOW, asked_by) == decision


def test_nothing_is_done_past_what_stands_in_the_way_whoever_asks(guarded):
    acted = set()
    for asked_by, snapshot, decision in guarded.values():
        if decision.action in (*ACTS, Action.PROBE):
            acted.add((asked_by, decision.action))
            assert snapshot.exists and snapshot.has_same_arguments and not snapshot.has_open_review
            assert not snapshot.attempt and not snapshot.is_abandoned and snapshot.status not in CLOSED
            assert not any(one.status in GIVEN_UP for one in snapshot.effects)
            assert snapshot.status is not OperationStatus.FAILED or asked_by in (BY_HAND, AskedBy.BULK)
    by_itself = {(who, action) for who in (BY_ITSELF, AskedBy.SWEEPER) for action in ACTS}
    assert acted == by_itself | {(who, Action.RETRY) for who in (BY_HAND, AskedBy.BULK)}


def test_no_guard_that_goes_up_lets_more_through(guarded):
    for places, (_, snapshot, decision) in guarded.items():
        for at, name in enumerate(GUARDS):
            surer = guarded[(*places[:at], 0, *places[at + 1 :])][2]
            assert surer.action in ACTS or decision.action not in ACTS, (name, snapshot)


def test_the_sweeper_is_answered_like_a_worker_and_bulk_like_an_operator(guarded):
    for places, (asked_by, _, decision) in guarded.items():
        twin = {BY_ITSELF: AskedBy.SWEEPER, BY_HAND: AskedBy.BULK}.get(asked_by)
        if twin:
            assert guarded[(*places[:-1], tuple(AskedBy).index(twin))][2] == decision


def test_what_was_cancelled_is_only_refused_while_nothing_has_left_the_system(guarded):
    refused = [snapshot for _, snapshot, decision in guarded.values() if decision.code == "cancelled"]
    assert refused
    assert not any(snapshot.effects for snapshot in refused)


# Several effects at once.
KINDS = [
    *(effect(kind, status) for kind in CLASSES for status in (OPEN, UNKNOWN, DONE, RELEASED)),
    *(effect("checkable", **change) for change in (QUARANTINED, {"settled_at": AFTER}, ASKED_OFTEN)),
    *(effect("keyed", has_probe=probe, **FORGOTTEN, **alive) for probe in BOOLEANS for alive in ({}, QUARANTINED)),
    effect("keyed", is_same_request=False),
]


@pytest.mark.parametrize("asked_by", [BY_ITSELF, BY_HAND])
def test_of_several_effects_the_most_cautious_answer_counts(asked_by):
    def answer(*effects):
        return decide(Snapshot(status=OperationStatus.RUNNING, effects=effects), NOW, asked_by)

    alone = {one: answer(one) for one in KINDS}
    for pair in combinations(KINDS, 2):
        wanted = max((alone[one] for one in pair), key=lambda decision: CAUTION[decision.action])
        assert CAUTION[answer(*pair).action] == CAUTION[wanted.action], pair


def test_the_classes_of_the_product_are_all_there_are():
    assert set(CLASSES) == {one.value for one in Idempotency}
    assert set(EFFECT["status"]) - {ABSENT} | set(GIVEN_UP) == set(EffectStatus)
