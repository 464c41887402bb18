"""Which unknown results are put to a person unasked: the table by row and promise, and all that wants nobody."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.domain.decisions import Case, decide_retry
from jobs.domain.findings import UNKNOWN_RESULTS, Finding, judge
from jobs.domain.idempotency import Idempotency, Promise
from jobs.domain.noticing import decide_notice
from jobs.domain.standing import Standing
from tests.domain.test_findings import ABANDONED, EVENTS, LAPSED, NOW, evidences, failed, horse_ended, job, waiting

LONG_AGO = NOW - timedelta(hours=1)
UNKNOWN = {
    "horse killed": failed(horse_ended("9 (signal 9)")),
    "abandoned, and perhaps alive": failed(ABANDONED),
    "stopped": job("stopped", "failed", newest_kind="failed", newest_text=horse_ended("9 (signal 9)")),
    "lease over": job("started", **LAPSED),
    "lease over, and in its queue again": job("started", queued_times=1, **LAPSED),
    "killed, and in its queue again": failed(horse_ended("9 (signal 9)"), queued_times=1),
    "no run on record": job("started"),
    "lost after it ran": job("queued", enqueued_at=LONG_AGO),
    "cancelled and lost": job("canceled", "canceled", **LAPSED),
}


def notice(evidence, idempotency=Idempotency.UNDECLARED, standing=None):
    case = Case(
        evidence=evidence,
        judgement=judge(evidence, NOW),
        promise=Promise(idempotency, timedelta(days=1)),
        standing=standing or Standing(),
        now=NOW,
    )
    decision = decide_notice(case)
    return decision and f"{decision.action}·{decision.code}"


@pytest.mark.parametrize("idempotency", [one for one in Idempotency if one is not Idempotency.REPEATABLE])
@pytest.mark.parametrize("event", list(UNKNOWN))
def test_an_unknown_result_wants_a_review_even_while_the_old_run_may_act(event, idempotency):
    assert notice(UNKNOWN[event], idempotency) == "review·result_unknown"


@pytest.mark.parametrize("event", list(UNKNOWN))
def test_of_a_repeatable_type_nobody_is_asked(event):
    assert notice(UNKNOWN[event], Idempotency.REPEATABLE) in ("retry·repeatable", "enqueue·repeatable")


@pytest.mark.parametrize(
    ("standing", "answer"),
    [
        (Standing(has_open_review=True), "refuse·review_open"),
        (Standing(has_happened=True), "skip_duplicate·already_completed"),
        (Standing(is_abandoned=True), "refuse·closed"),
    ],
)
@pytest.mark.parametrize("event", list(UNKNOWN))
def test_what_was_asked_or_said_before_is_not_asked_again(event, standing, answer):
    assert notice(UNKNOWN[event], standing=standing) == answer


def test_a_lost_job_that_never_began_or_may_be_on_its_way_wants_nobody():
    lost = waiting("queued", enqueued_at=LONG_AGO)
    assert notice(lost) == "enqueue·never_started"
    assert notice(replace(UNKNOWN["lost after it ran"], enqueued_at=NOW)) == "wait·just_queued"


@pytest.mark.parametrize("event", list(UNKNOWN))
def test_a_run_under_a_rate_limit_is_asked_about_though_only_rq_may_queue_it(event):
    evidence = replace(UNKNOWN[event], is_rate_limited=True)
    assert notice(evidence) == "review·result_unknown"
    assert notice(evidence, standing=Standing(has_open_review=True)) == "refuse·review_open"


@pytest.mark.parametrize("change", [{"is_readable": False}, {"is_confusable": True}])
def test_what_no_verdict_could_be_carried_out_on_is_left_to_who_asks(change):
    assert all(notice(replace(evidence, **change)).startswith("refuse") for evidence in UNKNOWN.values())


@pytest.mark.parametrize("event", [name for name, (_, finding, *_) in EVENTS.items() if finding not in UNKNOWN_RESULTS])
def test_a_result_that_is_known_or_still_to_come_wants_nobody(event):
    assert notice(EVENTS[event][0]) is None


@given(evidences, st.sampled_from(Idempotency))
def test_what_a_retry_would_be_sent_to_review_for_is_noticed_without_one(evidence, idempotency):
    """For a failed job whose result is unknown both say the same, so nobody has to ask first."""
    judgement = judge(evidence, NOW)
    case = Case(evidence=evidence, judgement=judgement, promise=Promise(idempotency), now=NOW)
    assert notice(replace(evidence, is_rate_limited=True)) == notice(replace(evidence, is_rate_limited=False))
    asked = decide_retry(case)
    if asked.wants_review and judgement.finding in UNKNOWN_RESULTS:
        assert notice(evidence, idempotency) == f"{asked.action}·{asked.code}"


def test_findings_of_unknown_results_are_all_met_here():
    assert {judge(evidence, NOW).finding for evidence in UNKNOWN.values()} | {Finding.WORKER_GONE} == UNKNOWN_RESULTS
