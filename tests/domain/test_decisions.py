"""May it be run again: the table of answers, and over all inputs that doubt never makes bolder."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest

from jobs.domain.decisions import Action, Case, decide_retry
from jobs.domain.evidence import Evidence
from jobs.domain.findings import UNKNOWN_RESULTS, Finding, Judgement, judge
from jobs.domain.housekeeping import decide_delete, decide_enqueue
from jobs.domain.idempotency import Idempotency, Promise
from jobs.domain.standing import Standing

KILLED = "Work-horse terminated unexpectedly; waitpid returned 9 (signal 9); "
ABANDONED = "Moved to FailedJobRegistry, due to AbandonedJobError, at 2026-01-01"
_RQ = "/venv/lib/python3.11/site-packages/rq"
_CALL = f"""Traceback (most recent call last):
  File "{_RQ}/worker/base.py", line 900, in perform_job
  File "{_RQ}/job.py", line 900, in perform
  File "{_RQ}/job.py", line 910, in _execute
"""
BOOM = (
    _CALL
    + """  File "/srv/shop/tasks.py", line 7, in charge
ValueError: boom
"""
)
NOT_FOUND = (
    _CALL
    + f"""  File "{_RQ}/job.py", line 300, in func
  File "{_RQ}/utils.py", line 90, in import_attribute
ValueError: Invalid attribute name: shop.tasks.gone
"""
)
DAY = timedelta(days=1)
KEPT = Promise(Idempotency.KEYED, DAY)
PROMISES = {kind: Promise(kind) for kind in Idempotency} | {Idempotency.KEYED: KEPT}


def case(now, promise=PROMISES[Idempotency.REPEATABLE], **changes):
    usual = {"exists": True, "status": "failed", "listed_in": frozenset({"failed"}), "newest_text": BOOM}
    evidence = Evidence(**{**usual, "first_started_at": now, "timeout_seconds": 180, **changes})
    return Case(evidence=evidence, judgement=judge(evidence, now), promise=promise, now=now)


# The table for plain jobs (protocol, Choices): what happened, what was declared, the answer and its code.
TABLE = """
never entered       repeatable  retry           never_started
never entered       keyed       retry           never_started
never entered       checkable   retry           never_started
never entered       unsafe      retry           never_started
never entered       undeclared  retry           never_started
known error         repeatable  retry           repeatable
known error         keyed       retry           same_key
known error         checkable   review          may_have_acted
known error         unsafe      review          may_have_acted
known error         undeclared  review          may_have_acted
unknown             repeatable  retry           repeatable
unknown             keyed       review          result_unknown
unknown             checkable   review          result_unknown
unknown             unsafe      review          result_unknown
unknown             undeclared  review          result_unknown
stopped             repeatable  retry           repeatable
stopped             keyed       review          result_unknown
stopped             unsafe      review          result_unknown
perhaps alive       repeatable  wait            may_still_run
perhaps alive       undeclared  review          result_unknown
done but failed     repeatable  skip_duplicate  already_completed
done but failed     undeclared  skip_duplicate  already_completed
unreadable          repeatable  refuse          unreadable
unreadable          undeclared  refuse          unreadable
"""
ROWS = [line.rsplit(maxsplit=3) for line in TABLE.strip().splitlines()]
HAPPENED = {
    "never entered": {"newest_text": NOT_FOUND},
    "known error": {},
    "unknown": {"newest_text": KILLED},
    "stopped": {"status": "stopped"},
    "perhaps alive": {"newest_text": ABANDONED},
    "done but failed": {"newest_kind": "successful", "succeeded_at": datetime(2026, 3, 14, tzinfo=UTC)},
    "unreadable": {"is_readable": False},
}


@pytest.mark.parametrize(("happened", "declared", "action", "code"), ROWS)
def test_the_table_for_plain_jobs(happened, declared, action, code, now):
    decision = decide_retry(case(now, PROMISES[Idempotency(declared)], **HAPPENED[happened]))
    assert (decision.action, decision.code) == (action, code)
    assert decision.rule
    assert declared in decision.rule or "any type" in decision.rule


OBJECTIONS = [
    ({"exists": False}, "data_gone"),
    ({"is_confusable": True}, "confusable_name"),
    ({"is_rate_limited": True}, "rate_limited"),
    ({"status": "rate_limited"}, "rate_limited"),
    ({"status": "queued", "queued_times": 1}, "already_queued"),
    ({"status": "queued", "queued_times": 0}, "not_failed"),
    ({"status": "finished", "listed_in": frozenset({"finished"})}, "already_finished"),
    ({"status": "finished"}, "already_completed"),
    ({"status": "scheduled"}, "scheduled"),
    ({"status": "canceled"}, "canceled"),
    ({"status": "started"}, "in_progress"),
    ({"status": "deferred"}, "deferred"),
    ({"status": "created"}, "not_failed"),
    ({"status": "invented"}, "not_failed"),
    ({"queued_times": 2}, "already_queued"),
    ({"in_intermediate": True}, "already_queued"),
    ({"listed_in": frozenset({"failed", "scheduled"})}, "already_scheduled"),
    ({"status": None}, "data_gone"),
    ({"listed_in": frozenset()}, "not_listed"),
]


@pytest.mark.parametrize(("changes", "code"), OBJECTIONS, ids=range(len(OBJECTIONS)))
def test_what_stands_in_the_way_of_any_retry(changes, code, now):
    decision = decide_retry(case(now, **changes))
    assert decision.code == code and not decision.allows_act and decision.sentence


def test_a_run_that_may_still_go_on_is_waited_for(now):
    run = {"newest_text": ABANDONED, "started_at": now, "timeout_seconds": 180}
    decision = decide_retry(case(now, **run))
    assert decision.action is Action.WAIT
    assert "2026-03-14 15:13:56 UTC" in decision.sentence
    later = replace(case(now, **run), now=now + timedelta(minutes=5))
    assert decide_retry(replace(later, judgement=judge(later.evidence, later.now))).allows_act


def test_what_never_began_is_only_free_to_run_when_no_run_before_it_can_have_acted(now):
    """RQ retries by itself without a trace: the last run may have found no function, the one before may have paid."""
    unsafe = PROMISES[Idempotency.UNSAFE]
    decision = decide_retry(case(now, unsafe, newest_text=NOT_FOUND, earlier_runs_may_have_acted=True))
    assert (decision.action, decision.code) == (Action.REVIEW, "may_have_acted")


# What was said in reviews (protocol, R4 to R6).
HAS_HAPPENED = Standing(has_happened=True, said_by="otto", said_at=datetime(2026, 3, 14, 15, 0, tzinfo=UTC))
GIVEN_UP = replace(HAS_HAPPENED, has_happened=False, is_abandoned=True)
STANDINGS = [
    (HAS_HAPPENED, Action.SKIP_DUPLICATE, "already_completed"),
    (GIVEN_UP, Action.REFUSE, "closed"),
    (Standing(has_open_review=True), Action.REFUSE, "review_open"),
    (replace(HAS_HAPPENED, has_open_review=True), Action.SKIP_DUPLICATE, "already_completed"),
]


@pytest.mark.parametrize(("standing", "action", "code"), STANDINGS, ids=range(len(STANDINGS)))
@pytest.mark.parametrize("happened", [name for name in HAPPENED if name != "done but failed"])
def test_what_was_said_in_a_review_comes_before_the_table(standing, action, code, happened, now):
    decision = decide_retry(replace(case(now, **HAPPENED[happened]), standing=standing))
    assert (decision.action, decision.code) == (action, code)


def test_who_said_it_when_and_why_is_told(now):
    def sentence(standing):
        return decide_retry(replace(case(now), standing=standing)).sentence

    because = sentence(replace(GIVEN_UP, reason="The shop keeps no log."))
    assert because.endswith("otto said so at 2026-03-14 15:00:00 UTC: “The shop keeps no log”.")
    assert sentence(replace(HAS_HAPPENED, said_by="")).endswith("Late evidence said so at 2026-03-14 15:00:00 UTC.")
    long = sentence(replace(GIVEN_UP, reason="no log " * 99))
    assert len(long) < 400 and "…" in long


# A key is good until the first run's start and the horizon; the retry has to be over by then.
LIMIT = timedelta(seconds=180)
KEYS = [
    ({"first_started_at": timedelta(0)}, KEPT, "same_key"),
    ({"first_started_at": LIMIT - DAY + timedelta(seconds=1)}, KEPT, "same_key"),
    ({"first_started_at": LIMIT - DAY}, KEPT, "key_expired"),
    ({"first_started_at": -2 * DAY}, KEPT, "key_expired"),
    ({"first_started_at": None}, KEPT, "may_have_acted"),
    ({"timeout_seconds": -1}, KEPT, "may_have_acted"),
    ({"timeout_seconds": None}, KEPT, "may_have_acted"),
    ({}, Promise(Idempotency.KEYED), "may_have_acted"),
]


@pytest.mark.parametrize(("changes", "promise", "code"), KEYS, ids=range(len(KEYS)))
def test_a_key_is_trusted_within_its_time_and_never_beyond(changes, promise, code, now):
    start = changes.get("first_started_at", timedelta(0))
    given = {**changes, "first_started_at": now + start if start is not None else None}
    decision = decide_retry(case(now, promise, **given))
    assert decision.code == code
    assert decision.allows_act == decision.asks == (code == "same_key")


def test_a_queue_too_long_to_look_through_is_said(now):
    assert "too long to look" in decide_retry(case(now, queued_times=None)).sentence


# Every combination of what a decision looks at. In each list, doubt grows from left to right.
BOOLEANS = (False, True)
NOW = datetime(2026, 3, 14, tzinfo=UTC)
LADDERS = {
    "status": ("failed",),
    "listed_in": (frozenset({"failed"}), frozenset()),
    "queued_times": (0, 1),
    "is_readable": (True, False),
    "is_rate_limited": BOOLEANS,
    "is_confusable": BOOLEANS,
    "in_intermediate": BOOLEANS,
    "exists": (True, False),
    "earlier_runs_may_have_acted": BOOLEANS,
    "first_started_at": (NOW, NOW - DAY, None),
    "timeout_seconds": (180, None),
}
FINDINGS = (
    Finding.NEVER_STARTED,
    Finding.FAILED_KNOWN,
    Finding.RESULT_UNKNOWN,
)
CLASSES = (
    Promise(Idempotency.REPEATABLE),
    KEPT,
    Promise(Idempotency.KEYED),
    Promise(Idempotency.CHECKABLE),
    Promise(Idempotency.UNSAFE),
    Promise(Idempotency.UNDECLARED),
)
CAUTION = {Action.RETRY: 0, Action.WAIT: 1, Action.REVIEW: 2, Action.SKIP_DUPLICATE: 3, Action.REFUSE: 3}


def made(finding, promise, is_dead, **evidence):
    return Case(
        evidence=Evidence(**evidence),
        judgement=Judgement(finding=finding, sentence="It is so.", is_dead=is_dead),
        promise=promise,
        now=NOW,
    )


def test_over_all_inputs_one_more_doubt_never_makes_bolder():
    """The whole product; each step to the right on one ladder gives an answer that is at least as cautious."""
    ladders = [*LADDERS.values(), FINDINGS, CLASSES, (True, False)]
    caution = {}
    for places in product(*(range(len(ladder)) for ladder in ladders)):
        *evidence, finding, promise, is_dead = (ladder[at] for ladder, at in zip(ladders, places, strict=True))
        decision = decide_retry(made(finding, promise, is_dead, **dict(zip(LADDERS, evidence, strict=True))))
        assert decision.code and decision.sentence
        caution[places] = CAUTION[decision.action]
    assert len(caution) == 2**9 * 3 * 3 * 2 * 6
    for places, level in caution.items():
        for at, place in enumerate(places):
            if place:
                surer = (*places[:at], place - 1, *places[at + 1 :])
                assert caution[surer] <= level, (surer, places)
    assert set(caution.values()) == set(CAUTION.values())


def test_over_all_inputs_what_was_said_in_a_review_never_makes_bolder():
    """Neither an open review nor a closed one opens a way that was shut, for any act on the job."""
    names = ("listed_in", "queued_times", "is_readable", "exists", "earlier_runs_may_have_acted")
    ladders = [*(LADDERS[name] for name in names), Finding, CLASSES[::2], (True, False)]
    shut = {decide_retry: 0, decide_enqueue: 0, decide_delete: 0}
    for *evidence, finding, promise, is_dead in product(*ladders):
        status = "queued" if finding is Finding.LOST else "failed"
        one = made(finding, promise, is_dead, status=status, **dict(zip(names, evidence, strict=True)))
        for decide in shut:
            before = decide(one)
            for standing, _action, _code in STANDINGS[:3]:
                after = decide(replace(one, standing=standing))
                assert before.allows_act or not after.allows_act
                if decide is not decide_delete:
                    assert CAUTION.get(after.action, 0) >= CAUTION.get(before.action, 0)
                    assert not after.allows_act
                shut[decide] += before.allows_act and not after.allows_act
    assert all(shut.values())


STATUSES = ("failed", "stopped", "queued", "started", "finished", "invented", None)


def test_over_every_status_and_finding_a_retry_needs_everything_to_be_right():
    retried = set()
    flags = product(BOOLEANS, BOOLEANS, BOOLEANS, BOOLEANS)
    for (exists, listed, readable, dead), status, finding, promise in product(flags, STATUSES, Finding, CLASSES):
        where = frozenset({"failed"}) if listed else frozenset()
        evidence = {"exists": exists, "status": status, "listed_in": where, "is_readable": readable}
        decision = decide_retry(made(finding, promise, dead, first_started_at=NOW, timeout_seconds=180, **evidence))
        assert decision == decide_retry(
            made(finding, promise, dead, first_started_at=NOW, timeout_seconds=180, **evidence)
        )
        if decision.action is Action.RETRY:
            retried.add(decision.code)
            assert exists and listed and readable and dead and status in ("failed", "stopped")
            assert finding is not Finding.DONE_BUT_MARKED_FAILED
            assert (
                promise.idempotency in (Idempotency.REPEATABLE, Idempotency.KEYED) or finding is Finding.NEVER_STARTED
            )
            assert finding not in UNKNOWN_RESULTS or promise.idempotency is Idempotency.REPEATABLE
    assert retried == {"never_started", "repeatable", "same_key"}
