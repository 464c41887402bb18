"""Retry and delete, from the wish to the record."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from django.core.exceptions import PermissionDenied

from jobs import ledger
from jobs.actions.guarded import JobNotFound, Wish
from jobs.actions.jobs import delete_job, retry_job
from jobs.broker import commands, connections
from jobs.broker.details import read_job
from jobs.broker.errors import BrokerUnavailable
from jobs.models import AuditEntry, JobType
from jobs.permissions import QueueNotVisible
from tests.support.keyspace import snapshot

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.parametrize("rq_version", ["3.0"])]


@pytest.fixture
def job_id(real_rq):
    return real_rq.fail("fx.boom", 7, job_id="job-7")


@pytest.fixture
def repeatable(db):
    return JobType.objects.create(path="fx.boom", idempotency="repeatable")


def wish(person, queue, job_id, **changes):
    detail = read_job("default", queue.name, job_id, now=datetime.now(UTC))
    seen = detail.seen if detail else "1-1"
    return replace(
        Wish(actor=person, queue=queue, job_id=job_id, seen=seen, reason="because of 42", now=datetime.now(UTC)),
        **changes,
    )


def test_a_repeatable_job_is_put_back_and_the_act_is_on_record(operator, orders, job_id, repeatable, redis_client):
    outcome = retry_job(wish(operator, orders, job_id))
    entry = AuditEntry.objects.get()
    assert outcome.is_done and redis_client.llen("rq:queue:orders") == 1
    assert (entry.actor_name, entry.verb, entry.subject, entry.job_type) == ("otto", "retry_job", "job-7", "fx.boom")
    assert (entry.status, entry.decision_code, entry.reason) == ("done", "repeatable", "because of 42")
    assert redis_client.get(f"opsboard:act:{entry.id}") == b"requeued"
    assert entry.created_at < entry.closed_at < entry.deadline_at


@pytest.mark.parametrize("promise", [None, "undeclared", "unsafe", "keyed", "checkable"])
def test_any_other_promise_is_refused_on_record_and_nothing_moves(operator, orders, job_id, redis_client, promise):
    if promise:
        JobType.objects.create(path="fx.boom", idempotency=promise)
    before = snapshot(redis_client)
    outcome = retry_job(wish(operator, orders, job_id))
    entry = AuditEntry.objects.get()
    assert (outcome.status, entry.status) == ("refused", "refused")
    assert entry.decision_code == "may_have_acted"
    assert snapshot(redis_client) == before


@pytest.mark.parametrize("promise", [None, "repeatable", "unsafe", "keyed", "checkable"])
def test_what_never_began_is_put_back_whatever_its_type(operator, orders, real_rq, redis_client, promise):
    job_id = real_rq.fail("fx_gone.charge", 7)
    if promise:
        JobType.objects.create(path="fx_gone.charge", idempotency=promise)
    assert retry_job(wish(operator, orders, job_id)).is_done
    assert AuditEntry.objects.get().decision_code == "never_started"
    assert redis_client.lrange("rq:queue:orders", 0, -1) == [job_id.encode()]


@pytest.fixture
def keyed(db):
    return JobType.objects.create(path="fx.boom", idempotency="keyed", remembered_for_seconds=3600)


def test_a_keyed_job_is_put_back_once_that_was_confirmed(operator, orders, job_id, keyed, redis_client):
    before = snapshot(redis_client)
    outcome = retry_job(wish(operator, orders, job_id))
    assert outcome.is_unconfirmed and outcome.status == "refused"
    assert snapshot(redis_client) == before
    assert retry_job(wish(operator, orders, job_id, confirmed="same_key")).is_done
    assert redis_client.lrange("rq:queue:orders", 0, -1) == [b"job-7"]
    codes = AuditEntry.objects.order_by("created_at").values_list("status", "decision_code")
    assert list(codes) == [("refused", "unconfirmed"), ("done", "same_key")]


@pytest.mark.parametrize("seconds", [1, 179])
def test_a_keyed_job_that_would_outlast_its_key_is_refused_even_confirmed(
    operator, orders, job_id, keyed, redis_client, seconds
):
    """It may run for 180 seconds."""
    JobType.objects.update(remembered_for_seconds=seconds)
    before = snapshot(redis_client)
    assert retry_job(wish(operator, orders, job_id, confirmed="same_key")).status == "refused"
    assert AuditEntry.objects.get().decision_code == "key_expired"
    assert snapshot(redis_client) == before


DELETE = {"confirmed": "delete", "typed": "boom"}


def test_a_delete_needs_no_promise(operator, orders, job_id, redis_client):
    assert delete_job(wish(operator, orders, job_id, **DELETE)).is_done
    assert not redis_client.exists("rq:job:job-7")
    assert AuditEntry.objects.get().status == "done"


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"confirmed": "delete"},
        {"typed": "boom"},
        {"confirmed": "delete", "typed": "fx.boom"},
        {"confirmed": "retry", "typed": "boom"},
    ],
)
def test_a_delete_that_was_not_confirmed_word_for_word_is_refused_on_record(
    operator, orders, job_id, redis_client, given
):
    before = snapshot(redis_client)
    outcome = delete_job(wish(operator, orders, job_id, **given))
    entry = AuditEntry.objects.get()
    assert outcome.is_unconfirmed
    assert (entry.status, entry.decision_code, entry.reason) == ("refused", "unconfirmed", "because of 42")
    assert snapshot(redis_client) == before


def test_one_of_many_ticked_is_confirmed_with_the_others_and_wants_no_word(operator, orders, job_id, redis_client):
    """How many they are was typed for all of them."""
    batch = uuid4()
    assert delete_job(wish(operator, orders, job_id, confirmed="delete", batch=batch)).is_done
    assert AuditEntry.objects.get().batch == batch
    assert not redis_client.exists("rq:job:job-7")


@pytest.mark.parametrize("act", [retry_job, delete_job])
def test_without_the_right_nothing_is_done_and_the_attempt_is_on_record(
    viewer, orders, job_id, repeatable, redis_client, act
):
    before = snapshot(redis_client)
    with pytest.raises(PermissionDenied):
        act(wish(viewer, orders, job_id))
    assert (AuditEntry.objects.get().status, AuditEntry.objects.get().actor_name) == ("refused", "vera")
    assert snapshot(redis_client) == before


@pytest.mark.parametrize("act", [retry_job, delete_job])
def test_a_queue_one_may_not_see_does_not_exist(outsider, orders, job_id, repeatable, redis_client, act):
    before = snapshot(redis_client)
    with pytest.raises(QueueNotVisible):
        act(wish(outsider, orders, job_id))
    assert AuditEntry.objects.get().status == "refused"
    assert snapshot(redis_client) == before


@pytest.mark.parametrize("act", [retry_job, delete_job])
def test_a_stale_view_is_told_so(operator, orders, job_id, repeatable, redis_client, act):
    before = snapshot(redis_client)
    outcome = act(wish(operator, orders, job_id, seen="1-1"))
    assert outcome.status == "changed" and "changed since you looked" in outcome.sentence
    assert snapshot(redis_client) == before


def test_a_job_that_changes_between_decision_and_act_is_left_alone(
    operator, orders, job_id, repeatable, redis_client, monkeypatch
):
    """The script looks again: the evidence may be a moment old."""
    run = commands.requeue_failed

    def finish_first(target, **options):
        redis_client.hset("rq:job:job-7", "status", "finished")
        return run(target, **options)

    monkeypatch.setattr(commands, "requeue_failed", finish_first)
    assert retry_job(wish(operator, orders, job_id)).status == "changed"
    assert redis_client.llen("rq:queue:orders") == 0


@pytest.mark.parametrize("act", [retry_job, delete_job])
def test_a_job_that_is_not_there_is_not_found_on_record(operator, orders, real_rq, act):
    with pytest.raises(JobNotFound):
        act(wish(operator, orders, "no-such-job"))
    assert AuditEntry.objects.get().status == "refused"


def test_the_intent_is_committed_before_the_script_runs(operator, orders, job_id, repeatable, monkeypatch):
    seen = []

    def look(target, **options):
        seen.extend(AuditEntry.objects.filter(id=target.audit_id).values_list("status", "deadline_at"))
        return "done"

    monkeypatch.setattr(commands, "requeue_failed", look)
    retry_job(wish(operator, orders, job_id))
    ((status, deadline),) = seen
    assert status == "intended" and deadline > datetime.now(UTC)


def test_what_was_settled_while_the_answer_came_is_said_as_it_is_on_record(
    operator, orders, job_id, repeatable, monkeypatch
):
    def settle_first(target, **options):
        entry = AuditEntry.objects.get(id=target.audit_id)
        ledger.close_entry(entry, status="not_done", outcome="Never carried out.", now=datetime.now(UTC))
        return "changed"

    monkeypatch.setattr(commands, "requeue_failed", settle_first)
    outcome = retry_job(wish(operator, orders, job_id))
    assert (outcome.status, outcome.sentence) == ("not_done", "Never carried out.")


def test_a_silent_store_leaves_the_entry_open_and_says_so(
    operator, orders, job_id, repeatable, redis_client, monkeypatch
):
    run = commands.requeue_failed

    def pause_first(target, **options):
        redis_client.client_pause(4000)
        return run(target, **options)

    monkeypatch.setattr(commands, "requeue_failed", pause_first)
    asked = wish(operator, orders, job_id)
    outcome = retry_job(asked)
    assert outcome.is_unknown and outcome.sentence.startswith("Not known yet")
    assert AuditEntry.objects.get().status == "intended"
    connections.reset()
    # The server wakes after the deadline, reads the script from its socket, and does nothing.
    assert redis_client.llen("rq:queue:orders") == 0 and redis_client.zscore("rq:failed:orders", "job-7")
    assert not commands.marks("default", [str(outcome.entry.id)])


def test_an_unreachable_store_is_said_before_anything_is_attempted(operator, orders, job_id, repeatable, settings):
    asked = wish(operator, orders, job_id)
    settings.OPSBOARD_CONNECTIONS = {"default": {"url": "redis://:secret-pw@127.0.0.1:1/0"}}
    connections.reset()
    with pytest.raises(BrokerUnavailable) as raised:
        retry_job(asked)
    entry = AuditEntry.objects.get()
    assert entry.status == "refused" and entry.outcome.startswith("Not done")
    assert "secret" not in f"{raised.value}{entry.outcome}" and "127.0.0.1" not in f"{raised.value}{entry.outcome}"


def test_a_read_only_store_does_nothing_and_the_entry_is_closed(operator, orders, job_id, repeatable, redis_client):
    asked = wish(operator, orders, job_id)
    redis_client.config_set("min-replicas-to-write", "1")
    try:
        outcome = retry_job(asked)
    finally:
        redis_client.config_set("min-replicas-to-write", "0")
    assert outcome.status == AuditEntry.objects.get().status == "not_done"
    assert redis_client.llen("rq:queue:orders") == 0
