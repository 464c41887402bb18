"""May it be run again: a table of answers, and over all inputs that doubt never makes bolder."""

from __future__ import annotations

from datetime import timedelta
from itertools import product

import pytest

from jobs.domain.decisions import Action, decide_delete, decide_retry
from jobs.domain.evidence import Evidence
from jobs.domain.findings import Finding, Judgement, judge
from jobs.domain.idempotency import Idempotency

KILLED = "Work-horse terminated unexpectedly; waitpid returned 9 (signal 9); "
ABANDONED = "Moved to FailedJobRegistry, due to AbandonedJobError, at 2026-01-01"


def evidence(**changes):
    return Evidence(
        **{"exists": True, "status": "failed", "listed_in": frozenset({"failed"}), "newest_text": KILLED, **changes}
    )


def decide(now, idempotency=Idempotency.REPEATABLE, **changes):
    one = evidence(**changes)
    return decide_retry(one, judge(one, now), idempotency)


CASES = [
    ({}, "repeatable"),
    ({"status": "stopped"}, "repeatable"),
    ({"exists": False}, "data_gone"),
    ({"status": "queued", "queued_times": 1}, "already_queued"),
    ({"status": "queued", "queued_times": 0}, "not_failed"),
    ({"status": "finished"}, "already_finished"),
    ({"status": "scheduled"}, "scheduled"),
    ({"status": "canceled"}, "canceled"),
    ({"status": "started"}, "in_progress"),
    ({"status": "deferred"}, "deferred"),
    ({"status": "created"}, "not_failed"),
    ({"status": "invented"}, "not_failed"),
    ({"queued_times": 2}, "already_queued"),
    ({"listed_in": frozenset()}, "not_listed"),
    ({"is_readable": False}, "unreadable"),
    ({"is_rate_limited": True}, "rate_limited"),
    ({"newest_kind": "successful"}, "repeatable"),
    ({"newest_text": ABANDONED}, "may_still_run"),
]


@pytest.mark.parametrize(("changes", "code"), CASES, ids=range(len(CASES)))
def test_a_repeatable_type_is_answered_by_its_evidence(changes, code, now):
    assert decide(now, **changes).code == code


def test_what_finished_is_never_run_again(now):
    decision = decide(now, newest_kind="successful", succeeded_at=now)
    assert (decision.action, decision.code) == (Action.SKIP_DUPLICATE, "already_completed")


CODES = {
    Idempotency.UNDECLARED: "undeclared",
    Idempotency.UNSAFE: "unsafe",
    Idempotency.KEYED: "keyed_unchecked",
    Idempotency.CHECKABLE: "checkable_unchecked",
}


@pytest.mark.parametrize("idempotency", list(CODES))
def test_only_what_is_declared_repeatable_is_run_again(idempotency, now):
    decision = decide(now, idempotency)
    assert (decision.action, decision.code) == (Action.REFUSE, CODES[idempotency])


def test_a_run_that_may_still_go_on_is_waited_for(now):
    decision = decide(now, newest_text=ABANDONED, started_at=now, timeout_seconds=180)
    assert decision.action is Action.WAIT
    assert "2026-03-14 15:13:56 UTC" in decision.sentence
    assert decide(now + timedelta(minutes=5), newest_text=ABANDONED, started_at=now, timeout_seconds=180).allows_act


BOOLEANS = (False, True)


def every_input():
    for exists, status, listed, queued, readable, limited, finding, dead, idempotency in product(
        BOOLEANS,
        ("failed", "stopped", "queued", "started", "finished", None),
        (frozenset(), frozenset({"failed"})),
        (0, 1, None),
        BOOLEANS,
        BOOLEANS,
        Finding,
        BOOLEANS,
        Idempotency,
    ):
        yield (
            Evidence(
                exists=exists,
                status=status,
                listed_in=listed,
                queued_times=queued,
                is_readable=readable,
                is_rate_limited=limited,
            ),
            Judgement(finding=finding, sentence="It is so.", is_dead=dead),
            idempotency,
        )


def test_over_all_inputs_a_retry_needs_everything_to_be_right():
    retried = 0
    for one, judgement, idempotency in every_input():
        decision = decide_retry(one, judgement, idempotency)
        assert decision.sentence and decision.code
        if decision.action is Action.RETRY:
            retried += 1
            assert one.status in ("failed", "stopped") and one.listed_in == {"failed"} and one.queued_times in (0, None)
            assert one.is_readable and not one.is_rate_limited and judgement.is_dead
            assert idempotency is Idempotency.REPEATABLE
            assert judgement.finding not in (Finding.GONE, Finding.DONE_BUT_MARKED_FAILED)
    assert retried > 0


CAUTION = {Action.RETRY: 0, Action.SKIP_DUPLICATE: 1, Action.WAIT: 1, Action.REVIEW: 1, Action.REFUSE: 1}


def test_over_all_inputs_doubt_never_makes_bolder():
    """Taking one certainty away (readable, proved dead, declared) never turns a no into a yes."""
    for one, judgement, idempotency in every_input():
        bold = CAUTION[decide_retry(one, judgement, idempotency).action]
        doubted = [
            (Evidence(**{**vars(one), "is_readable": False}), judgement, idempotency),
            (one, Judgement(finding=judgement.finding, sentence="", is_dead=False), idempotency),
            (one, judgement, Idempotency.UNDECLARED),
            (Evidence(**{**vars(one), "listed_in": frozenset()}), judgement, idempotency),
        ]
        assert all(CAUTION[decide_retry(*less).action] >= bold for less in doubted)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({}, "delete"),
        ({"is_readable": False}, "delete"),
        ({"newest_kind": "successful", "succeeded_at": None}, "delete"),
        ({"exists": False}, "data_gone"),
        ({"status": "started"}, "in_progress"),
        ({"status": "queued", "queued_times": 1}, "already_queued"),
        ({"queued_times": 1}, "already_queued"),
        ({"listed_in": frozenset()}, "not_listed"),
        ({"is_rate_limited": True}, "rate_limited"),
    ],
)
def test_only_a_resting_failure_may_be_deleted(changes, code, now):
    one = evidence(**changes)
    assert decide_delete(one, judge(one, now)).code == code


def test_a_job_with_a_live_lease_may_not_be_deleted(now):
    one = evidence(lease_until=now + timedelta(seconds=5))
    assert decide_delete(one, judge(one, now)).code == "in_progress"
