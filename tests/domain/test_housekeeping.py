"""Delete, cancel, stop, enqueue now, strike off: which state allows which, and over all inputs what never may be."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import product

import pytest

from jobs.domain.decisions import Action, Case
from jobs.domain.evidence import Evidence
from jobs.domain.findings import Finding, Judgement, judge
from jobs.domain.housekeeping import ORPHAN_GRACE
from jobs.domain.idempotency import Idempotency, Promise
from jobs.domain.standing import Standing
from jobs.domain.verbs import DECIDE, verbs_for

REPEATABLE, UNSAFE = Promise(Idempotency.REPEATABLE), Promise(Idempotency.UNSAFE)


def case(now, promise=UNSAFE, **evidence):
    whole = Evidence(**{"exists": True, "timeout_seconds": 180, **evidence})
    return Case(evidence=whole, judgement=judge(whole, now), promise=promise, now=now)


def states(now):
    """A job in each state, as Redis shows it."""
    running = {"status": "started", "started_at": now, "executions": 1, "lease_until": now + timedelta(seconds=60)}
    long_ago = now - timedelta(hours=2)
    return {
        "failed": {"status": "failed", "listed_in": frozenset({"failed"}), "newest_text": "x", "started_at": long_ago},
        "finished": {"status": "finished", "listed_in": frozenset({"finished"})},
        "canceled": {"status": "canceled", "listed_in": frozenset({"canceled"})},
        "created": {"status": "created"},
        "queued": {"status": "queued", "queued_times": 1, "enqueued_at": now},
        "taken": {"status": "queued", "in_intermediate": True, "enqueued_at": now},
        "scheduled": {"status": "scheduled", "listed_in": frozenset({"scheduled"})},
        "retry pending": {"status": "scheduled", "listed_in": frozenset({"scheduled"}), "started_at": long_ago},
        "deferred": {"status": "deferred", "listed_in": frozenset({"deferred"})},
        "running": running,
        "given up": {**running, "lease_until": now - timedelta(seconds=1), "started_at": long_ago},
        "just lost": {"status": "queued", "enqueued_at": now},
        "lost": {"status": "queued", "enqueued_at": now - ORPHAN_GRACE},
        "lost again": {"status": "queued", "enqueued_at": now - ORPHAN_GRACE, "started_at": long_ago},
        "rate limited": {"status": "rate_limited", "is_rate_limited": True},
        "colon": {"status": "failed", "listed_in": frozenset({"failed"}), "is_confusable": True},
        "half": {"status": None},
        "gone": {"exists": False, "status": None, "listed_in": frozenset({"failed"})},
    }


# The answer's code for each act; those in capitals carry it out.
TABLE = """
state          delete           cancel           stop             enqueue          remove
failed         DELETE           not_waiting      not_running      not_waiting      data_there
finished       DELETE           not_waiting      not_running      not_waiting      data_there
canceled       DELETE           not_waiting      not_running      not_waiting      data_there
created        DELETE           not_waiting      not_running      not_waiting      data_there
queued         DELETE           CANCEL           not_running      not_waiting      data_there
taken          being_taken      being_taken      not_running      not_waiting      data_there
scheduled      DELETE           CANCEL           not_running      SCHEDULED        data_there
retry_pending  DELETE           CANCEL           not_running      retry_pending    data_there
deferred       DELETE           CANCEL           not_running      not_waiting      data_there
running        in_progress      not_waiting      STOP             not_waiting      data_there
given_up       in_progress      not_waiting      not_running      not_waiting      data_there
just_lost      DELETE           not_waiting      not_running      just_queued      data_there
lost           DELETE           not_waiting      not_running      NEVER_STARTED    data_there
lost_again     DELETE           not_waiting      not_running      result_unknown   data_there
rate_limited   rate_limited     rate_limited     rate_limited     rate_limited     data_there
colon          confusable_name  confusable_name  confusable_name  confusable_name  confusable_name
half           data_gone        data_gone        data_gone        data_gone        REMOVE_ENTRY
gone           data_gone        data_gone        data_gone        data_gone        REMOVE_ENTRY
"""
HEAD, *ROWS = [line.split() for line in TABLE.strip().splitlines()]
VERBS = dict(zip(HEAD[1:], ("delete_job", "cancel_job", "stop_job", "enqueue_job", "remove_entry"), strict=True))
ANSWERS = [(row[0].replace("_", " "), act, code) for row in ROWS for act, code in zip(HEAD[1:], row[1:], strict=True)]


def test_every_state_stands_in_the_table(now):
    assert [row[0].replace("_", " ") for row in ROWS] == list(states(now))


@pytest.mark.parametrize(("state", "act", "code"), ANSWERS)
def test_each_act_is_answered_by_the_state(state, act, code, now):
    decision = DECIDE[VERBS[act]](case(now, **states(now)[state]))
    assert (decision.code, decision.allows_act) == (code.lower(), code.isupper())
    assert decision.sentence.endswith(".")


@pytest.mark.parametrize(
    ("state", "code"), [("retry pending", "repeatable"), ("lost again", "repeatable"), ("lost", "never_started")]
)
def test_what_is_declared_repeatable_may_be_hastened(state, code, now):
    decision = DECIDE["enqueue_job"](case(now, REPEATABLE, **states(now)[state]))
    assert decision.allows_act and decision.code == code


def test_a_job_lost_a_moment_ago_may_be_in_a_workers_hand(now):
    decision = DECIDE["enqueue_job"](case(now, REPEATABLE, **states(now)["just lost"]))
    assert decision.action is Action.WAIT and "2026-03-14 15:10:26 UTC" in decision.sentence


def test_what_an_orphan_may_bring_back_is_deleted_when_that_is_dead(now):
    abandoned = {"status": "failed", "listed_in": frozenset({"failed"}), "started_at": now}
    one = case(now, newest_text="Moved to FailedJobRegistry, due to AbandonedJobError, at 2026", **abandoned)
    assert DECIDE["delete_job"](one).action is Action.WAIT
    endless = {"newest_text": "Moved to FailedJobRegistry, due to AbandonedJobError", "timeout_seconds": -1}
    assert DECIDE["delete_job"](case(now, **endless, **abandoned)).allows_act


@pytest.mark.parametrize("state", ["failed", "queued", "scheduled", "deferred", "finished"])
@pytest.mark.parametrize("verb", ["delete_job", "cancel_job"])
def test_a_job_with_a_live_lease_is_neither_deleted_nor_cancelled(state, verb, now):
    one = case(now, **{**states(now)[state], "executions": 1, "lease_until": now + timedelta(seconds=5)})
    assert not DECIDE[verb](one).allows_act


IN_REVIEW = Standing(has_open_review=True)
SAID = (Standing(has_happened=True), Standing(is_abandoned=True))


def test_what_is_in_review_stays_as_evidence_until_that_is_closed(now):
    one = case(now, REPEATABLE, **states(now)["failed"])
    decision = DECIDE["delete_job"](replace(one, standing=IN_REVIEW))
    assert (decision.action, decision.code) == (Action.REFUSE, "review_open")
    assert all(DECIDE["delete_job"](replace(one, standing=standing)).allows_act for standing in SAID)


@pytest.mark.parametrize("state", ["scheduled", "retry pending", "lost", "lost again"])
def test_what_was_said_in_a_review_keeps_a_job_from_being_hastened(state, now):
    one = case(now, REPEATABLE, **states(now)[state])
    codes = [DECIDE["enqueue_job"](replace(one, standing=standing)).code for standing in (IN_REVIEW, *SAID)]
    assert codes == ["review_open", "already_completed", "closed"]


@pytest.mark.parametrize(
    ("verb", "state"), [("cancel_job", "queued"), ("cancel_job", "retry pending"), ("stop_job", "running")]
)
def test_what_keeps_a_job_in_review_from_running_can_be_done(verb, state, now):
    assert DECIDE[verb](replace(case(now, **states(now)[state]), standing=IN_REVIEW)).allows_act


def test_stopping_says_that_the_outcome_may_become_unknown(now):
    running = states(now)["running"]
    assert "the outcome may become unknown" in DECIDE["stop_job"](case(now, UNSAFE, **running)).sentence
    assert "declared repeatable" in DECIDE["stop_job"](case(now, REPEATABLE, **running)).sentence


def test_deleting_says_when_evidence_goes_with_it(now):
    assert "evidence" in DECIDE["delete_job"](case(now, **states(now)["failed"])).sentence
    assert "evidence" not in DECIDE["delete_job"](case(now, **states(now)["lost"])).sentence


@pytest.mark.parametrize("state", [row[0].replace("_", " ") for row in ROWS])
def test_pages_speak_of_every_act_that_the_state_allows(state, now):
    one = case(now, REPEATABLE, **states(now)[state])
    allowed = {verb for verb, decide in DECIDE.items() if decide(one).allows_act}
    assert allowed <= set(verbs_for(one.judgement.finding))


STATUSES = (
    *("failed", "stopped", "queued", "started", "finished", "scheduled", "deferred", "canceled", "created"),
    *("rate_limited", "invented", None),
)


def test_over_all_inputs_what_may_run_is_not_deleted_and_what_waits_is_not_hastened_in_doubt(now):
    booleans = (False, True)
    flags = product(booleans, repeat=7)
    for (exists, taken, limited, odd, leased, dead, readable), status, finding in product(flags, STATUSES, Finding):
        evidence = Evidence(
            exists=exists,
            status=status,
            in_intermediate=taken,
            is_rate_limited=limited,
            is_confusable=odd,
            is_readable=readable,
            lease_until=now if leased else None,
            enqueued_at=now - ORPHAN_GRACE,
        )
        one = Case(
            evidence=evidence,
            judgement=Judgement(finding=finding, sentence="It is so.", is_dead=dead),
            promise=UNSAFE,
            now=now,
        )
        answers = {verb: decide(one) for verb, decide in DECIDE.items()}
        assert all(answer.code and answer.sentence for answer in answers.values())
        if odd or limited:
            assert not any(answer.allows_act for verb, answer in answers.items() if verb != "remove_entry")
        if answers["delete_job"].allows_act:
            assert exists and not taken and status != "started" and (dead or not leased)
        if answers["cancel_job"].allows_act or answers["enqueue_job"].allows_act:
            assert exists and dead
        if answers["remove_entry"].allows_act:
            assert not odd and (not exists or status is None)
        if status in ("failed", "stopped", "scheduled", "deferred", "canceled"):
            # No list holds it here: RQ or somebody else may have it between two steps.
            assert not any(answers[verb].allows_act for verb in ("delete_job", "cancel_job", "enqueue_job"))
