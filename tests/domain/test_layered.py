"""Acts on jobs that deliver operations: the table answers, and Redis says what can be done with this job."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, timedelta

import pytest

from jobs.domain.decisions import Action, Case
from jobs.domain.effect_verdicts import VERDICTS, InReview, decide_effect_verdict, liveness_of_effect
from jobs.domain.evidence import Evidence
from jobs.domain.findings import Finding, Judgement
from jobs.domain.idempotency import Idempotency
from jobs.domain.layered import Layered, decide_cancelling, decide_from_record, is_put_back
from jobs.domain.operations import EffectState, EffectStatus, LiveAttempt, OperationStatus, Snapshot
from jobs.domain.verbs import DECIDE
from jobs.domain.verdicts import Verdict

STATUSES = list(OperationStatus)


def effect(status=EffectStatus.BEGUN, kind=Idempotency.UNSAFE, **changes):
    return EffectState(name="mail", idempotency=kind, status=status, **changes)


def layered(now, status=OperationStatus.FAILED, *effects, is_newest=True, **changes):
    snapshot = Snapshot(status=status, effects=effects, attempts_used=1, **changes)
    return Layered(operation_id="pay:5", snapshot=snapshot, now=now, is_newest=is_newest)


def case(now, operation, finding=Finding.FAILED_KNOWN, status="failed", **evidence):
    """A job of this operation; failed, listed and readable if nothing else is said."""
    usual = {"exists": True, "status": status, "listed_in": frozenset({status}), "queued_times": 0}
    return Case(
        evidence=Evidence(**{**usual, **evidence}),
        judgement=Judgement(finding=finding, sentence="It is so."),
        now=now,
        layered=operation,
    )


def running(now, **changes):
    attempt = LiveAttempt(number=1, worker_name="w", started_at=now, lease_until=now + timedelta(minutes=5))
    return layered(now, OperationStatus.RUNNING, attempt=attempt, **changes)


def retry(one):
    return DECIDE["retry_job"](one)


# A run ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("effects", "answer"),
    [
        ((), (Action.RETRY, "R24: nothing_begun")),
        ((effect(),), (Action.REVIEW, "R9: unsafe_begun")),
        ((effect(EffectStatus.UNKNOWN),), (Action.REVIEW, "R8: effect_unknown")),
        ((effect(EffectStatus.COMPLETED),), (Action.RETRY, "R24: nothing_begun")),
        ((effect(kind=Idempotency.REPEATABLE),), (Action.RETRY, "R22: repeatable")),
        ((effect(EffectStatus.ABANDONED),), (Action.REFUSE, "R5: closed")),
    ],
    ids=["nothing", "unsafe", "in review", "done", "repeatable", "given up"],
)
def test_of_a_failed_operation_the_table_answers_whatever_its_job_type_was_declared(effects, answer, now):
    decision = retry(case(now, layered(now, OperationStatus.FAILED, *effects)))
    assert (decision.action, decision.mark) == answer


def test_a_check_with_the_other_side_is_part_of_the_run_that_a_person_asks_for(now):
    asked = effect(kind=Idempotency.CHECKABLE, has_probe=True, begun_at=now - timedelta(hours=1))
    decision = retry(case(now, layered(now, OperationStatus.FAILED, asked)))
    assert (decision.action, decision.mark) == (Action.RETRY, "R13: probe")


@pytest.mark.parametrize("status", STATUSES)
def test_no_act_in_redis_is_offered_that_the_table_would_not_allow(status, now):
    operation = layered(now, status, effect())
    for verb in ("retry_job", "enqueue_job"):
        for finding, where in ((Finding.FAILED_KNOWN, "failed"), (Finding.SCHEDULED, "scheduled")):
            assert not DECIDE[verb](case(now, operation, finding, where)).allows_act


@pytest.mark.parametrize(
    ("finding", "status", "code"),
    [
        (Finding.QUEUED, "queued", "already_queued"),
        (Finding.RUNNING, "started", "in_progress"),
        (Finding.RETRY_PENDING, "scheduled", "retry_pending"),
        (Finding.FINISHED, "finished", "already_finished"),
    ],
)
def test_what_redis_has_on_its_way_or_done_is_not_put_back(finding, status, code, now):
    decision = retry(case(now, layered(now), finding, status))
    assert (decision.action, decision.code) == (Action.REFUSE, code)


def test_a_job_that_never_got_into_its_function_may_be_retried_after_a_warning(now):
    decision = retry(case(now, layered(now), Finding.NEVER_STARTED))
    assert decision.allows_act and decision.asks and "R14" in decision.sentence


def test_a_call_that_cannot_be_read_is_queued_afresh_from_the_operations_page(now):
    operation = layered(now)
    unreadable = case(now, operation, is_readable=False)
    assert retry(unreadable).code == "unreadable"
    assert decide_from_record(unreadable, operation, UTC).allows_act and not is_put_back(unreadable, operation)


def test_from_its_page_a_failed_job_is_put_back_and_none_makes_a_new_one(now):
    operation = layered(now)
    assert is_put_back(case(now, operation), operation)
    assert decide_from_record(None, operation, UTC).allows_act and not is_put_back(None, operation)


@pytest.mark.parametrize("status", ["queued", "started", "scheduled", "deferred"])
def test_while_a_job_of_it_is_alive_in_redis_no_new_one_is_made(status, now):
    operation = layered(now)
    decision = decide_from_record(case(now, operation, Finding.QUEUED, status), operation, UTC)
    assert (decision.allows_act, decision.code) == (False, "already_queued")


@pytest.mark.parametrize("status", [OperationStatus.ACCEPTED, OperationStatus.QUEUED, OperationStatus.RETRY_WAIT])
def test_what_is_on_its_way_is_left_to_the_observer(status, now):
    assert decide_from_record(None, layered(now, status), UTC).code == "already_queued"


@pytest.mark.parametrize("is_newest", [True, False])
def test_of_one_that_is_on_its_way_only_the_newest_job_is_put_back(is_newest, now):
    operation = layered(now, OperationStatus.QUEUED, is_newest=is_newest)
    assert retry(case(now, operation)).allows_act is is_newest


def test_a_scheduled_retry_of_it_may_be_hastened_though_no_type_was_declared(now):
    waiting = layered(now, OperationStatus.RETRY_WAIT)
    decision = DECIDE["enqueue_job"](case(now, waiting, Finding.RETRY_PENDING, "scheduled"))
    assert (decision.action, decision.code) == (Action.ENQUEUE, "nothing_begun")


# Its end --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", STATUSES)
def test_what_has_left_the_system_is_never_called_cancelled(status, now):
    for known in (EffectStatus.BEGUN, EffectStatus.UNKNOWN, EffectStatus.COMPLETED):
        decision = decide_cancelling(layered(now, status, effect(known)))
        assert not decision.allows_act and decision.sentence.endswith(".")


@pytest.mark.parametrize("status", [OperationStatus.ACCEPTED, OperationStatus.QUEUED, OperationStatus.RETRY_WAIT])
def test_what_waits_is_cancelled_also_where_an_effect_was_released(status, now):
    decision = decide_cancelling(layered(now, status, effect(EffectStatus.RELEASED)))
    assert (decision.action, decision.code, decision.asks) == (Action.CANCEL, "cancel", True)


def test_what_runs_is_asked_to_be_cancelled_once(now):
    assert decide_cancelling(running(now)).code == "cancel_requested"
    assert decide_cancelling(running(now, is_cancel_requested=True)).code == "cancelled"


@pytest.mark.parametrize("status", STATUSES)
def test_a_job_is_deleted_only_when_its_operation_is_over(status, now):
    decision = DECIDE["delete_job"](case(now, layered(now, status)))
    is_over = status in (OperationStatus.COMPLETED, OperationStatus.FAILED, OperationStatus.CANCELLED)
    assert decision.allows_act is is_over
    assert is_over or decision.code == "operation_open"


def test_who_stops_a_run_reads_that_this_cancels_nothing(now):
    begun = replace(running(now), snapshot=replace(running(now).snapshot, effects=(effect(),)))
    for operation, words in ((running(now), "nothing of it has left"), (begun, "may become unknown")):
        decision = DECIDE["stop_job"](case(now, operation, Finding.RUNNING, "started"))
        assert decision.allows_act and words in decision.sentence and "does not cancel" in decision.sentence


# What may be said -----------------------------------------------------------------------------------------------------


def asked(now, **changes):
    return InReview(effect=effect(EffectStatus.UNKNOWN, **changes), now=now)


@pytest.mark.parametrize("verdict", [Verdict.DID_NOT_HAPPEN, Verdict.PROBE_AGAIN])
def test_while_its_attempt_may_act_or_the_answer_may_change_nothing_is_done_again(verdict, now):
    later = now + timedelta(minutes=5)
    for doubt in ({"may_still_act": True, "dead_after": later}, {"settled_at": later}):
        decision = decide_effect_verdict(verdict, asked(now, has_probe=True, **doubt))
        assert (decision.action, decision.code) == (Action.WAIT, "quarantine")
        assert "2026-03-14 15:14:26 UTC" in decision.sentence
    assert "15:14:26" in liveness_of_effect(asked(now, may_still_act=True, dead_after=later))


@pytest.mark.parametrize("verdict", VERDICTS)
def test_once_it_is_dead_and_settled_all_may_be_said(verdict, now):
    settled = asked(now, has_probe=True, settled_at=now)
    assert decide_effect_verdict(verdict, settled).action is Action.RECORD
    assert "is dead" in liveness_of_effect(settled)


@pytest.mark.parametrize("verdict", [Verdict.HAPPENED, Verdict.REVERSED, Verdict.ABANDON, Verdict.SNOOZE])
def test_a_fact_may_be_said_at_any_time(verdict, now):
    at_work = asked(now, may_still_act=True, dead_after=now + timedelta(minutes=5))
    assert decide_effect_verdict(verdict, at_work).action is Action.RECORD


def test_the_other_side_is_asked_again_only_where_the_code_can_ask(now):
    assert decide_effect_verdict(Verdict.PROBE_AGAIN, asked(now)).code == "no_probe"
    assert decide_effect_verdict(Verdict.PROBE_AGAIN, InReview(effect=None, now=now)).code == "no_probe"


def test_of_what_ran_unseen_it_is_said_that_nothing_is_left_to_do(now):
    unseen, seen = InReview(effect=None, now=now), asked(now)
    assert "the operation is completed" in decide_effect_verdict(Verdict.HAPPENED, unseen).sentence
    assert "what is left of the operation goes on" in decide_effect_verdict(Verdict.HAPPENED, seen).sentence
