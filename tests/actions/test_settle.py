"""Entries that were left open are closed by what their acts left in Redis."""

from __future__ import annotations

import re
import uuid
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from jobs import ledger
from jobs.actions import settle
from jobs.actions.guarded import Wish
from jobs.actions.jobs import retry_job
from jobs.actions.settle import MARKS, settle_open_entries
from jobs.broker import commands, connections
from jobs.broker.details import read_job
from jobs.broker.errors import BrokerUnavailable
from jobs.models import AuditEntry, JobType
from opsboard.runner.valkey import free_port
from tests.support.traffic import count_traffic

pytestmark = pytest.mark.django_db
SCRIPTS = Path(commands.__file__).parent / "lua"
LIFE = timedelta(seconds=commands.MARK_SECONDS)


@pytest.fixture
def rq_version():
    return "3.0"


@pytest.fixture
def dead_store(settings):
    """The connection `default` leads to a port where nobody listens."""
    settings.OPSBOARD_CONNECTIONS = {"default": {"url": f"redis://127.0.0.1:{free_port()}/0"}}
    connections.reset()


def open_entry(over=timedelta(minutes=5), *, connection="default", subject="job-7"):
    """An act whose deadline is over for so long."""
    at = datetime.now(UTC) - over
    return AuditEntry.objects.create(
        actor_name="otto",
        verb="retry_job",
        connection=connection,
        queue="orders",
        subject=subject,
        created_at=at - timedelta(seconds=3),
        deadline_at=at,
    )


def mark(client, entry, said="requeued"):
    client.set(f"opsboard:act:{entry.pk}", said)


def settled(**options):
    return settle_open_entries(now=datetime.now(UTC), **options)


def told(entry):
    entry.refresh_from_db()
    return entry.status, entry.outcome


@pytest.mark.parametrize("said", MARKS)
def test_a_mark_means_done_and_the_outcome_says_what_was_done_and_how_it_is_known(redis_client, said):
    entry = open_entry()
    mark(redis_client, entry, said)
    assert settled().closed == {"done": 1}
    assert told(entry) == ("done", f"Settled later, from its mark in the job store: {MARKS[said]}.")


def test_every_mark_of_the_scripts_has_its_words():
    left = {
        word for path in SCRIPTS.glob("*.lua") for word in re.findall(r"leave_mark\w*\('(.+?)'\)", path.read_text())
    }
    assert left == set(MARKS)


def test_no_mark_after_the_deadline_means_that_it_never_happened(redis_client):
    entry = open_entry()
    assert settled().closed == {"not_done": 1}
    assert told(entry)[0] == "not_done" and "never carried out" in told(entry)[1]
    assert entry.closed_at is not None


def test_an_entry_without_a_deadline_is_judged_by_its_age(redis_client):
    old, new = (
        AuditEntry.objects.create(
            actor_name="otto", verb="retry_job", connection="default", subject="a", created_at=datetime.now(UTC) - age
        )
        for age in (timedelta(minutes=5), timedelta(0))
    )
    settled()
    assert (told(old)[0], told(new)[0]) == ("not_done", "intended")


def test_a_mark_of_another_act_says_nothing_of_this_one(redis_client):
    done, undone = open_entry(subject="a"), open_entry(subject="b")
    mark(redis_client, done)
    settled()
    assert (told(done)[0], told(undone)[0]) == ("done", "not_done")


@pytest.mark.parametrize("over", [timedelta(seconds=-3), timedelta(0), settle.MARGIN / 2])
def test_what_is_not_surely_over_stays_open_even_if_its_mark_is_there(redis_client, over):
    entry = open_entry(over)
    mark(redis_client, entry)
    result = settled()
    assert (result.closed, result.left, result.silent) == ({}, {"default": 1}, {})
    assert told(entry) == ("intended", "")


def test_the_clock_is_that_of_the_store(redis_client, monkeypatch):
    entry = open_entry()
    monkeypatch.setattr(commands, "server_time", lambda name: entry.deadline_at)
    assert settled().closed == {}
    monkeypatch.setattr(commands, "server_time", lambda name: entry.deadline_at + settle.MARGIN * 2)
    assert settle_open_entries(now=entry.created_at - timedelta(days=99)).closed == {"not_done": 1}


@pytest.mark.parametrize(
    ("over", "status"),
    [(LIFE - settle.LIFE_MARGIN * 2, "not_done"), (LIFE, "unsettled"), (LIFE * 9, "unsettled")],
)
def test_when_no_mark_would_be_left_its_absence_says_nothing(redis_client, over, status):
    entry = open_entry(over)
    assert settled().closed == {status: 1}
    assert told(entry)[0] == status


def test_a_mark_is_believed_at_any_age(redis_client):
    entry = open_entry(LIFE * 2)
    mark(redis_client, entry)
    settled()
    assert told(entry)[0] == "done"


def test_what_a_silent_store_would_know_stays_open_until_nothing_could_be_left(dead_store):
    young, old = open_entry(), open_entry(LIFE + settle.LIFE_MARGIN * 2)
    result = settled()
    assert (told(young)[0], told(old)[0]) == ("intended", "unsettled")
    assert (result.closed, result.left) == ({"unsettled": 1}, {"default": 1})
    assert "can't be reached" in result.silent["default"]


def test_a_store_that_falls_silent_in_between_settles_nothing_more(redis_client, monkeypatch):
    first, second = open_entry(timedelta(minutes=9)), open_entry()
    mark(redis_client, first)
    read = commands.marks

    def fall_silent(name, ids):
        if str(second.pk) in ids:
            raise BrokerUnavailable(name, "no connection")
        return read(name, ids)

    monkeypatch.setattr(settle, "BATCH", 1)
    monkeypatch.setattr(commands, "marks", fall_silent)
    result = settled()
    assert (result.closed, result.left) == ({"done": 1}, {"default": 1})
    assert told(second)[0] == "intended"


def test_a_connection_that_is_no_longer_configured_is_waited_for_as_long(redis_client):
    young, old = open_entry(connection="former"), open_entry(LIFE * 2, connection="former")
    here = open_entry()
    result = settled()
    assert (told(young)[0], told(old)[0], told(here)[0]) == ("intended", "unsettled", "not_done")
    assert result.left == {"former": 1} and "former" in result.silent["former"]


def test_only_the_connections_asked_for_are_settled(redis_client):
    entry, other = open_entry(), open_entry(connection="former")
    assert settled(connections=["default"]).silent == {}
    assert (told(entry)[0], told(other)[0]) == ("not_done", "intended")


def test_closed_entries_are_left_alone(redis_client, operator):
    entry = ledger.record_refusal(
        actor=operator, verb="retry_job", subject="a", connection="default", outcome="No.", now=datetime.now(UTC)
    )
    mark(redis_client, entry)
    assert settled() == settle.Settled()
    assert told(entry) == ("refused", "No.")


def test_who_closes_an_entry_first_has_the_say(redis_client, monkeypatch):
    entry, read = open_entry(), commands.marks

    def come_first(name, ids):
        ledger.close_entry(entry, status="changed", outcome="It changed.", now=datetime.now(UTC))
        return read(name, ids)

    monkeypatch.setattr(commands, "marks", come_first)
    assert settled().closed == {}
    assert told(entry) == ("changed", "It changed.")


def test_many_are_settled_oldest_first_in_one_round_trip_for_each_batch(redis_client, monkeypatch):
    entries = [open_entry(timedelta(minutes=number)) for number in (2, 5, 3, 4, 6)]
    asked, read = [], commands.marks
    monkeypatch.setattr(settle, "BATCH", 2)
    monkeypatch.setattr(commands, "marks", lambda name, ids: asked.append(ids) or read(name, ids))
    assert settled().closed == {"not_done": 5}
    oldest_first = [str(entry.pk) for entry in sorted(entries, key=lambda entry: entry.deadline_at)]
    assert asked == [oldest_first[:2], oldest_first[2:4], oldest_first[4:]]


def test_marks_are_read_in_one_round_trip(redis_client):
    ids = [str(uuid.uuid4()) for _ in range(200)]
    redis_client.set(f"opsboard:act:{ids[7]}", "requeued")
    with count_traffic(redis_client) as traffic:
        assert commands.marks("default", ids) == {ids[7]: "requeued"}
    assert (traffic.round_trips, traffic.by_command) == (1, {"get": 200})


@pytest.mark.django_db(transaction=True)
def test_an_act_whose_answer_was_lost_is_settled_from_what_it_did(real_rq, redis_client, operator, orders, monkeypatch):
    JobType.objects.create(path="fx.boom", idempotency="repeatable")
    job_id, run = real_rq.fail("fx.boom", 7), commands.requeue_failed

    def lose_the_answer(target, **options):
        assert run(target, **options) == "done"
        raise commands.OutcomeUnknown

    monkeypatch.setattr(commands, "requeue_failed", lose_the_answer)
    detail = read_job("default", "orders", job_id, now=datetime.now(UTC))
    outcome = retry_job(Wish(actor=operator, queue=orders, job_id=job_id, seen=detail.seen, now=datetime.now(UTC)))
    assert outcome.is_unknown
    later = datetime.now(UTC) + timedelta(minutes=2)
    monkeypatch.setattr(commands, "server_time", lambda name: later)
    settled()
    assert told(outcome.entry)[0] == "done" and "put back on its queue" in outcome.entry.outcome


def run_command():
    out = StringIO()
    call_command("settle_audit", stdout=out)
    return out.getvalue()


def test_the_command_says_what_it_settled(redis_client):
    mark(redis_client, open_entry())
    open_entry()
    open_entry(LIFE * 2)
    open_entry(timedelta(0))
    assert run_command() == (
        "3 settled: 1 done, 1 never carried out, 1 never to be known. 1 still within their deadline.\n"
    )
    assert run_command().startswith("0 settled")


def test_the_command_fails_while_a_store_can_not_be_asked(dead_store):
    assert run_command().startswith("0 settled")
    open_entry()
    with pytest.raises(CommandError, match=r"can't be reached.*stay open there: 1") as failure:
        run_command()
    assert failure.value.returncode == 1


def test_the_command_does_not_fail_over_what_it_could_give_up(dead_store):
    open_entry(LIFE * 2)
    assert "1 never to be known" in run_command()
