"""The decision table of operations, row by row: the state, who asks, and what is answered (protocol, 2)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest

from jobs.domain.decisions import Action
from jobs.domain.effect_rules import is_key_alive
from jobs.domain.operation_rules import decide
from jobs.domain.operations import AskedBy, OperationStatus
from tests.domain.operation_states import (
    AFTER,
    ASKED_OFTEN,
    BEFORE,
    DONE,
    HOUR,
    NOW,
    PERMANENT,
    QUARANTINED,
    STATES,
    UNKNOWN,
    effect,
    of,
    rested,
    running,
)

# `all`: whoever asks; `self`: what runs by itself (auto, sweeper); `person`: operator, bulk.
TABLE = """
no record                          all     refuse          operation_missing    R1
other arguments                    all     refuse          args_mismatch        R3
other arguments, completed         all     refuse          args_mismatch        R3
completed                          all     skip_duplicate  already_completed    R4
completed, then undone             all     skip_duplicate  already_completed    R4
cancelled                          all     refuse          closed               R5
abandoned                          all     refuse          closed               R5
an effect given up                 all     refuse          closed               R5
an effect undone                   all     refuse          closed               R5
failed                             self    refuse          closed               R5
failed                             person  retry           nothing_begun        R24
failed, in review                  self    refuse          closed               R5
failed, in review                  person  refuse          review_open          R6
failed over an unsafe one          person  review          unsafe_begun         R9
in review                          all     refuse          review_open          R6
live attempt                       self    wait            in_progress          R7
live attempt                       person  refuse          in_progress          R7
live attempt, nothing begun        self    wait            in_progress          R7
live attempt, nothing begun        person  refuse          in_progress          R7
lease over this moment             all     retry           nothing_begun        R24
proved dead                        all     retry           nothing_begun        R24
unknown repeatable                 all     review          effect_unknown       R8
unknown keyed                      all     review          effect_unknown       R8
unknown checkable                  all     review          effect_unknown       R8
unknown unsafe                     all     review          effect_unknown       R8
open unsafe                        all     review          unsafe_begun         R9
open undeclared                    all     review          unsafe_begun         R9
open keyed, other request          all     review          key_request_changed  R10
forgotten key                      all     review          key_expired          R11
no horizon                         all     review          key_expired          R11
key just too short                 all     review          key_expired          R11
key just long enough               all     retry           same_key             R21
forgotten key, perhaps alive       all     wait            quarantine           R12
forgotten key with a probe         all     probe           probe                R13
open checkable, perhaps alive      all     wait            quarantine           R12
open checkable, not settled        all     wait            quarantine           R12
open checkable, settled            all     probe           probe                R13
open checkable, asked often        all     review          probe_inconclusive   R13
open checkable, no code            all     refuse          code_missing         R14
asked often, no code               all     review          probe_inconclusive   R13
no code                            all     refuse          code_missing         R14
other parameters                   all     refuse          signature_mismatch   R14
no code, live key                  all     refuse          code_missing         R14
cancel asked, nothing begun        all     refuse          cancelled            R15
cancel asked, released             all     refuse          cancelled            R15
cancel asked, live key             all     retry           same_key             R21
cancel asked, one done             all     retry           nothing_begun        R24
cancel asked, outside the layer    all     review          undeclared_started   R23
bad data                           self    fail            bad_data             R16
bad data                           person  retry           nothing_begun        R24
bad data, one done                 self    fail            bad_data             R16
bad data, live key                 all     retry           same_key             R21
bad data, unsafe                   all     review          unsafe_begun         R9
lost too often                     self    fail            poison_suspected     R17
lost too often                     person  retry           nothing_begun        R24
lost too often, repeatable         self    fail            poison_suspected     R17
lost too often, live key           self    review          poison_open          R17
lost too often, live key           person  retry           same_key             R21
lost too often, all done           self    fail            poison_suspected     R17
exhausted                          self    fail            attempts_exhausted   R18
exhausted                          person  retry           nothing_begun        R24
exhausted, repeatable              self    fail            attempts_exhausted   R18
exhausted, live key                self    review          exhausted_open       R18
exhausted, live key                person  retry           same_key             R21
exhausted, all done, lost          all     retry           resume_only          R20
exhausted, all done, fails         self    fail            attempts_exhausted   R18
exhausted, all done, fails         person  retry           resume_only          R20
not due                            self    wait            backoff              R19
not due                            person  retry           nothing_begun        R24
not due, live key                  self    wait            backoff              R19
due this moment                    all     retry           nothing_begun        R24
all done                           all     retry           resume_only          R20
all done, and another open         all     retry           repeatable           R22
one of two done                    all     retry           nothing_begun        R24
items done                         all     retry           nothing_begun        R24
done, nothing declared             all     retry           nothing_begun        R24
live key                           all     retry           same_key             R21
live key, perhaps alive            all     retry           same_key             R21
live key and repeatable            all     retry           same_key             R21
open repeatable                    all     retry           repeatable           R22
outside the layer, started         all     review          undeclared_started   R23
outside the layer, bad data        all     review          undeclared_started   R23
outside the layer, lost too often  all     review          undeclared_started   R23
outside the layer, exhausted       all     review          undeclared_started   R23
outside the layer, new             all     retry           nothing_begun        R24
new                                all     retry           nothing_begun        R24
queued                             all     retry           nothing_begun        R24
released                           all     retry           nothing_begun        R24
nothing begun                      all     retry           nothing_begun        R24
unsafe beside quarantined          all     review          unsafe_begun         R9
asked often beside quarantined     all     review          probe_inconclusive   R13
settled beside quarantined         all     wait            quarantine           R12
settled beside a live key          all     probe           probe                R13
"""
ROWS = [line.rsplit(maxsplit=4) for line in TABLE.strip().splitlines()]
WHO = {
    "all": tuple(AskedBy),
    "self": (AskedBy.AUTO, AskedBy.SWEEPER),
    "person": (AskedBy.OPERATOR, AskedBy.BULK),
}


@pytest.mark.parametrize(("state", "who", "action", "code", "rule"), ROWS)
def test_the_table_of_operations(state, who, action, code, rule):
    for asked_by in WHO[who]:
        decision = decide(STATES[state], NOW, asked_by)
        assert (decision.action, decision.code, decision.rule) == (action, code, rule)


def test_every_row_and_every_state_of_the_table_is_asked_for():
    assert {row[0] for row in ROWS} == set(STATES)
    assert {row[4] for row in ROWS} == {f"R{number}" for number in range(1, 25)} - {"R2"}


# What stands in a sentence, for the states where it says more than its code.
COMPLETED = replace(STATES["completed"], closed_at=BEFORE, completed_by_attempt=2, external_id="ch_77")
CANCELLED = replace(STATES["cancelled"], closed_by="otto", closed_at=BEFORE, reason="Ordered twice.")
SENTENCES = [
    (COMPLETED, "It finished at 2026-03-14 14:09:26 UTC by attempt 2 (known elsewhere as ch_77): running it"),
    (STATES["completed"], "It finished: running it again would do nothing."),
    (CANCELLED, "Cancelled by otto at 2026-03-14 14:09:26 UTC: “Ordered twice”. Reopen it"),
    (replace(CANCELLED, reason="no " * 99), "…”. Reopen it explicitly"),
    (STATES["abandoned"], "Given up: it may have taken effect, and is not run again."),
    (STATES["an effect given up"], "Given up, though it may have happened: “charge”. Nothing is run again."),
    (STATES["an effect undone"], "Undone by a person after it happened: “charge”."),
    (STATES["in review"], "a person must first say there whether “charge” happened."),
    (rested(has_open_review=True), "a person must first say there what its last attempt did."),
    (
        STATES["live attempt"],
        "Attempt 2 started at 2026-03-14 14:09:26 UTC on worker w3 and may run until 2026-03-14 16:09:26 UTC.",
    ),
    (of(attempt=replace(running(AFTER), worker_name="")), "14:09:26 UTC and may run until"),
    (STATES["unknown unsafe"], "Nobody can prove whether “charge” happened (begun at 2026-03-14 14:09:26 UTC)."),
    (STATES["open unsafe"], "may have been made at 2026-03-14 14:09:26 UTC, and the other side can’t recognise"),
    (of(effect("unsafe", begun_at=None)), "The call of “charge” may have been made, and"),
    (STATES["open undeclared"], "nobody has declared whether it may be repeated"),
    (
        STATES["forgotten key"],
        "recognises its key only until 2026-03-14 15:09:26 UTC, which a retry might not keep to.",
    ),
    (STATES["no horizon"], "may have forgotten its key"),
    (STATES["open checkable, perhaps alive"], "The attempt that began it may still act until 2026-03-14 16:09:26 UTC"),
    (of(effect("checkable", may_still_act=True)), "may still act: a check now would prove nothing."),
    (STATES["open checkable, not settled"], "The other side may still change its answer until 2026-03-14 16:09:26"),
    (STATES["open checkable, asked often"], "was asked 5 times whether “charge” happened"),
    (STATES["no code, live key"], "then retry. Begun, and may have happened: “charge”."),
    (STATES["bad data"], "Repeating will not help: “InvoiceInvalid: no address”. Fix the data, then retry"),
    (rested(**{**PERMANENT, "last_message": ""}), "Repeating will not help. Fix the data"),
    (STATES["bad data, one done"], "Happened already: “charge”."),
    (STATES["lost too often"], "3 attempts ended with the death of the process"),
    (of(lost_attempts=1, max_lost=1), "1 attempt ended with"),
    (STATES["lost too often, live key"], "“charge” may have happened: somebody has to find out first."),
    (STATES["exhausted"], "5 attempts of 5 were made, the last error was “Timeout: slow”. Retry by hand"),
    (STATES["not due"], "Its next attempt is due at 2026-03-14 16:09:26 UTC."),
    (STATES["live key"], "recognises a repeat by its key until 2026-03-14 16:09:26 UTC"),
    (of(effect("unsafe", DONE, item="7")), "Happened already, and not done again: “charge (7)”."),
    (of(*(effect("repeatable", item=str(n)) for n in range(5))), "“charge (0)”, “charge (1)” and 3 more"),
    (of(*(effect("repeatable", item=str(n)) for n in range(2))), "“charge (0)” and “charge (1)”."),
    (STATES["released"], "Known not to have happened: “charge”."),
    (STATES["nothing begun"], "No outside effect was begun by any attempt."),
    (STATES["new"], "It has not been started yet."),
]


@pytest.mark.parametrize(("state", "words"), SENTENCES, ids=range(len(SENTENCES)))
def test_a_sentence_says_what_is_known(state, words):
    assert words in decide(state, NOW, AskedBy.AUTO).sentence


def test_who_retries_a_failed_operation_by_itself_is_told_since_when_and_why():
    failed = replace(STATES["failed"], closed_at=BEFORE, reason="No address.")
    sentence = decide(failed, NOW, AskedBy.SWEEPER).sentence
    assert sentence.startswith("It failed at 2026-03-14 14:09:26 UTC: “No address”. Only a person")


def test_times_are_given_in_the_zone_of_who_asks():
    sentence = decide(STATES["not due"], NOW, AskedBy.AUTO, zone=ZoneInfo("Europe/Berlin")).sentence
    assert "2026-03-14 17:09:26 CET" in sentence


TIMES = [
    ("live attempt", AFTER),
    ("open checkable, perhaps alive", AFTER),
    ("open checkable, not settled", AFTER),
    ("not due", AFTER),
    ("open checkable, settled", None),
    ("live key", None),
    ("new", None),
]


@pytest.mark.parametrize(("state", "not_before"), TIMES, ids=[state for state, _ in TIMES])
def test_an_answer_that_puts_off_says_until_when(state, not_before):
    assert decide(STATES[state], NOW, AskedBy.SWEEPER).not_before == not_before


def test_the_other_side_is_asked_when_the_attempt_is_dead_and_the_answer_has_settled():
    late = effect("checkable", **QUARANTINED, settled_at=AFTER + HOUR)
    assert decide(of(late), NOW, AskedBy.AUTO).not_before == AFTER + HOUR
    soon = replace(late, settled_at=NOW + timedelta(seconds=1))
    assert decide(of(soon), NOW, AskedBy.AUTO).not_before == AFTER


def test_a_probe_after_one_without_an_answer_waits_for_its_turn_unless_a_person_asks():
    """Otherwise the sweeper would use up all its probes within a second."""
    waiting = rested(effect("checkable", probes_made=1), next_attempt_at=AFTER)
    by_itself, by_hand = (decide(waiting, NOW, asked_by) for asked_by in (AskedBy.SWEEPER, AskedBy.OPERATOR))
    assert by_itself.action is by_hand.action is Action.PROBE
    assert (by_itself.not_before, by_hand.not_before) == (AFTER, None)


def test_only_the_repeat_of_a_key_asks_for_a_confirmation():
    asking = {name for name, state in STATES.items() if decide(state, NOW, AskedBy.OPERATOR).asks}
    assert asking == {name for name, state in STATES.items() if decide(state, NOW, AskedBy.OPERATOR).code == "same_key"}


def test_the_order_in_which_effects_were_begun_changes_no_answer():
    several = [state for state in STATES.values() if len(state.effects) > 1]
    assert several
    for state in several:
        reversed_effects = replace(state, effects=state.effects[::-1])
        assert decide(state, NOW, AskedBy.AUTO) == decide(reversed_effects, NOW, AskedBy.AUTO)


def test_of_two_effects_that_want_a_review_the_earlier_row_speaks():
    both = of(effect("checkable", name="mail", **ASKED_OFTEN), effect("keyed", UNKNOWN))
    assert decide(both, NOW, AskedBy.AUTO).rule == "R8"


def test_a_key_is_alive_only_if_a_call_that_begins_now_ends_before_it_is_forgotten():
    timeout = timedelta(seconds=30)
    one = effect("keyed", key_valid_until=NOW + timeout)
    assert not is_key_alive(one, now=NOW, call_timeout=timeout)
    assert is_key_alive(one, now=NOW - timedelta(seconds=1), call_timeout=timeout)
    assert not is_key_alive(replace(one, key_valid_until=None), now=NOW, call_timeout=timeout)


def test_an_operation_that_looks_new_has_started_if_anything_says_so():
    new = STATES["outside the layer, new"]
    signs = [{"attempts_used": 1}, {"lost_attempts": 1}, {"attempt": running(BEFORE)}, {"last_error": "transient"}]
    signs += [{"status": status} for status in (OperationStatus.RUNNING, OperationStatus.RETRY_WAIT)]
    for sign in signs:
        assert decide(replace(new, **sign), NOW, AskedBy.AUTO).code == "undeclared_started"
