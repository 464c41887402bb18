"""Open reviews are kept up to date, and close by themselves when, and only when, the very run is proved done."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from jobs.broker import connections
from jobs.domain.verdicts import Verdict
from jobs.ledger.reviews import is_contradicted
from jobs.models import FailedJob, Operation, Resolution, Review
from jobs.observer import reviews, unknown
from tests.support.keyspace import snapshot
from tests.support.observer import sweep_through
from tests.support.runs import ago, began_at, begin, file_as_abandoned, hold, mislay, rq_time, succeed

pytestmark = [pytest.mark.django_db, pytest.mark.parametrize("rq_version", ["3.0"])]


def follow(later=timedelta(0)):
    return reviews.follow(timezone.now() + later)


def the_review():
    return Review.objects.select_related("operation").get()


@pytest.fixture
def lost(real_rq, redis_client):
    """The lease of its run is over, and a review asks what became of it."""
    begin(real_rq, redis_client, "job", lease=-1)
    unknown.look("default", timezone.now())
    return the_review()


def say(review, verdict):
    """A person has said so; what follows from it in Redis is left to the test."""
    Resolution.objects.create(
        review=review, actor_name="otto", verdict=verdict, version_seen=1, created_at=timezone.now()
    )
    Review.objects.filter(pk=review.pk).update(closed_at=timezone.now(), verdict=verdict)


# Closed by evidence ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["finished", "failed"])
def test_a_late_success_of_the_run_closes_its_review_as_happened(lost, redis_client, status):
    """Its horse lived on. RQ files it as finished, or had filed it as failed before and left it there."""
    file_as_abandoned(redis_client, "job")
    sweep_through("default", timezone.now())
    result_id = succeed(redis_client, "job", began=began_at(redis_client, "job"), status=status)
    before = snapshot(redis_client)
    assert (follow(), follow()) == (1, 0)
    said = Resolution.objects.get()
    assert (said.verdict, said.source, said.actor_name, said.audit_entry) == ("happened", "late_evidence", "", None)
    assert said.evidence["result_id"] == result_id and said.evidence["worker"] == "w-1"
    assert datetime.fromisoformat(said.evidence["ended_at"]) <= datetime.now(UTC)
    review = the_review()
    assert (review.verdict, review.closed_at is None, review.operation.status) == ("happened", False, "completed")
    assert not FailedJob.objects.get().is_open
    assert snapshot(redis_client) == before


def test_a_run_that_returned_before_rq_failed_closes_its_review_too(lost, redis_client):
    path = "/app/.venv/lib/python3.11/site-packages/rq/job.py"
    frames = "".join(f'  File "{path}", line 7, in {name}\n' for name in ("perform_job", "execute_success_callback"))
    text = f"Traceback (most recent call last):\n{frames}ValueError: the callback failed\n"
    succeed(redis_client, "job", began=began_at(redis_client, "job"), status="failed", error=text)
    assert follow() == 1


def test_a_success_of_which_only_the_state_is_left_closes_it(lost, redis_client):
    redis_client.hset("rq:job:job", mapping={"status": "finished", "ended_at": rq_time(ago(1))})
    assert follow() == 1 and Resolution.objects.get().evidence["result_id"] == ""


def test_the_success_of_another_run_closes_nothing_and_the_review_says_that_there_was_one(lost, redis_client):
    now = ago(10)
    redis_client.hset("rq:job:job", mapping={"started_at": rq_time(now), "enqueued_at": rq_time(now)})
    succeed(redis_client, "job", began=now)
    assert (follow(), follow()) == (0, 0)
    review = the_review()
    assert review.sentence == f"{lost.sentence} {reviews.RAN_AGAIN}"
    assert (review.finding, review.version, review.evidence["status"]) == (lost.finding, lost.version, "started")


def test_the_success_of_a_run_that_worked_beside_a_later_one_is_its_own(lost, redis_client):
    """RQ has queued it again, a second run is at work, and then the first one's process says that it is done."""
    first, second = began_at(redis_client, "job"), ago(10)
    redis_client.hset("rq:job:job", mapping={"started_at": rq_time(second), "enqueued_at": rq_time(second)})
    assert follow() == 0
    succeed(redis_client, "job", began=first, status="started")
    assert follow() == 1


def test_the_success_of_an_earlier_run_that_worked_beside_it_is_not_its_own(lost, redis_client):
    succeed(redis_client, "job", began=ago(200), status="started")
    assert follow() == 0


def test_the_success_of_the_job_that_had_the_id_before_or_has_it_now_closes_nothing(lost, redis_client):
    succeed(redis_client, "job", began=ago(7_200), ended=7_000, status="started")
    assert follow() == 0
    redis_client.hset("rq:job:job", "created_at", rq_time(ago(5)))
    succeed(redis_client, "job", began=began_at(redis_client, "job"))
    assert follow() == 0 and the_review().sentence == lost.sentence


def test_evidence_that_comes_while_a_person_holds_the_review_closes_it_all_the_same(lost, redis_client, operator):
    until = timezone.now() + timedelta(minutes=30)
    Review.objects.filter(pk=lost.pk).update(
        claimed_by=operator, claimed_by_name="otto", claimed_until=until, version=2
    )
    succeed(redis_client, "job", began=began_at(redis_client, "job"))
    assert follow() == 1
    assert (the_review().claimed_by, the_review().version) == (None, 3)


# Kept up to date ------------------------------------------------------------------------------------------------------


def test_what_rq_makes_of_the_run_is_known_in_the_review_and_old_forms_are_refused(lost, redis_client):
    file_as_abandoned(redis_client, "job")
    assert follow() == 0
    review = the_review()
    assert (review.finding, review.evidence["status"], review.version) == ("result_unknown", "failed", 2)
    assert review.last_sign_of_life == lost.last_sign_of_life
    follow()
    assert the_review().version == 2


def test_the_old_run_is_noted_as_dead_once_it_is(lost, redis_client):
    assert not the_review().evidence["is_dead"]
    redis_client.hset("rq:job:job", "timeout", 20)
    follow()
    assert the_review().evidence["is_dead"]


def test_of_a_job_whose_data_is_gone_the_review_keeps_what_was_known(lost, redis_client):
    redis_client.flushall()
    assert follow() == 0
    review = the_review()
    assert (review.closed_at, review.finding, review.sentence) == (None, lost.finding, lost.sentence)
    assert review.evidence == lost.evidence and review.looked_at is not None


def test_the_old_run_is_noted_as_dead_when_its_time_is_over_though_its_data_is_gone(lost, redis_client, monkeypatch):
    redis_client.flushall()
    dead_after = datetime.fromisoformat(lost.evidence["dead_after"])
    for seconds, is_dead in ((-1, False), (1, True)):
        monkeypatch.setattr(reviews, "store_time", lambda _name, at=dead_after + timedelta(seconds=seconds): at)
        follow()
        assert the_review().evidence["is_dead"] is is_dead


def test_a_look_that_shows_nothing_new_writes_nothing_but_its_time(lost, redis_client, monkeypatch):
    follow()
    before, written = the_review(), []
    monkeypatch.setattr(reviews.reviews, "refresh_review", lambda *what: written.append(what))
    follow()
    after = the_review()
    assert written == [] and after.evidence == before.evidence and after.looked_at > before.looked_at
    hold(redis_client, "job", -1, worker="w-2")
    follow()
    assert len(written) == 1


def test_a_cancelled_run_stays_unknown_when_its_own_list_has_forgotten_it(real_rq, redis_client):
    begin(real_rq, redis_client, "job")
    real_rq.evaluate("rq.job.Job.fetch('job', connection=connection).cancel() and None")
    unknown.look("default", timezone.now())
    hold(redis_client, "job", -1)
    redis_client.delete("rq:wip:orders")
    unknown.look("default", timezone.now())
    redis_client.delete("rq:executions:job")
    follow()
    assert (the_review().finding, the_review().evidence["finding"]) == ("result_unknown", "result_unknown")


@pytest.mark.parametrize("status", ["scheduled", "queued", "deferred", "canceled", "created"])
def test_where_the_job_stands_by_now_is_no_proof_that_its_run_is_dead(lost, redis_client, status):
    """As RQ's own retry leaves a run that it gave up: its process may live on."""
    file_as_abandoned(redis_client, "job")
    redis_client.delete("rq:executions:job")
    follow()
    filed = the_review()
    redis_client.hset("rq:job:job", "status", status)
    redis_client.zrem("rq:failed:orders", "job")
    if status == "queued":
        redis_client.rpush("rq:queue:orders", "job")
    else:
        redis_client.zadd(f"rq:{status}:orders", {"job": ago(-600).timestamp()})
    follow()
    review = the_review()
    assert (review.finding, review.sentence) == (filed.finding, filed.sentence)
    assert not review.evidence["is_dead"] and review.evidence["dead_after"] == filed.evidence["dead_after"] is not None


def test_what_is_proved_dead_is_looked_at_once_a_minute_only(real_rq, redis_client):
    begin(real_rq, redis_client, "dead", lease=-1, began=600)
    begin(real_rq, redis_client, "alive", lease=-1)
    unknown.look("default", timezone.now())
    follow()
    before = looked_at()
    follow()
    assert looked_at()["alive"] > before["alive"] and looked_at()["dead"] == before["dead"]
    dead = Review.objects.get(operation__job_id="dead")
    Review.objects.filter(pk=dead.pk).update(look_due_at=dead.look_due_at - reviews.QUIET)
    follow()
    assert looked_at()["dead"] > before["dead"]


def looked_at():
    return dict(Review.objects.values_list("operation__job_id", "looked_at"))


def test_those_not_looked_at_for_longest_come_first_when_one_call_cannot_look_at_all(
    real_rq, redis_client, monkeypatch
):
    monkeypatch.setattr(reviews, "AT_ONCE", 2)
    for number in range(5):
        begin(real_rq, redis_client, f"job-{number}", lease=-1)
    unknown.look("default", timezone.now())
    Review.objects.filter(operation__job_id="job-4").update(look_due_at=ago(60))
    follow()
    assert looked_at()["job-4"] and sum(at is not None for at in looked_at().values()) == 2
    for _ in range(2):
        follow()
    assert None not in looked_at().values()


def test_a_store_that_does_not_answer_keeps_no_other_from_being_followed(lost, redis_client, settings, valkey):
    settings.OPSBOARD_CONNECTIONS = {
        "away": {"url": "redis://127.0.0.1:1/0", "read_url": None, "prefix": "rq"},
        "default": {"url": valkey.url, "read_url": None, "prefix": "rq"},
    }
    connections.reset()
    succeed(redis_client, "job", began=began_at(redis_client, "job"))
    assert follow() == 1


def test_a_review_of_a_job_that_waits_lost_is_closed_by_no_later_run_of_it(real_rq, redis_client):
    mislay(real_rq, redis_client, "job")
    for _first_and_second in range(2):
        unknown.look("default", timezone.now())
    began = ago(0)
    redis_client.hset("rq:job:job", "started_at", rq_time(began))
    succeed(redis_client, "job", began=began)
    assert follow() == 0 and the_review().sentence.endswith(reviews.RAN_AGAIN)


# Against what a person said -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verdict", [Verdict.DID_NOT_HAPPEN, Verdict.ABANDON])
def test_a_success_that_contradicts_a_verdict_stands_beside_it_and_overwrites_nothing(
    lost, redis_client, caplog, verdict
):
    say(lost, verdict)
    succeed(redis_client, "job", began=began_at(redis_client, "job"))
    with caplog.at_level(logging.WARNING, "opsboard.observer"):
        assert [follow(), reviews.follow_closed(timezone.now()), reviews.follow_closed(timezone.now())] == [0, 1, 0]
    assert the_review().verdict == verdict
    assert [one.verdict for one in lost.resolutions.order_by("created_at")] == [verdict, "happened"]
    late = lost.resolutions.get(source=Resolution.Source.LATE_EVIDENCE)
    assert late.evidence["contradicts"] == verdict and Operation.objects.get().status == "completed"
    assert [record.getMessage() for record in caplog.records] == [
        f"late evidence contradicts what was said in review {lost.pk}: the run has succeeded"
    ]
    assert not is_contradicted(lost)  # nobody acted on what was said


def test_however_many_were_closed_in_a_day_each_is_looked_at_in_its_turn(real_rq, redis_client, monkeypatch):
    monkeypatch.setattr(reviews, "AT_ONCE", 2)
    for number in range(5):
        begin(real_rq, redis_client, f"job-{number}", lease=-1)
    unknown.look("default", timezone.now())
    for review in Review.objects.select_related("operation"):
        say(review, Verdict.ABANDON)
        succeed(redis_client, review.operation.job_id, began=began_at(redis_client, review.operation.job_id))
    for job_id in ("job-1", "job-3"):
        # Nothing is found out of these for as long as they are doubted.
        redis_client.delete(f"rq:job:{job_id}", f"rq:results:{job_id}")
    assert sum(reviews.follow_closed(timezone.now()) for _ in range(3)) == 3


@pytest.mark.parametrize("verdict", [Verdict.DID_NOT_HAPPEN, Verdict.HAPPENED])
def test_a_verdict_that_nothing_speaks_against_is_left_as_it_is(lost, redis_client, verdict):
    say(lost, verdict)
    if verdict is Verdict.HAPPENED:
        succeed(redis_client, "job", began=began_at(redis_client, "job"))
    assert reviews.follow_closed(timezone.now()) == 0 and Resolution.objects.count() == 1
