"""The table of states: complete, and one word, one look and one icon for each."""

from __future__ import annotations

import pytest

from jobs.broker.keys import STATES
from jobs.broker.records import ResultKind
from jobs.domain.findings import UNKNOWN_RESULTS, Finding
from jobs.domain.idempotency import Idempotency
from jobs.domain.notices import Level
from jobs.domain.operations import AttemptOutcome, DedupCause, EffectStatus, OperationStatus
from jobs.domain.verdicts import EVIDENCE, Verdict
from jobs.domain.words import DEDUP_WORDS, EVIDENCE_WORDS, MOVING_STATES, STATE_WORDS, Look, state_word


@pytest.mark.parametrize(
    "key",
    [
        *Finding,
        *ResultKind,
        *STATES,
        *Idempotency,
        *OperationStatus,
        *AttemptOutcome,
        *EffectStatus,
        *Verdict,
        *(level.word for level in Level),
        "ok",
        *("worker_busy", "worker_idle", "worker_leaving", "worker_dead"),
    ],
)
def test_every_state_that_a_page_can_show_has_a_word(key):
    assert str(key) in STATE_WORDS


def test_every_cause_of_a_repeat_and_every_piece_of_evidence_has_its_words():
    assert set(DEDUP_WORDS) == set(DedupCause)
    assert {piece.name for pieces in EVIDENCE.values() for piece in pieces} <= set(EVIDENCE_WORDS)


@pytest.mark.parametrize("finding", sorted(UNKNOWN_RESULTS))
def test_whatever_has_an_unknown_result_looks_like_review(finding):
    assert state_word(finding).look is Look.REVIEW


def test_what_finished_though_filed_as_failed_does_not_look_failed():
    assert state_word("done_but_marked_failed").look is Look.DONE


@pytest.mark.parametrize("key", ["brand new state", "<b>"])
def test_a_state_nobody_knows_keeps_its_own_name_and_asks_for_eyes(key):
    assert state_word(key).word == key
    assert state_word(key).look is Look.REVIEW


def test_a_state_without_a_name_is_called_unknown():
    assert state_word("").word == "unknown"


def test_the_same_word_always_has_the_same_look_and_icon():
    looks = {}
    for state in STATE_WORDS.values():
        looks.setdefault(state.word, set()).add((state.look, state.icon))
    assert {word: shown for word, shown in looks.items() if len(shown) > 1} == {}


def test_only_findings_can_be_moving_and_no_failure_is():
    assert set(Finding) >= MOVING_STATES
    assert not MOVING_STATES & {"failed_known", "result_unknown", "stopped", "finished", "canceled", "gone"}
