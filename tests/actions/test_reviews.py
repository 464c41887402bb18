"""What people do in a review, from the word to the record and the act that follows."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier

import pytest
from django.core.exceptions import PermissionDenied
from django.db import connections as databases
from guardian.shortcuts import remove_perm

from jobs.actions.guarded import Wish, carry_out
from jobs.actions.jobs import ACTS
from jobs.actions.reviews import Saying, claim, release, resolve
from jobs.actions.settle import settle_open_entries
from jobs.broker import commands, connections, running
from jobs.broker.errors import BrokerUnavailable
from jobs.domain.verdicts import OF_RUNS
from jobs.ledger import reviews
from jobs.models import AuditEntry, JobType, Operation, Resolution, Review
from jobs.permissions import ReviewNotVisible
from opsboard.runner.valkey import free_port
from tests.support.acts import read
from tests.support.keyspace import dump, load, snapshot
from tests.support.reviews import GIVEN, review_of
from tests.support.statements import statement

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.parametrize("rq_version", ["3.0"])]

HAPPENED, DID_NOT, ABANDON, SNOOZE = OF_RUNS
LONG_AGO = "2026-01-01T00:00:00.000000Z"
JOBS = ("failed", "killed", "stopped", "lost", "alive")


@pytest.fixture(scope="session")
def _made():
    return []


@pytest.fixture
def store(real_rq, redis_client, _made):
    """One job of each kind whose last run may have acted; a real RQ made them, once for all tests."""
    if not _made:
        for job_id, function in (
            ("failed", "fx.boom"),
            ("killed", "fx.die"),
            ("stopped", "fx.boom"),
            ("alive", "fx.boom"),
        ):
            real_rq.enqueue(function, 7, job_id=job_id)
        real_rq.burst()
        real_rq.enqueue("fx.effect", 7, job_id="lost")
        redis_client.delete("rq:queue:orders")
        redis_client.hset("rq:job:lost", mapping={"enqueued_at": LONG_AGO, "started_at": LONG_AGO})
        redis_client.hset("rq:job:stopped", "status", "stopped")
        _made.append(dump(redis_client))
        redis_client.flushall()
    load(redis_client, _made[0])
    abandon(redis_client, "alive")
    return redis_client


def abandon(client, job_id):
    """As RQ files a job that began just now and whose worker is gone: the process of its run may live on."""
    text = "Moved to FailedJobRegistry, due to AbandonedJobError, at 2026-01-01"
    client.xadd(f"rq:results:{job_id}", {"type": 2, "created_at": datetime.now(UTC).timestamp(), "exc_string": text})
    client.hset(f"rq:job:{job_id}", "started_at", datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"))


def taken(person, job_id):
    """The review of the job, which this person has taken."""
    review = review_of(job_id)
    assert claim(person, review.pk, datetime.now(UTC)).is_done
    return fresh(review)


def saying(person, review, verdict, **changes):
    detail, now = read(review.operation.job_id), datetime.now(UTC)
    usual = {"version": review.version, "seen": detail.seen if detail else "gone", "given": GIVEN[verdict]}
    if verdict is SNOOZE:
        usual |= {"given": GIVEN[SNOOZE] | {"until": "tomorrow"}, "look_again_at": now + timedelta(days=1)}
    return Saying(actor=person, review_id=review.pk, verdict=verdict, **(usual | {"now": now} | changes))


def say(person, review, verdict, **changes):
    return resolve(saying(person, review, verdict, **changes))


def fresh(row):
    row.refresh_from_db()
    return row


def last_entry():
    return AuditEntry.objects.order_by("created_at").last()


def is_refused(answer, code, words, status="refused"):
    """Nothing was done or said, and the attempt is on record with its reason."""
    entry = last_entry()
    assert not answer.is_done and words in answer.sentence
    assert (entry.verb, entry.status, entry.decision_code) == ("resolve_review", status, code)
    assert entry.outcome == answer.sentence and not Resolution.objects.exists()
    assert fresh(answer.review).closed_at is None


def put_forward(monkeypatch, by):
    """The store's clock, by which runs are judged."""
    store_time = running.store_time
    monkeypatch.setattr(running, "store_time", lambda name: store_time(name) + by)


def queued(client):
    return [job_id.decode() for job_id in client.lrange("rq:queue:orders", 0, -1)]


# Taken and given back -------------------------------------------------------------------------------------------------


def test_one_takes_it_and_another_is_told_who_has_it(operator, lead, store):
    review = review_of("failed")
    assert "nobody else decides it" in claim(operator, review.pk, datetime.now(UTC)).sentence
    answer = claim(lead, review.pk, datetime.now(UTC))
    assert (answer.is_done, answer.sentence) == (False, "Not done: otto has taken this review.")
    assert (last_entry().verb, last_entry().status, last_entry().actor_name) == ("claim_review", "refused", "lena")
    assert not release(lead, review.pk, datetime.now(UTC)).is_done
    assert release(operator, review.pk, datetime.now(UTC)).is_done
    assert claim(lead, review.pk, datetime.now(UTC)).is_done
    assert (fresh(review).claimed_by, last_entry().subject) == (lead, "failed")


@pytest.mark.parametrize("deed", [claim, release, lambda who, pk, now: say(who, Review.objects.get(pk=pk), HAPPENED)])
def test_without_the_right_nothing_is_done_and_the_attempt_is_on_record(deed, viewer, outsider, store):
    review = review_of("failed")
    for person, error in ((viewer, PermissionDenied), (outsider, ReviewNotVisible)):
        with pytest.raises(error):
            deed(person, review.pk, datetime.now(UTC))
        assert (last_entry().actor_name, last_entry().status) == (person.username, "refused")
    assert fresh(review).version == 1 and not Resolution.objects.exists()


def test_a_review_that_is_not_there_is_as_one_that_may_not_be_seen(operator, pia, store):
    for person, number in ((operator, 999), (pia, review_of("failed").pk)):
        with pytest.raises(ReviewNotVisible):
            claim(person, number, datetime.now(UTC))


# Words that stay words ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verdict", [HAPPENED, ABANDON])
def test_what_was_said_closes_it_and_the_job_is_not_run_again(verdict, operator, orders, store):
    JobType.objects.create(path="fx.boom", idempotency="repeatable")
    review, before = taken(operator, "failed"), snapshot(store)
    answer = say(operator, review, verdict)
    said = Resolution.objects.get()
    assert answer.is_done and answer.sentence.startswith("On record:") and answer.review.verdict == verdict.value
    assert (said.evidence, said.actor_name) == (GIVEN[verdict], "otto")
    assert said.liveness == "The old run is proved dead: it can no longer act."
    asked = Wish(actor=operator, queue=orders, job_id="failed", seen=read("failed").seen, now=datetime.now(UTC))
    code = {HAPPENED: "already_completed", ABANDON: "closed"}[verdict]
    assert carry_out(ACTS["retry_job"], asked).entry.decision_code == code
    assert snapshot(store) == before


def test_put_off_it_is_free_again(operator, store):
    review = taken(operator, "failed")
    assert say(operator, review, SNOOZE).is_done
    assert fresh(review).snoozed_until > datetime.now(UTC) and review.claimed_by is None and review.closed_at is None


@pytest.mark.parametrize("hours", [None, 0, -1])
def test_it_is_put_off_until_a_time_that_is_still_to_come(hours, operator, store):
    review = taken(operator, "failed")
    until = None if hours is None else datetime.now(UTC) + timedelta(hours=hours)
    assert set(say(operator, review, SNOOZE, look_again_at=until).missing) == {"until"}
    assert fresh(review).snoozed_until is None and not Resolution.objects.exists()


@pytest.mark.parametrize("verdict", OF_RUNS)
def test_without_its_grounds_nothing_is_said_or_recorded(verdict, operator, store):
    review = taken(operator, "failed")
    answer = say(operator, review, verdict, given={"where": "\0 "})
    assert answer.missing and not answer.is_done and last_entry().verb == "claim_review"
    assert not Resolution.objects.exists() and fresh(review).closed_at is None


def test_only_the_grounds_that_were_asked_for_are_kept_and_as_the_database_takes_them(operator, store):
    given = {**GIVEN[ABANDON], "reason": "a\0" + "x" * 3000, "seen": "forged", "link": "http://example.org"}
    assert say(operator, taken(operator, "failed"), ABANDON, given=given).is_done
    said = Resolution.objects.get()
    assert set(said.evidence) == {"reason", "told"} and said.reason == "a" + "x" * 1999
    assert last_entry().reason == said.reason


# It did not happen ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("job_id", ["failed", "killed", "stopped", "lost"])
def test_what_did_not_happen_is_run_again_and_that_closes_the_review(job_id, operator, real_rq, store):
    review = taken(operator, job_id)
    answer = say(operator, review, DID_NOT)
    assert (answer.is_done, answer.is_unknown, queued(store)) == (True, False, [job_id])
    said = Resolution.objects.get()
    entry = said.audit_entry
    assert (entry.status, entry.decision_code, entry.actor_name) == ("done", "said_not_happened", "otto")
    assert (entry.verb == "enqueue_job") == (job_id == "lost")
    assert store.get(f"opsboard:act:{entry.pk}") == (b"enqueued" if job_id == "lost" else b"requeued")
    assert (fresh(review).verdict, said.evidence, Operation.objects.get().status) == (
        *("did_not_happen", GIVEN[DID_NOT]),
        "queued",
    )
    assert read(job_id).run != review.run, "it is another run from now on, and would be asked about anew"
    if job_id == "lost":
        real_rq.burst()
        assert store.get("effect:7") == b"1"


def test_of_a_job_that_is_gone_it_is_put_on_record_alone(operator, store):
    review = taken(operator, "failed")
    store.delete("rq:job:failed")
    store.zrem("rq:failed:orders", "failed")
    answer = say(operator, review, DID_NOT, seen="whatever")
    assert answer.is_done and "Nothing was run again" in answer.sentence
    assert (Resolution.objects.get().decision_code, last_entry().verb) == ("data_gone", "resolve_review")
    assert (fresh(review).verdict, Operation.objects.get().status) == ("did_not_happen", "cancelled")


def test_another_job_that_has_the_id_by_now_is_not_the_one_that_was_spoken_of(operator, store):
    review = taken(operator, "failed")
    store.hset("rq:job:failed", "created_at", LONG_AGO)
    before = snapshot(store)
    assert say(operator, review, DID_NOT).is_done
    assert Resolution.objects.get().decision_code == "data_gone" and snapshot(store) == before


@pytest.mark.parametrize("is_gone", [False, True])
def test_while_the_old_run_may_act_it_can_not_be_said(is_gone, operator, store, monkeypatch):
    """Also when its data is gone: what was known of the run before says until when."""
    review = taken(operator, "alive")
    if is_gone:
        store.delete("rq:job:alive")
        store.zrem("rq:failed:orders", "alive")
    before = snapshot(store)
    is_refused(say(operator, review, DID_NOT), "may_still_run", "The old run may still act" if is_gone else "going on")
    assert snapshot(store) == before
    put_forward(monkeypatch, timedelta(minutes=10))
    assert say(operator, review, DID_NOT).is_done
    assert queued(store) == ([] if is_gone else ["alive"])


def test_whether_the_old_run_may_act_is_judged_by_the_stores_clock_however_far_ours_is_ahead(operator, orders, store):
    JobType.objects.create(path="fx.boom", idempotency="repeatable")
    ahead = datetime.now(UTC) + timedelta(minutes=10)
    wish = Wish(actor=operator, queue=orders, job_id="alive", seen=read("alive").seen, now=ahead)
    assert carry_out(ACTS["retry_job"], wish).entry.decision_code == "may_still_run"
    review = taken(operator, "alive")
    later = ahead + timedelta(seconds=1)
    is_refused(say(operator, review, DID_NOT, now=later), "may_still_run", "going on")
    assert say(operator, review, HAPPENED, now=ahead).is_done
    assert Resolution.objects.get().liveness.startswith("The old run may still act") and queued(store) == []


# A later run ----------------------------------------------------------------------------------------------------------


def begin_again(client, job_id, **fields):
    """The job was queued once more, by RQ or by somebody at a shell, and has begun."""
    at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    client.hset(f"rq:job:{job_id}", mapping={"enqueued_at": at, "started_at": at, **fields})


def end_again(client, job_id, error):
    client.xadd(f"rq:results:{job_id}", {"type": 2, "created_at": datetime.now(UTC).timestamp(), "exc_string": error})


KILLED = "Work-horse terminated unexpectedly; waitpid returned 9 (signal 9); "
LATER_RUNS = {
    "killed": lambda client: end_again(client, "failed", KILLED),
    "failed": lambda client: end_again(client, "failed", "ValueError: boom"),
    "finished": lambda client: begin_again(client, "failed", status="finished"),
    "at work": lambda client: begin_again(client, "failed", status="started"),
    "queued": lambda client: (
        begin_again(client, "failed", status="queued"),
        client.rpush("rq:queue:orders", "failed"),
    ),
}


@pytest.mark.parametrize("fate", LATER_RUNS)
def test_that_an_earlier_run_did_nothing_runs_no_job_again_whatever_became_of_the_later_one(
    fate, operator, orders, store
):
    review = taken(operator, "failed")
    begin_again(store, "failed")
    LATER_RUNS[fate](store)
    before = snapshot(store)
    answer = say(operator, review, DID_NOT)
    assert answer.is_done and "Nothing was run again" in answer.sentence and snapshot(store) == before
    assert (fresh(review).verdict, Resolution.objects.get().decision_code) == ("did_not_happen", "later_run")
    if fate in ("killed", "failed"):
        asked = ask(operator, orders, "retry_job", "failed").review
        assert (asked.run, asked.closed_at) == (read("failed").run, None), "the later run is a question of its own"


def test_a_run_whose_start_rq_dates_anew_when_it_ends_is_the_same_run(operator, store):
    review = taken(operator, "failed")
    began = read("failed").job.started_at + timedelta(seconds=1)
    store.hset("rq:job:failed", "started_at", began.strftime("%Y-%m-%dT%H:%M:%S.%fZ"))
    assert say(operator, review, DID_NOT).is_done
    assert (Resolution.objects.get().decision_code, queued(store)) == ("said_not_happened", ["failed"])


def test_while_the_run_in_question_may_act_a_later_one_that_ended_proves_nothing_of_it(operator, store, monkeypatch):
    review = taken(operator, "alive")
    begin_again(store, "alive")
    end_again(store, "alive", "ValueError: boom")
    before = snapshot(store)
    is_refused(say(operator, review, DID_NOT), "may_still_run", "The old run may still act, at the latest until")
    put_forward(monkeypatch, timedelta(minutes=10))
    assert say(operator, review, DID_NOT).is_done and snapshot(store) == before
    assert Resolution.objects.get().decision_code == "later_run"


@pytest.mark.parametrize("status", ["scheduled", "canceled", "deferred", "queued"])
def test_where_the_job_stands_by_now_proves_nothing_of_the_run_in_question(status, operator, store, monkeypatch):
    """RQ waits to retry it, or somebody has cancelled it, and its own list has forgotten the run."""
    review = taken(operator, "alive")
    store.zrem("rq:failed:orders", "alive")
    store.hset("rq:job:alive", "status", status)
    if status == "queued":
        store.rpush("rq:queue:orders", "alive")
    else:
        store.zadd(f"rq:{status}:orders", {"alive": datetime.now(UTC).timestamp() + 600})
    assert not say(operator, review, DID_NOT).is_done
    with monkeypatch.context() as later:
        put_forward(later, timedelta(minutes=10))
        assert say(operator, review, DID_NOT).is_done is (status == "canceled")
    if status != "canceled":
        assert say(operator, review, HAPPENED).is_done
        assert Resolution.objects.get().liveness.startswith("The old run may still act")


def test_it_takes_the_right_to_retry_as_well(operator, orders, store):
    review, before = taken(operator, "failed"), snapshot(store)
    remove_perm("opsboard_jobs.retry_job", operator, orders)
    with pytest.raises(PermissionDenied):
        say(operator, review, DID_NOT)
    assert (last_entry().status, last_entry().outcome) == ("refused", "No right to retry jobs of this queue.")
    assert snapshot(store) == before and not Resolution.objects.exists()
    assert say(operator, review, HAPPENED).is_done


def test_a_job_that_changed_since_one_looked_is_looked_at_again_first(operator, store):
    review, before = taken(operator, "failed"), snapshot(store)
    is_refused(say(operator, review, DID_NOT, seen="1-1"), "changed", "changed since you looked", "changed")
    assert snapshot(store) == before


@pytest.mark.parametrize("silent_at", ["the evidence", "the deadline"])
def test_a_silent_store_is_said_on_record_before_anything_is_attempted(
    silent_at, operator, store, settings, monkeypatch
):
    review = taken(operator, "failed")
    said = saying(operator, review, DID_NOT)
    if silent_at == "the evidence":
        settings.OPSBOARD_CONNECTIONS = {"default": {"url": f"redis://:secret-pw@127.0.0.1:{free_port()}/0"}}
        connections.reset()
    else:
        monkeypatch.setattr(commands, "server_time", _be_silent)
    with pytest.raises(BrokerUnavailable):
        resolve(said)
    entry = last_entry()
    assert (entry.verb, entry.status) == ("resolve_review", "refused") and entry.outcome.startswith("Not done: ")
    assert "secret" not in entry.outcome and not Resolution.objects.exists() and fresh(review).closed_at is None


def _be_silent(connection):
    raise BrokerUnavailable(connection, "no answer")


def test_what_needs_no_store_can_be_said_while_it_is_silent(operator, store, settings):
    review = taken(operator, "failed")
    said = saying(operator, review, HAPPENED)
    settings.OPSBOARD_CONNECTIONS = {"default": {"url": f"redis://127.0.0.1:{free_port()}/0"}}
    connections.reset()
    assert resolve(said).is_done
    assert Resolution.objects.get().liveness.startswith("Not known: ")


@pytest.mark.parametrize("answer", ["changed", "running", "queued", "too_late", "refused"])
def test_what_the_store_refuses_is_on_record_as_not_carried_out_and_the_review_stays_open(
    answer, operator, store, monkeypatch
):
    review = taken(operator, "failed")
    with monkeypatch.context() as refusing:
        refusing.setattr(commands, "requeue_failed", lambda target, **options: answer)
        said = say(operator, review, DID_NOT)
    assert not said.is_done and said.sentence.startswith("Not done") and fresh(review).closed_at is None
    entry = Resolution.objects.get().audit_entry
    assert entry.status in ("changed", "refused", "not_done") and entry.outcome == said.sentence
    assert say(operator, review, DID_NOT).is_done
    assert queued(store) == ["failed"]


def test_a_job_that_changes_between_the_word_and_the_act_is_left_alone(operator, store, monkeypatch):
    run = commands.requeue_failed

    def finish_first(target, **options):
        store.hset("rq:job:failed", "status", "finished")
        return run(target, **options)

    review = taken(operator, "failed")
    monkeypatch.setattr(commands, "requeue_failed", finish_first)
    assert not say(operator, review, DID_NOT).is_done
    assert (queued(store), fresh(review).closed_at) == ([], None)


@pytest.mark.parametrize("is_done", [True, False])
def test_without_an_answer_in_time_it_is_not_known_until_it_is_settled_and_then_both_stores_agree(
    is_done, operator, store, monkeypatch
):
    run = commands.requeue_failed

    def lose_the_answer(target, **options):
        if is_done:
            assert run(target, **options) == "done"
        raise commands.OutcomeUnknown

    review = taken(operator, "failed")
    with monkeypatch.context() as losing:
        losing.setattr(commands, "requeue_failed", lose_the_answer)
        answer = say(operator, review, DID_NOT)
    assert answer.is_unknown and not answer.is_done and answer.sentence.startswith("Not known yet")
    assert fresh(review).closed_at is None
    assert "not known yet whether it did" in say(operator, review, HAPPENED).sentence
    store_time = commands.server_time
    monkeypatch.setattr(commands, "server_time", lambda name: store_time(name) + timedelta(minutes=2))
    settle_open_entries(now=datetime.now(UTC))
    assert fresh(review).verdict == ("did_not_happen" if is_done else "")
    assert Resolution.objects.get().audit_entry.status == ("done" if is_done else "not_done")
    assert queued(store) == (["failed"] if is_done else [])


# Two of them ----------------------------------------------------------------------------------------------------------


def test_who_does_not_hold_it_says_nothing(operator, lead, store):
    review = taken(operator, "failed")
    is_refused(say(lead, review, HAPPENED), "changed", "otto has taken this review", "changed")
    is_refused(say(lead, review, DID_NOT), "changed", "otto has taken this review", "changed")
    release(operator, review.pk, datetime.now(UTC))
    is_refused(say(operator, fresh(review), HAPPENED), "changed", "take the review first", "changed")


def test_whose_time_is_over_says_nothing_though_nobody_else_has_taken_it(operator, store):
    review = taken(operator, "failed")
    late = datetime.now(UTC) + reviews.CLAIM
    is_refused(say(operator, review, HAPPENED, now=late), "changed", "take the review first", "changed")


def test_a_page_from_before_is_told_so(operator, store):
    review = taken(operator, "failed")
    claim(operator, review.pk, datetime.now(UTC))
    is_refused(say(operator, review, HAPPENED), "changed", "the review changed since you looked", "changed")


def test_what_was_closed_meanwhile_is_not_said_again(operator, store):
    review = taken(operator, "failed")
    reviews.settle_review(review, statement(None, HAPPENED, review), now=datetime.now(UTC))
    before = snapshot(store)
    for verdict in OF_RUNS:
        assert "closed meanwhile" in say(operator, review, verdict).sentence
    assert snapshot(store) == before and Resolution.objects.count() == 1


@pytest.mark.parametrize("other", [DID_NOT, HAPPENED])
def test_of_two_tabs_at_the_same_moment_one_is_heard(other, operator, store):
    review = taken(operator, "failed")
    words, barrier = [saying(operator, review, DID_NOT), saying(operator, review, other)], Barrier(2)

    def press(said):
        try:
            barrier.wait(10)
            return resolve(said)
        finally:
            databases.close_all()

    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(press, words))
    assert sorted(answer.is_done for answer in answers) == [False, True]
    verdict = fresh(review).verdict
    assert queued(store) == (["failed"] if verdict == "did_not_happen" else [])
    assert [one.verdict for one in Resolution.objects.all()] == [verdict]


# Acts on a job in review ----------------------------------------------------------------------------------------------


def ask(person, orders, verb, job_id, **changes):
    wish = Wish(actor=person, queue=orders, job_id=job_id, seen=read(job_id).seen, now=datetime.now(UTC), **changes)
    return carry_out(ACTS[verb], wish)


@pytest.mark.parametrize(
    ("verb", "job_id", "code"), [("retry_job", "failed", "may_have_acted"), ("enqueue_job", "lost", "result_unknown")]
)
def test_a_retry_that_nobody_can_answer_for_opens_a_review_and_the_next_is_told_of_it(
    verb, job_id, code, operator, lead, orders, store
):
    before = snapshot(store)
    outcome = ask(operator, orders, verb, job_id)
    review = outcome.review
    assert outcome.sentence.endswith("A review was opened for it.") and outcome.entry.decision_code == code
    assert (review.opened_by_name, review.code, review.run) == ("otto", code, read(job_id).run)
    again = ask(lead, orders, verb, job_id)
    assert (again.status, again.entry.decision_code, again.review) == ("refused", "review_open", None)
    assert Review.objects.get() == review and snapshot(store) == before


@pytest.mark.parametrize("promise", ["repeatable", "unsafe"])
def test_while_it_is_in_review_it_is_neither_run_nor_deleted(promise, operator, orders, store):
    """Nor when its type has been declared repeatable since."""
    for path in ("fx.boom", "fx.effect"):
        JobType.objects.create(path=path, idempotency=promise)
    for job_id in ("failed", "lost"):
        review_of(job_id)
    before = snapshot(store)
    for verb, job_id in (
        ("retry_job", "failed"),
        ("delete_job", "failed"),
        ("enqueue_job", "lost"),
        ("delete_job", "lost"),
    ):
        outcome = ask(operator, orders, verb, job_id, confirmed="delete", typed="boom")
        assert (outcome.status, outcome.entry.decision_code) == ("refused", "review_open")
    assert snapshot(store) == before


def test_what_would_run_by_itself_can_be_cancelled_while_it_is_in_review(operator, orders, store):
    review_of("failed")
    store.zrem("rq:failed:orders", "failed")
    store.hset("rq:job:failed", "status", "queued")
    store.rpush("rq:queue:orders", "failed")
    assert ask(operator, orders, "cancel_job", "failed", confirmed="cancel").is_done
    assert queued(store) == []
