"""Reviews on record: opened once, held by one person, closed by one word, and every word kept."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connections, transaction

from jobs import ledger
from jobs.domain.standing import Standing
from jobs.domain.verdicts import LATER_RUN, OF_RUNS
from jobs.ledger import failures, operations, reviews
from jobs.models import AuditEntry, FailedJob, Operation, Resolution, Review
from tests.support.statements import CREATED_AT, opened, question, statement

pytestmark = pytest.mark.django_db
together = pytest.mark.django_db(transaction=True)

HAPPENED, DID_NOT, ABANDON, SNOOZE = OF_RUNS
LATER = timedelta(hours=1)


def failed_row(now, job_id="job-7", **changes):
    """What the index of failures has of the job."""
    usual = {
        "digest": failures.digest_of("default", "orders", job_id),
        "connection": "default",
        "queue": "orders",
        "job_id": job_id,
        "finding": "result_unknown",
        "failed_at": now,
        "noticed_at": now,
        "created_at": CREATED_AT,
        "started_at": CREATED_AT,
        "seen": "1-1",
    }
    return FailedJob.objects.create(**(usual | changes))


def settle(review, actor, verdict, now, **changes):
    return reviews.settle_review(review, statement(actor, verdict, review, **changes), now=now)


def intend(review, actor, now, **changes):
    said = statement(actor, DID_NOT, review, **changes)
    details = {"verb": "retry_job", "seen": "1-1", "deadline_at": now + timedelta(seconds=3)}
    return reviews.intend_retry(review, said, now=now, **details)


def close(entry, status, now):
    return ledger.close_entry(entry, status=status, outcome="So it is.", now=now)


def fresh(row):
    row.refresh_from_db()
    return row


def operation():
    return Operation.objects.get()


def standing(created_at=CREATED_AT):
    return operations.standing_of("default", "orders", "job-7", created_at)


def at_once(*deeds):
    """What each returns, begun at the same moment in threads with database connections of their own."""
    barrier = threading.Barrier(len(deeds))

    def run(deed):
        try:
            barrier.wait(10)
            return deed()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(deeds)) as pool:
        return [future.result(30) for future in [pool.submit(run, deed) for deed in deeds]]


# Opened ---------------------------------------------------------------------------------------------------------------


def test_a_review_keeps_what_it_asks_and_who_opened_it(operator, now):
    review, is_new = reviews.open_review(question(), now=now, opened_by=operator)
    assert is_new and (review.opened_by, review.opened_by_name) == (operator, "otto")
    assert (review.run, review.code, review.version, review.closed_at) == ("run-1", "result_unknown", 1, None)
    assert review.due_at == now + timedelta(hours=24) and review.last_sign_of_life == question().last_sign_of_life
    assert (operation().operation_id, operation().status) == ("rq:default:job-7", "unknown")
    assert standing().has_open_review


def test_the_age_limit_is_a_setting(settings, now):
    settings.OPSBOARD_REVIEW_AGE_LIMIT_HOURS = 2
    assert opened(now).due_at == now + timedelta(hours=2)


def test_a_run_is_reviewed_once_and_an_operation_once_at_a_time(operator, now):
    first = opened(now, holder=operator)
    assert reviews.open_review(question(), now=now) == (first, False)
    assert reviews.open_review(question(run="run-2"), now=now) == (first, False)
    assert settle(first, operator, HAPPENED, now)
    again, is_new = reviews.open_review(question(), now=now)
    assert (again.pk, is_new) == (first.pk, False)
    second, is_new = reviews.open_review(question(run="run-2"), now=now)
    assert is_new and second.operation == first.operation


@together
@pytest.mark.parametrize("runs", [("run-1", "run-1", "run-1"), ("run-1", "run-2", "run-3")])
def test_whoever_opens_it_at_the_same_moment_gets_the_same_one(runs, now):
    answers = at_once(*(lambda run=run: reviews.open_review(question(run=run), now=now) for run in runs))
    assert len({review.pk for review, _is_new in answers}) == 1
    assert sorted(is_new for _review, is_new in answers) == [False, False, True]
    assert Operation.objects.count() == Review.objects.count() == 1


def test_of_a_job_that_had_the_id_before_nothing_counts(operator, now):
    old = opened(now, holder=operator)
    assert standing(CREATED_AT + LATER) == standing(None) == Standing()
    new, is_new = reviews.open_review(question(job_created_at=CREATED_AT + LATER), now=now + LATER)
    assert is_new and new.operation != old.operation
    assert settle(old, operator, HAPPENED, now)
    assert (standing().has_happened, standing().has_open_review) == (True, False)
    later = standing(CREATED_AT + LATER)
    assert (later.has_happened, later.has_open_review) == (False, True)
    assert operations.operation_of_job("default", "orders", "job-7") == new.operation


def test_the_same_id_in_two_queues_is_two_operations(now):
    one, other = opened(now), opened(now, queue="payroll")
    assert one.operation.operation_id == "rq:default:job-7"
    assert other.operation.operation_id.startswith("rq:default:job-7@") and len(other.operation.operation_id) < 40


def test_two_jobs_of_one_id_that_are_put_in_review_at_the_same_moment_are_two_operations(now, monkeypatch):
    """Each found the usual operation id free."""
    free, taken = operations._free_operation_id, ["rq:default:job-7"]
    monkeypatch.setattr(operations, "_free_operation_id", lambda *job: taken.pop() if taken else free(*job))
    one, other = opened(now, job_id="job-7", queue="payroll"), None
    taken.append(one.operation.operation_id)
    other = opened(now)
    assert not taken and other.operation.operation_id.startswith("rq:default:job-7@")


def test_a_verdict_on_an_old_job_leaves_the_failure_of_a_new_one_open(operator, now):
    row = failed_row(now, created_at=CREATED_AT + LATER)
    settle(opened(now, holder=operator), operator, HAPPENED, now)
    assert (fresh(row).verdict, row.is_open) == ("", True)


def test_what_is_known_later_is_put_in_and_a_form_from_before_stays_good(operator, now):
    review = opened(now, holder=operator)
    assert reviews.refresh_review(
        review, question(evidence={"is_dead": True, "worker": "died"}, last_sign_of_life=None)
    )
    assert fresh(review).evidence["worker"] == "died" and review.last_sign_of_life == question().last_sign_of_life
    before = review.version
    assert reviews.refresh_review(review, question(finding="stopped"))
    assert fresh(review).version == before + 1
    assert settle(review, operator, HAPPENED, now, version_seen=before) is None
    assert settle(review, operator, HAPPENED, now)
    assert not reviews.refresh_review(review, question())


# Held -----------------------------------------------------------------------------------------------------------------


def test_who_holds_it_holds_on_and_nobody_takes_it_from_him_until_his_time_is_over(operator, lead, now):
    review = opened(now, holder=operator)
    almost = now + reviews.CLAIM - timedelta(seconds=1)
    assert not reviews.claim_review(review, actor=lead, now=almost)
    assert reviews.claim_review(review, actor=operator, now=almost)
    assert not reviews.claim_review(review, actor=lead, now=now + reviews.CLAIM)
    assert reviews.claim_review(review, actor=lead, now=almost + reviews.CLAIM)
    assert (fresh(review).claimed_by, review.claimed_by_name) == (lead, "lena")
    assert list(AuditEntry.objects.values_list("verb", "actor_name", "status").order_by("created_at")) == [
        ("claim_review", "otto", "done"),
        ("claim_review", "otto", "done"),
        ("claim_review", "lena", "done"),
    ]


def test_only_who_holds_it_gives_it_back(operator, lead, now):
    review = opened(now, holder=operator)
    assert not reviews.release_review(review, actor=lead, now=now)
    assert reviews.release_review(review, actor=operator, now=now)
    assert (fresh(review).claimed_by, review.claimed_until) == (None, None)
    assert not reviews.release_review(review, actor=operator, now=now)
    assert reviews.claim_review(review, actor=lead, now=now)


@together
def test_of_two_who_take_it_at_the_same_moment_one_has_it(operator, lead, now):
    review = opened(now)
    taken = at_once(*(lambda who=who: reviews.claim_review(review, actor=who, now=now) for who in (operator, lead)))
    assert sorted(taken) == [False, True]
    assert AuditEntry.objects.get().actor_name == fresh(review).claimed_by_name


def test_a_closed_review_is_neither_taken_nor_given_back(operator, now):
    review = opened(now, holder=operator)
    settle(review, operator, HAPPENED, now)
    assert not reviews.claim_review(review, actor=operator, now=now)
    assert not reviews.release_review(review, actor=operator, now=now)


# Said -----------------------------------------------------------------------------------------------------------------

AFTER = {HAPPENED: ("completed", "said_happened"), ABANDON: ("failed", "abandoned_possible_effect")}


@pytest.mark.parametrize("verdict", AFTER)
def test_what_was_said_closes_the_review_and_is_kept_with_its_grounds(verdict, operator, now):
    row, review = failed_row(now), opened(now, holder=operator)
    said = settle(review, operator, verdict, now + LATER / 4, liveness="It is dead.", decision_code=verdict.value)
    assert (said.actor_name, said.verdict, said.version_seen, said.liveness) == (
        *("otto", verdict.value),
        *(review.version, "It is dead."),
    )
    assert said.evidence == statement(operator, verdict, review).evidence
    assert (fresh(review).verdict, review.closed_at, review.claimed_by) == (verdict.value, said.created_at, None)
    assert (operation().status, operation().reason_code) == AFTER[verdict]
    assert (fresh(row).verdict, row.is_open) == (verdict.value, False)
    entry = said.audit_entry
    assert (entry.verb, entry.status, entry.decision_code) == ("resolve_review", "done", verdict.value)
    assert (standing().has_happened, standing().is_abandoned) == (verdict is HAPPENED, verdict is ABANDON)
    assert (standing().said_by, standing().said_at) == ("otto", said.created_at)


@pytest.mark.parametrize("verdict", [HAPPENED, DID_NOT, ABANDON])
def test_what_was_said_of_a_run_is_not_said_of_the_failure_of_a_later_one_which_is_read_once_more(
    verdict, operator, now
):
    """No review of the later run could be opened while this one was open."""
    review = opened(now, holder=operator)
    row = failed_row(now, started_at=CREATED_AT + LATER, seen="2-1", score="5.0")
    settle(review, operator, verdict, now)
    assert (fresh(row).verdict, row.is_open, row.score) == ("", True, "")


@pytest.mark.parametrize(
    ("times", "is_this_run"),
    [
        ({"started_at": CREATED_AT + timedelta(seconds=2)}, True),
        ({"started_at": CREATED_AT + timedelta(seconds=31)}, False),
        ({"enqueued_at": CREATED_AT}, False),
        ({"started_at": None, "created_at": None}, True),
        ({"started_at": None}, False),
    ],
    ids=["begun a moment later", "begun later", "queued anew", "its data is gone", "not begun"],
)
def test_a_failure_is_of_the_run_that_was_spoken_of_though_rq_moves_its_start_when_it_ends(
    times, is_this_run, operator, now
):
    row, review = failed_row(now, **times), opened(now, holder=operator)
    settle(review, operator, ABANDON, now)
    assert fresh(row).is_open is not is_this_run


@together
def test_an_act_that_is_settled_late_says_nothing_of_the_failure_that_followed_it(operator, now):
    """The answer was lost, the job ran again and failed; then the mark tells that it had been carried out."""
    row, review = failed_row(now, score="5.0"), opened(now, holder=operator)
    entry = intend(review, operator, now)
    FailedJob.objects.update(seen="2-1", started_at=CREATED_AT + LATER, noticed_at=now + LATER, score="6.0")
    assert close(entry, "done", now + LATER)
    assert (fresh(row).verdict, row.is_open, row.place, row.score) == ("", True, "failed", "")
    assert fresh(review).verdict == "did_not_happen"


def test_an_answer_about_a_run_after_which_another_began_does_not_call_the_job_cancelled(operator, now):
    review = opened(now, holder=operator)
    settle(review, operator, DID_NOT, now, decision_code=LATER_RUN)
    assert (operation().status, operation().reason_code) == ("queued", "said_not_happened")


def test_put_off_it_stays_open_and_is_free_for_others(operator, lead, now):
    row, review = failed_row(now), opened(now, holder=operator)
    assert settle(review, operator, SNOOZE, now, snoozed_until=now + LATER)
    assert (fresh(review).closed_at, review.snoozed_until, review.claimed_by) == (None, now + LATER, None)
    assert standing().has_open_review and fresh(row).is_open
    assert reviews.claim_review(review, actor=lead, now=now)


@together
@pytest.mark.parametrize("lacking", ["the version", "the turn", "the time"])
def test_a_word_without_its_turn_is_neither_heard_nor_recorded(lacking, operator, lead, now):
    review = opened(now, holder=operator)
    entries = AuditEntry.objects.count()
    person = lead if lacking == "the turn" else operator
    at = now + reviews.CLAIM if lacking == "the time" else now
    seen = review.version - (lacking == "the version")
    for verdict in (HAPPENED, ABANDON, SNOOZE):
        assert settle(review, person, verdict, at, version_seen=seen) is None
    assert intend(review, person, at, version_seen=seen) is None
    assert (fresh(review).closed_at, Resolution.objects.count(), AuditEntry.objects.count()) == (None, 0, entries)


@together
@pytest.mark.parametrize("other", [HAPPENED, ABANDON])
def test_of_two_words_at_the_same_moment_one_is_heard(other, operator, now):
    """Two tabs of one person, who holds the review in both."""
    review = opened(now, holder=operator)
    heard = at_once(
        lambda: settle(review, operator, HAPPENED, now),
        lambda: settle(review, operator, other, now),
        lambda: intend(review, operator, now),
    )
    assert sum(one is not None for one in heard) == 1
    assert Resolution.objects.count() == 1


# What follows from an act ---------------------------------------------------------------------------------------------


@together
def test_an_act_that_was_carried_out_closes_the_review(operator, now):
    row, review = failed_row(now), opened(now, holder=operator)
    entry = intend(review, operator, now)
    assert (entry.status, entry.verb, fresh(review).closed_at) == ("intended", "retry_job", None)
    assert reviews.has_act_under_way(review)
    assert close(entry, "done", now + LATER)
    assert (fresh(review).verdict, review.closed_at) == ("did_not_happen", now + LATER)
    assert (operation().status, operation().reason_code) == ("queued", "said_not_happened")
    assert (fresh(row).verdict, row.place, row.is_open) == ("did_not_happen", "moved", False)
    assert standing() == Standing() and not reviews.has_act_under_way(review)


@together
@pytest.mark.parametrize("status", ["not_done", "changed", "refused", "unsettled"])
def test_an_act_that_was_not_carried_out_leaves_it_open_with_the_word_on_record(status, operator, now):
    row, review = failed_row(now), opened(now, holder=operator)
    assert close(intend(review, operator, now), status, now)
    assert fresh(review).closed_at is None and fresh(row).is_open and standing().has_open_review
    (said,) = reviews.resolutions_of(review)
    assert (said.verdict, said.audit_entry.status) == ("did_not_happen", status)
    assert settle(review, operator, HAPPENED, now)


@together
@pytest.mark.parametrize("verdict", [HAPPENED, ABANDON, SNOOZE])
def test_while_an_act_is_under_way_nothing_else_is_said(verdict, operator, now):
    """Whether the job was run again by it is not known yet, and would make the next word a lie."""
    review = opened(now, holder=operator)
    entry = intend(review, operator, now)
    assert settle(fresh(review), operator, verdict, now) is None
    assert intend(review, operator, now) is None
    close(entry, "not_done", now)
    assert settle(review, operator, verdict, now)


@together
def test_the_end_of_an_act_is_recorded_as_a_whole_or_not_at_all(operator, now, monkeypatch):
    row, review = failed_row(now), opened(now, holder=operator)
    entry = intend(review, operator, now)

    def fail(entry):
        raise RuntimeError("the database is gone")

    with monkeypatch.context() as broken:
        broken.setattr(failures, "note_act", fail)
        with pytest.raises(RuntimeError, match="database is gone"):
            close(entry, "done", now)
    assert (fresh(entry).status, fresh(review).closed_at, fresh(row).place) == ("intended", None, "failed")
    assert close(entry, "done", now)
    assert (entry.status, fresh(review).verdict, fresh(row).place) == ("done", "did_not_happen", "moved")


@together
def test_an_intent_inside_a_transaction_is_an_error(operator, now):
    review = opened(now, holder=operator)
    with pytest.raises(RuntimeError, match="durable"), transaction.atomic():
        intend(review, operator, now)
    assert not Resolution.objects.exists() and settle(review, operator, HAPPENED, now)


def test_what_did_not_happen_and_can_not_run_is_no_doubt_any_more(operator, now):
    row, review = failed_row(now), opened(now, holder=operator)
    settle(review, operator, DID_NOT, now)
    assert (operation().status, operation().reason_code) == ("cancelled", "said_not_happened")
    assert (fresh(row).verdict, row.is_open, standing()) == ("did_not_happen", False, Standing())


@pytest.mark.parametrize("first", [HAPPENED, ABANDON])
def test_what_was_said_of_an_earlier_run_stays_said(first, operator, now):
    """Somebody ran it again by other means, and that run had no effect; the one before may have had."""
    settle(opened(now, holder=operator), operator, first, now)
    second = opened(now, holder=operator, run="run-2")
    assert (operation().status, standing().has_open_review) == ("unknown", True)
    settle(second, operator, DID_NOT, now + LATER / 4)
    assert (operation().status, operation().reason_code) == AFTER[first]
    assert (standing().has_happened, standing().is_abandoned) == (first is HAPPENED, first is ABANDON)


def test_that_it_happened_outweighs_that_it_was_given_up(operator, now):
    settle(opened(now, holder=operator), operator, ABANDON, now)
    settle(opened(now, holder=operator, run="run-2"), operator, HAPPENED, now)
    assert (standing().has_happened, standing().is_abandoned) == (True, False)


# Late evidence --------------------------------------------------------------------------------------------------------


def late(review, now, **changes):
    return settle(review, None, HAPPENED, now, **changes)


def test_late_evidence_closes_the_review_whoever_holds_it(operator, now):
    row, review = failed_row(now), opened(now, holder=operator)
    said = late(review, now, version_seen=1)
    assert (said.source, said.actor, said.audit_entry) == ("late_evidence", None, None)
    assert said.evidence == {"result_id": "9-1"}
    assert (fresh(review).verdict, fresh(row).is_open, operation().status) == ("happened", False, "completed")
    assert (standing().has_happened, standing().said_by) == (True, "")
    assert late(review, now) is None
    assert settle(review, operator, ABANDON, now) is None


@together
@pytest.mark.parametrize("carried_out", [True, False])
def test_against_what_somebody_said_it_stands_beside_it_and_overwrites_nothing(carried_out, operator, now):
    review = opened(now, holder=operator)
    if carried_out:
        close(intend(review, operator, now), "done", now)
    else:
        settle(review, operator, DID_NOT, now)
    said = late(review, now + LATER)
    assert said.evidence == {"result_id": "9-1", "contradicts": "did_not_happen"}
    assert (fresh(review).verdict, review.closed_at) == ("did_not_happen", now)
    assert reviews.is_contradicted(review) is carried_out, "where nothing ran, the evidence answers, and no more"
    reason = "contradicting_evidence" if carried_out else "said_happened"
    assert (operation().status, operation().reason_code) == ("completed", reason)
    assert standing().has_happened and late(review, now) is None
    assert [one.verdict for one in reviews.resolutions_of(review)] == ["did_not_happen", "happened"]


def test_that_a_given_up_one_happened_after_all_contradicts_nobody(operator, now):
    review = opened(now, holder=operator)
    settle(review, operator, ABANDON, now)
    assert late(review, now + LATER).evidence["contradicts"] == "abandon"
    assert (fresh(review).verdict, operation().reason_code) == ("abandon", "said_happened")
    assert standing().has_happened and not reviews.is_contradicted(review)


@together
@pytest.mark.parametrize("status", ["done", "not_done"])
def test_late_evidence_while_an_act_is_under_way_is_heard_and_the_act_is_seen_beside_it(status, operator, now):
    review = opened(now, holder=operator)
    entry = intend(review, operator, now)
    assert late(review, now) and fresh(review).verdict == "happened"
    assert close(entry, status, now + LATER)
    assert (fresh(review).verdict, review.closed_at) == ("happened", now)
    is_twice = status == "done"
    assert reviews.is_contradicted(review) is is_twice
    assert operation().reason_code == ("contradicting_evidence" if is_twice else "said_happened")
    assert standing().has_happened


@together
@pytest.mark.parametrize("moment", ["intent", "end"])
def test_late_evidence_at_the_same_moment_as_it_did_not_happen_loses_neither(moment, operator, now):
    """Either order: both are on record, or who came second was told; nothing is overwritten."""
    review = opened(now, holder=operator)
    if moment == "intent":
        entry, said = at_once(lambda: intend(review, operator, now), lambda: late(review, now))
        assert entry is None or close(entry, "done", now)
    else:
        entry = intend(review, operator, now)
        _closed, said = at_once(lambda: close(entry, "done", now), lambda: late(review, now))
    assert said is not None
    assert Resolution.objects.count() == 1 + (entry is not None)
    assert fresh(review).verdict in ("happened", "did_not_happen") and standing().has_happened
    assert reviews.is_contradicted(review) is (entry is not None)
    assert (operation().reason_code == "contradicting_evidence") is (entry is not None)


# Afterwards -----------------------------------------------------------------------------------------------------------


def test_what_a_person_said_outlives_the_account(operator, now):
    review = opened(now, holder=operator)
    said = settle(review, operator, HAPPENED, now)
    operator.delete()
    assert (fresh(said).actor, said.actor_name) == (None, "otto")
    assert standing().said_by == "otto"


def test_a_review_held_by_an_account_that_went_is_free_when_its_time_is_over(operator, lead, now):
    review = opened(now, holder=operator)
    operator.delete()
    assert not reviews.claim_review(review, actor=lead, now=now)
    assert reviews.claim_review(review, actor=lead, now=now + reviews.CLAIM)


def test_a_statement_of_nobody_is_no_intent(now):
    review = opened(now)
    with pytest.raises(AssertionError):
        intend(review, None, now)


def test_open_reviews_come_oldest_first(now):
    newer, older = opened(now, job_id="b"), opened(now - LATER, job_id="a")
    assert list(reviews.open_reviews()) == [older, newer]
