"""Whoever loses a race for a job is told to whom."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from jobs.actions.guarded import Wish, carry_out
from jobs.actions.jobs import ACTS, delete_job, retry_job
from jobs.actions.rivals import rival_sentence
from jobs.broker import commands
from jobs.broker.commands import OutcomeUnknown
from jobs.models import AuditEntry, JobType
from tests.support.acts import read

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.parametrize("rq_version", ["3.0"])]

OTHERWISE = "Not done: the job changed since you looked. Look at it again before you decide."


@pytest.fixture
def job_id(real_rq):
    JobType.objects.create(path="fx.boom", idempotency="repeatable")
    return real_rq.fail("fx.boom", 7, job_id="job-7")


@pytest.fixture
def wish_of(orders, job_id):
    """What a person asks for who looked at the job while it had failed."""
    seen = read("job-7").seen

    def wish(person, **changes):
        asked = Wish(actor=person, queue=orders, job_id="job-7", seen=seen, now=datetime.now(UTC))
        return replace(asked, **{"confirmed": "delete", "typed": "boom"}, **changes)

    return wish


def test_the_second_of_two_is_told_who_has_retried_it(operator, superuser, wish_of, redis_client):
    assert retry_job(wish_of(operator)).is_done
    outcome = retry_job(wish_of(superuser))
    assert (outcome.status, outcome.sentence) == ("changed", "Not done: otto has just retried this job.")
    assert redis_client.lrange("rq:queue:orders", 0, -1) == [b"job-7"]


def test_who_would_delete_what_was_just_retried_is_told_so(operator, superuser, wish_of, redis_client):
    assert retry_job(wish_of(operator)).is_done
    assert delete_job(wish_of(superuser)).sentence == "Not done: otto has just retried this job."
    assert redis_client.exists("rq:job:job-7")


def test_who_decided_at_the_same_moment_and_lost_is_told_too(operator, superuser, wish_of, redis_client, monkeypatch):
    """Both have read the job as failed and been allowed; the script lets one of them through."""
    run = commands.requeue_failed

    def let_otto_go_first(target, **options):
        monkeypatch.setattr(commands, "requeue_failed", run)
        assert retry_job(wish_of(operator)).is_done
        return run(target, **options)

    asked = wish_of(superuser)
    monkeypatch.setattr(commands, "requeue_failed", let_otto_go_first)
    outcome = retry_job(asked)
    assert (outcome.status, outcome.sentence) == ("changed", "Not done: otto has just retried this job.")
    assert redis_client.lrange("rq:queue:orders", 0, -1) == [b"job-7"]
    assert sorted(AuditEntry.objects.values_list("actor_name", "status")) == [("otto", "done"), ("root", "changed")]


def test_who_comes_while_another_act_is_not_known_yet_is_told_that(operator, superuser, wish_of, monkeypatch):
    run = commands.requeue_failed

    def without_an_answer(target, **options):
        run(target, **options)
        raise OutcomeUnknown

    with monkeypatch.context() as patch:
        patch.setattr(commands, "requeue_failed", without_an_answer)
        assert retry_job(wish_of(operator)).is_unknown
    assert retry_job(wish_of(superuser)).sentence == "Not done: otto is already retrying this job."


def test_what_changed_by_itself_has_no_rival(operator, wish_of, redis_client):
    redis_client.xadd("rq:results:job-7", {"type": 2, "exc_string": ""})
    assert retry_job(wish_of(operator)).sentence == OTHERWISE


def record(orders, verb="retry_job", **changes):
    return AuditEntry.objects.create(
        **{
            "actor_name": "otto",
            "verb": verb,
            "connection": "default",
            "queue": "orders",
            "subject": "job-7",
            "status": "done",
            "created_at": datetime.now(UTC),
        }
        | changes
    )


@pytest.mark.parametrize(
    "other",
    [
        {"created_at": datetime(2026, 1, 1, tzinfo=UTC)},
        {"status": "refused"},
        {"status": "not_done"},
        {"status": "changed"},
        {"subject": "job-8"},
        {"queue": "payroll"},
        {"connection": "other"},
        {"verb": "declare_job_type"},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_an_old_act_one_that_did_nothing_and_one_elsewhere_are_no_rivals(orders, other, rq_version):
    record(orders, **other)
    assert rival_sentence(orders, "job-7", datetime.now(UTC)) == OTHERWISE


def test_ones_own_entry_is_no_rival(orders, rq_version):
    entry = record(orders)
    assert rival_sentence(orders, "job-7", datetime.now(UTC), but=entry, otherwise="nobody") == "nobody"


def test_an_act_that_was_done_counts_before_one_that_is_not_known(orders, rq_version):
    now = datetime.now(UTC)
    record(orders, created_at=now - timedelta(seconds=9))
    record(orders, verb="delete_job", status="intended", actor_name="root", created_at=now)
    assert rival_sentence(orders, "job-7", now) == "Not done: otto has just retried this job."


@pytest.mark.parametrize("verb", ACTS)
def test_every_act_has_its_words(orders, verb, rq_version):
    for status, word in (("done", "has just"), ("intended", "is already")):
        record(orders, verb=verb, status=status, subject=status)
        assert f"otto {word} " in rival_sentence(orders, status, datetime.now(UTC))


def test_only_acts_carried_out_here_are_spoken_of(operator, wish_of, redis_client):
    """Somebody with RQ's own tools leaves no record: then it has changed, and no more is known."""
    redis_client.zrem("rq:failed:orders", "job-7")
    redis_client.hset("rq:job:job-7", "status", "queued")
    redis_client.rpush("rq:queue:orders", "job-7")
    assert carry_out(ACTS["retry_job"], wish_of(operator)).sentence == OTHERWISE
