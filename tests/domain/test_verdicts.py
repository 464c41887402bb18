"""What may be said in a review, and on what grounds; over all inputs, when *it did not happen* leads to a run."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import product

import pytest

from jobs.domain.decisions import Action, Case, decide_retry
from jobs.domain.evidence import Evidence
from jobs.domain.findings import Finding, Judgement
from jobs.domain.housekeeping import decide_enqueue
from jobs.domain.idempotency import Idempotency, Promise
from jobs.domain.standing import Standing
from jobs.domain.verdicts import EVIDENCE, LATER_RUN, Verdict, decide_verdict, liveness_sentence, missing

REPEATABLE, UNSAFE = Promise(Idempotency.REPEATABLE), Promise(Idempotency.UNSAFE)
OPEN = Standing(has_open_review=True)


def case(now, finding=Finding.RESULT_UNKNOWN, *, standing=OPEN, promise=UNSAFE, is_dead=True, until=None, **evidence):
    """A job that failed and is in review; its old run can no longer act."""
    usual = {"exists": True, "status": "failed", "listed_in": frozenset({"failed"}), "enqueued_at": now}
    return Case(
        evidence=Evidence(**{**usual, **evidence}),
        judgement=Judgement(finding=finding, sentence="It is so.", is_dead=is_dead, dead_after=until),
        promise=promise,
        standing=standing,
        now=now,
    )


def lost(now, **changes):
    where = {"status": "queued", "listed_in": frozenset(), "started_at": now, "enqueued_at": now - timedelta(hours=1)}
    return case(now, Finding.LOST, **{**where, **changes})


def did_not_happen(one):
    return decide_verdict(Verdict.DID_NOT_HAPPEN, one)


# The grounds ----------------------------------------------------------------------------------------------------------

WANTED = {
    Verdict.HAPPENED: {"where", "observed_at", "external_id", "matches"},
    Verdict.DID_NOT_HAPPEN: {"where", "searched_for", "window", "found_nothing"},
    Verdict.ABANDON: {"reason", "told"},
    Verdict.SNOOZE: {"until", "owner"},
    Verdict.PROBE_AGAIN: set(),
    Verdict.REVERSED: {"undone_by", "undone_why"},
}


@pytest.mark.parametrize("verdict", Verdict)
def test_nothing_can_be_said_without_its_grounds(verdict):
    wanted = missing(verdict, {"where": "  ", "reason": "\n", "something_else": "x"})
    assert set(wanted) == WANTED[verdict]
    assert all(sentence.endswith(".") for sentence in wanted.values())


@pytest.mark.parametrize("verdict", [one for one in Verdict if WANTED[one]])
@pytest.mark.parametrize("at", range(4))
def test_each_ground_is_wanted_by_itself(verdict, at):
    names = sorted(WANTED[verdict])
    left_out = names[at % len(names)]
    assert set(missing(verdict, dict.fromkeys(set(names) - {left_out}, "x"))) == {left_out}
    assert not missing(verdict, dict.fromkeys(names, "x"))


@pytest.mark.parametrize("proof", ["external_id", "link", "quote"])
def test_of_the_proofs_that_it_happened_one_is_enough(proof):
    assert not missing(Verdict.HAPPENED, dict.fromkeys(("where", "observed_at", "matches", proof), "x"))


def test_the_names_of_the_grounds_are_told_apart():
    for pieces in EVIDENCE.values():
        assert len({piece.name for piece in pieces}) == len(pieces)


# The answers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("finding", [Finding.RESULT_UNKNOWN, Finding.FAILED_KNOWN, Finding.STOPPED])
@pytest.mark.parametrize("promise", Idempotency)
def test_what_did_not_happen_is_run_again_whatever_was_declared(finding, promise, now):
    status = "stopped" if finding is Finding.STOPPED else "failed"
    decision = did_not_happen(case(now, finding, promise=Promise(promise), status=status))
    assert (decision.action, decision.code, decision.asks) == (Action.RETRY, "said_not_happened", False)


def test_a_lost_job_of_which_nothing_happened_is_queued(now):
    decision = did_not_happen(lost(now))
    assert (decision.action, decision.code) == (Action.ENQUEUE, "said_not_happened")


@pytest.mark.parametrize("make", [case, lost])
def test_while_the_old_run_may_act_a_search_that_found_nothing_proves_nothing(make, now):
    later = now + timedelta(minutes=5)
    decision = did_not_happen(make(now, is_dead=False, until=later))
    assert decision.action is Action.WAIT
    assert "2026-03-14 15:14:26 UTC" in decision.sentence
    assert "no time limit" in did_not_happen(make(now, is_dead=False)).sentence


@pytest.mark.parametrize("changes", [{"exists": False, "status": None, "listed_in": ()}, {"status": None}])
@pytest.mark.parametrize("finding", [Finding.GONE, Finding.UNRECOGNISED])
def test_of_a_job_whose_data_is_gone_it_is_put_on_record_and_nothing_runs(changes, finding, now):
    decision = did_not_happen(case(now, finding, **changes))
    assert (decision.action, decision.code) == (Action.RECORD, "data_gone")
    assert "nothing runs" in decision.sentence
    assert did_not_happen(case(now, finding, is_dead=False, **changes)).action is Action.WAIT


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"is_rate_limited": True}, "rate_limited"),
        ({"is_confusable": True}, "confusable_name"),
        ({"is_readable": False}, "unreadable"),
        ({"standing": replace(OPEN, has_happened=True)}, "already_completed"),
        ({"standing": replace(OPEN, is_abandoned=True)}, "closed"),
        ({"status": "canceled", "listed_in": frozenset({"canceled"})}, "canceled"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_never_runs_from_here_is_put_on_record_once_the_old_run_is_dead(changes, code, now):
    decision = did_not_happen(case(now, **changes))
    assert (decision.action, decision.code) == (Action.RECORD, code)
    assert did_not_happen(case(now, is_dead=False, **changes)).action is Action.WAIT


@pytest.mark.parametrize(
    ("finding", "changes", "code"),
    [
        (Finding.DONE_BUT_MARKED_FAILED, {}, "already_completed"),
        (Finding.DONE_BUT_MARKED_FAILED, {"standing": replace(OPEN, has_happened=True)}, "already_completed"),
        (Finding.FINISHED, {"status": "finished"}, "already_finished"),
        (Finding.QUEUED, {"status": "queued", "queued_times": 1}, "already_queued"),
        (Finding.RETRY_PENDING, {"status": "scheduled"}, "retry_pending"),
        (Finding.WORKER_GONE, {"status": "started"}, "in_progress"),
        (Finding.RESULT_UNKNOWN, {"listed_in": frozenset()}, "not_listed"),
    ],
)
def test_what_is_done_or_on_its_way_speaks_against_it(finding, changes, code, now):
    decision = did_not_happen(case(now, finding, **changes))
    assert (decision.action in (Action.REFUSE, Action.SKIP_DUPLICATE), decision.code) == (True, code)


@pytest.mark.parametrize("finding", Finding)
def test_of_a_run_after_which_another_began_it_is_put_on_record_once_that_run_is_dead_and_nothing_runs(finding, now):
    """What Redis shows is of the other one, be it done, failed, lost or at work: nobody was asked what that did."""
    later = replace(case(now, finding), has_later_run=True)
    assert (did_not_happen(later).action, did_not_happen(later).code) == (Action.RECORD, LATER_RUN)
    at_work = replace(later, judgement=replace(later.judgement, is_dead=False))
    assert (did_not_happen(at_work).action, did_not_happen(at_work).code) == (Action.WAIT, "may_still_run")


def test_whether_the_old_run_may_act_is_said_beside_the_verdict(now):
    assert "proved dead" in liveness_sentence(case(now))
    assert "2026-03-14 15:09:26 UTC" in liveness_sentence(case(now, is_dead=False, until=now))
    assert "no time limit" in liveness_sentence(case(now, is_dead=False))


STATUSES = ("failed", "stopped", "queued", "started", "finished", "scheduled", "rate_limited", None)
STANDINGS = (Standing(), OPEN, replace(OPEN, has_happened=True), replace(OPEN, is_abandoned=True))


def test_over_all_inputs_it_did_not_happen_runs_only_what_a_repeatable_type_could_run(now):
    """What was declared counts for nothing; a run that may be alive, and what was said before, always count."""
    answers = set()
    flags = product((False, True), repeat=5)
    for (exists, listed, readable, odd, dead), status, finding, standing in product(
        flags, STATUSES, Finding, STANDINGS
    ):
        one = case(
            now,
            finding,
            standing=standing,
            is_dead=dead,
            exists=exists,
            status=status,
            listed_in=frozenset({"failed"} if listed else ()),
            is_readable=readable,
            is_confusable=odd,
            enqueued_at=now - timedelta(hours=1),
        )
        decision = did_not_happen(one)
        answers.add(decision.action)
        assert decision.code and decision.sentence.endswith(".") and not decision.asks
        assert decision == did_not_happen(replace(one, promise=REPEATABLE))
        usual = decide_enqueue if finding is Finding.LOST else decide_retry
        as_repeatable = usual(replace(one, promise=REPEATABLE, standing=replace(standing, has_open_review=False)))
        assert decision.allows_act == as_repeatable.allows_act
        assert did_not_happen(replace(one, has_later_run=True)).action is (Action.RECORD if dead else Action.WAIT)
        if decision.allows_act:
            assert dead and not standing.has_happened and not standing.is_abandoned
        if decision.action is Action.RECORD:
            assert dead and finding is not Finding.DONE_BUT_MARKED_FAILED
    assert answers == {Action.RETRY, Action.ENQUEUE, Action.RECORD, Action.WAIT, Action.REFUSE, Action.SKIP_DUPLICATE}


@pytest.mark.parametrize("verdict", [Verdict.HAPPENED, Verdict.ABANDON, Verdict.SNOOZE])
def test_what_leads_to_no_run_may_be_said_of_every_job(verdict, now):
    for dead, status, finding in product((False, True), STATUSES, Finding):
        decision = decide_verdict(verdict, case(now, finding, is_dead=dead, status=status))
        assert (decision.action, decision.code) == (Action.RECORD, verdict.value)
