"""One press on many jobs: each by itself, in order, on record, and an end to it when the store falls silent."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from django.core.exceptions import PermissionDenied
from guardian.shortcuts import assign_perm

from jobs.actions import ticked
from jobs.actions.ticked import Press, carry_out_each, turn_away
from jobs.broker import commands, connections, running
from jobs.broker.details import read_job
from jobs.domain.ticks import Tick
from jobs.models import AuditEntry, JobType
from jobs.permissions import QueueNotVisible
from tests.support.keyspace import snapshot

pytestmark = pytest.mark.django_db(transaction=True)

VERBS = ["retry_job", "delete_job", "cancel_job", "enqueue_job"]


@pytest.fixture
def rq_version():
    return "3.0"


@pytest.fixture
def jobs(real_rq):
    """Four failed jobs, in the order of their ids."""
    JobType.objects.create(path="fx.boom", idempotency="repeatable")
    for number in range(4):
        real_rq.enqueue("fx.boom", number, job_id=f"job-{number}")
    real_rq.burst()
    return [f"job-{number}" for number in range(4)]


@pytest.fixture
def press(operator):
    """A press of otto's, or of somebody else, on jobs as they are now."""

    def made(verb, job_ids, actor=operator, **more):
        return Press(actor=actor, connection="default", verb=verb, ticks=[tick(one, verb) for one in job_ids], **more)

    return made


def tick(job_id, verb, queue="orders"):
    detail = read_job("default", queue, job_id, now=datetime.now(UTC))
    confirmed = {"delete_job": "delete", "cancel_job": "cancel"}.get(verb, "")
    return Tick(queue, job_id, detail.seen if detail else "1-1", confirmed)


def told():
    """What is on record, in the order in which it was done."""
    return list(AuditEntry.objects.order_by("created_at").values_list("subject", "status", "decision_code"))


def test_each_job_is_retried_in_the_order_of_the_list(jobs, press, redis_client):
    order = [jobs[2], jobs[0], jobs[3]]
    carry_out_each(press("retry_job", order))
    assert [one.decode() for one in redis_client.lrange("rq:queue:orders", 0, -1)] == order
    assert [(subject, status) for subject, status, _code in told()] == [(one, "done") for one in order]


def test_each_job_is_deleted(jobs, press, redis_client):
    carry_out_each(press("delete_job", jobs[:3]))
    assert redis_client.zrange("rq:failed:orders", 0, -1) == [b"job-3"]
    assert {(status, code) for _subject, status, code in told()} == {("done", "delete")}


def test_each_job_that_waits_is_cancelled(real_rq, press, redis_client):
    waiting = [real_rq.enqueue("fx.ok", 1), real_rq.enqueue("fx.ok", 2, seconds=3600)]
    carry_out_each(press("cancel_job", waiting))
    assert [redis_client.hget(f"rq:job:{one}", "status") for one in waiting] == [b"canceled", b"canceled"]
    assert redis_client.llen("rq:queue:orders") == 0


def test_each_job_that_is_scheduled_is_queued_now(real_rq, press, redis_client):
    later = [real_rq.enqueue("fx.ok", number, seconds=3600) for number in range(2)]
    carry_out_each(press("enqueue_job", later))
    assert [one.decode() for one in redis_client.lrange("rq:queue:orders", 0, -1)] == later


def test_what_became_of_one_does_not_keep_the_others(jobs, press, redis_client):
    asked = press("retry_job", [*jobs, "no-such-job"])
    redis_client.xadd(f"rq:results:{jobs[0]}", {"type": 2, "exc_string": ""})
    redis_client.delete(f"rq:job:{jobs[1]}")
    JobType.objects.update(idempotency="repeatable")
    carry_out_each(asked)
    assert [(subject, status) for subject, status, _code in told()] == [
        (jobs[0], "changed"),
        (jobs[1], "changed"),
        (jobs[2], "done"),
        (jobs[3], "done"),
        ("no-such-job", "refused"),
    ]
    assert [code for _subject, _status, code in told()][0::4] == ["changed", "gone"]


@pytest.mark.parametrize("promise", ["undeclared", "unsafe"])
def test_what_may_not_be_run_again_is_refused_each_by_its_rule(jobs, press, redis_client, promise):
    JobType.objects.update(idempotency=promise)
    asked, before = press("retry_job", jobs), snapshot(redis_client)
    carry_out_each(asked)
    assert {status for _subject, status, _code in told()} == {"refused"} and len(told()) == 4
    assert snapshot(redis_client) == before


@pytest.mark.parametrize("confirmed", ["", "same_key"])
def test_what_wants_to_be_confirmed_is_left_for_its_own_page(jobs, operator, redis_client, confirmed):
    JobType.objects.update(idempotency="keyed", remembered_for_seconds=3600)
    ticks = [replace(tick(one, "retry_job"), confirmed=confirmed) for one in jobs]
    before = snapshot(redis_client)
    carry_out_each(Press(actor=operator, connection="default", verb="retry_job", ticks=ticks))
    assert {(status, code) for _subject, status, code in told()} == {("refused", "unconfirmed")}
    assert snapshot(redis_client) == before


@pytest.mark.parametrize("verb", ["delete_job", "cancel_job"])
def test_what_nobody_was_asked_about_is_not_done(jobs, real_rq, operator, redis_client, verb):
    job_id = jobs[0] if verb == "delete_job" else real_rq.enqueue("fx.ok", 1)
    ticks, before = [replace(tick(job_id, verb), confirmed="")], snapshot(redis_client)
    carry_out_each(Press(actor=operator, connection="default", verb=verb, ticks=ticks))
    assert [code for _subject, _status, code in told()] == ["unconfirmed"]
    assert snapshot(redis_client) == before


def test_a_job_that_is_ticked_more_than_once_counts_once(jobs, press, redis_client):
    asked = press("retry_job", [jobs[1], jobs[0], jobs[1], jobs[1]])
    assert [one.job_id for one in asked.ticks] == [jobs[1], jobs[0]]
    carry_out_each(asked)
    assert len(told()) == 2 and redis_client.llen("rq:queue:orders") == 2


def test_an_id_in_two_queues_is_two_jobs(press):
    ticks = [Tick("orders", "a", "1-1"), Tick("mail", "a", "1-1")]
    assert list(Press(actor=None, connection="default", verb="retry_job", ticks=ticks).ticks) == ticks


def test_all_entries_say_of_which_press_they_are_and_why(jobs, press):
    asked = press("retry_job", [*jobs[:2], "no-such-job"], reason="because of 42")
    carry_out_each(asked)
    assert set(AuditEntry.objects.values_list("batch", "reason")) == {(asked.batch, "because of 42")}


def test_two_presses_are_two(jobs, press):
    asked = [press("retry_job", [job_id]) for job_id in jobs[:2]]
    for one in asked:
        carry_out_each(one)
    assert set(AuditEntry.objects.values_list("batch", flat=True)) == {one.batch for one in asked}
    assert asked[0].batch != asked[1].batch


# A store that falls silent --------------------------------------------------------------------------------------------


def test_the_first_that_is_not_answered_ends_it(jobs, press, redis_client, monkeypatch):
    run, calls = commands.requeue_failed, []

    def pause_second(target, **options):
        calls.append(target.job_id)
        if len(calls) == 2:
            redis_client.client_pause(4000)
        return run(target, **options)

    monkeypatch.setattr(commands, "requeue_failed", pause_second)
    carry_out_each(press("retry_job", jobs))
    assert calls == jobs[:2]
    assert [(status, code) for _subject, status, code in told()][2:] == [("refused", "not_tried")] * 2
    assert [status for _subject, status, _code in told()][:2] == ["done", "intended"]
    connections.reset()


def test_a_store_that_is_gone_is_asked_once(jobs, press, settings, monkeypatch):
    asked, reads = press("retry_job", jobs), []
    settings.OPSBOARD_CONNECTIONS = {"default": {"url": "redis://127.0.0.1:1/0"}}
    connections.reset()
    store_time = running.store_time
    monkeypatch.setattr(running, "store_time", lambda name: reads.append(name) or store_time(name))
    carry_out_each(asked)
    assert len(reads) == 1
    assert [code for _subject, _status, code in told()] == ["", "not_tried", "not_tried", "not_tried"]


def test_a_store_that_is_only_slow_is_given_so_much_time(jobs, press, redis_client, monkeypatch):
    monkeypatch.setattr(ticked, "PATIENCE_SECONDS", 0.0)
    carry_out_each(press("retry_job", jobs))
    assert redis_client.lrange("rq:queue:orders", 0, -1) == [b"job-0"]
    assert [code for _subject, _status, code in told()] == ["repeatable", "not_tried", "not_tried", "not_tried"]


# Who may --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("do", [carry_out_each, turn_away])
def test_without_the_right_each_is_refused_on_record(jobs, press, viewer, redis_client, verb, do):
    asked, before = press(verb, jobs, actor=viewer), snapshot(redis_client)
    with pytest.raises(PermissionDenied):
        do(asked)
    assert [(subject, status) for subject, status, _code in told()] == [(one, "refused") for one in jobs]
    assert snapshot(redis_client) == before


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("do", [carry_out_each, turn_away])
def test_queues_that_one_may_not_see_do_not_exist(jobs, press, outsider, redis_client, verb, do):
    asked, before = press(verb, jobs, actor=outsider), snapshot(redis_client)
    with pytest.raises(QueueNotVisible):
        do(asked)
    assert len(told()) == 4 and snapshot(redis_client) == before


def test_a_right_in_one_queue_is_none_in_the_other(jobs, real_rq, press, operator, payroll, redis_client):
    assign_perm("view_queue", operator, payroll)
    real_rq.fail("fx.boom", 9, queue="payroll", job_id="pay-1")
    ticks = [tick("pay-1", "retry_job", "payroll"), tick(jobs[0], "retry_job")]
    asked = Press(actor=operator, connection="default", verb="retry_job", ticks=ticks)
    carry_out_each(asked)
    assert [(subject, status) for subject, status, _code in told()] == [("pay-1", "refused"), (jobs[0], "done")]
    assert redis_client.llen("rq:queue:payroll") == 0


def test_before_it_asks_it_turns_away_what_may_not_be_done(jobs, press, operator, payroll):
    assign_perm("view_queue", operator, payroll)
    ticks = [Tick("payroll", "pay-1", "1-1"), Tick("hidden", "x", "1-1"), tick(jobs[0], "delete_job")]
    admitted, refused = turn_away(Press(actor=operator, connection="default", verb="delete_job", ticks=ticks))
    assert [one.job_id for one in admitted] == [jobs[0]]
    assert [one.subject for one in refused] == ["pay-1"]
    assert [subject for subject, _status, _code in told()] == ["pay-1", "x"]
