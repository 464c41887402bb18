"""The observing process, pass by pass, by a clock that the tests drive."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import DataError, OperationalError
from django.utils import timezone

from jobs.broker import connections
from jobs.domain.watch import WatchReport
from jobs.ledger.observing import observer_state
from jobs.models import AuditEntry, Queue
from jobs.observer import duties, failures, watch
from jobs.observer.duties import Duty
from jobs.observer.loop import Observer
from tests.observer.rows import ids, row
from tests.support.audit import entry

pytestmark = pytest.mark.django_db(transaction=True)


class Clock:
    """Stands still until it is told to go on."""

    def __init__(self):
        self.now = timezone.now()

    def __call__(self):
        return self.now

    def go_on(self, seconds=1.0):
        self.now += timedelta(seconds=seconds)
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def observer(failing, clock):
    return Observer(clock)


def report(connection="default"):
    return WatchReport.from_json(observer_state().report[connection])


def do_pass(observer, clock, seconds=1.0):
    """One whole pass, and the beginning of the next one, with which goes what there is to say of it."""
    clock.go_on(seconds)
    observer.do_pass(until=None)
    observer.do_pass(until=time.monotonic())


def test_a_pass_finds_what_failed_and_says_how_far_it_is(observer, failing, clock):
    failing.fail("old", at=clock.now.timestamp() - 3600)
    failing.fail("new", at=clock.now.timestamp())
    do_pass(observer, clock)
    assert ids() == ["new", "old"]
    said = report()
    assert (said.passed_at, said.swept_at, said.error) == (clock.now, clock.now, "")
    assert (said.done, said.total, said.is_filling) == (2, 2, False)
    assert observer_state().last_pass_at == clock.now


@pytest.mark.parametrize("ttl", [-1, 60, 3600, 7 * 86_400])
def test_a_failure_of_any_time_to_live_is_seen_within_a_minute(observer, failing, clock, ttl):
    do_pass(observer, clock)
    failing.fail("a", at=clock.now.timestamp(), ttl=ttl)
    for _second in range(60):
        clock.go_on()
        observer.do_pass(until=None)
        if ids():
            break
    assert ids() == ["a"]


def test_what_left_is_noticed_within_a_minute(observer, failing, redis_client, clock):
    failing.fail("a")
    do_pass(observer, clock)
    redis_client.zrem("rq:failed:orders", "a")
    redis_client.delete("rq:job:a")
    for _second in range(60):
        clock.go_on()
        observer.do_pass(until=None)
    assert row("a").place == "gone"


def test_the_first_fill_says_how_far_it_has_come_and_lets_new_failures_pass(observer, failing, clock, monkeypatch):
    monkeypatch.setattr(failures, "BATCH", 20)
    monkeypatch.setattr("jobs.broker.watching.SCAN_COUNT", 20)
    failing.fail(*[f"old-{number:04}" for number in range(200)], at=clock.now.timestamp() - 3600)
    observer.do_pass(until=time.monotonic())
    failing.fail("new", at=clock.now.timestamp())
    clock.go_on()
    observer.do_pass(until=time.monotonic())
    assert "new" in ids() and len(ids()) < 150
    assert report().is_filling and report().total == 200 and 0 < report().done < 100
    do_pass(observer, clock)
    assert len(ids()) == 201 and not report().is_filling


def test_how_far_the_index_goes_back_is_remembered_over_a_restart(observer, failing, clock):
    do_pass(observer, clock)
    swept_at = report().swept_at
    observer.run_once()
    clock.go_on()
    Observer(clock).do_pass(until=time.monotonic())
    assert report().swept_at >= swept_at and not report().is_filling


# Trouble --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def away(observer, settings, valkey):
    """A second connection, whose store does not answer; returns what brings it back."""
    there = {"url": valkey.url, "read_url": None, "prefix": "rq"}

    def configure(url):
        settings.OPSBOARD_CONNECTIONS = {"away": {**there, "url": url}, "default": there}
        connections.reset()

    configure("redis://127.0.0.1:1/0")
    return lambda: configure(valkey.url)


def test_a_store_that_does_not_answer_stops_nothing_else_and_is_asked_again(observer, failing, clock, away):
    failing.fail("a", at=clock.now.timestamp())
    do_pass(observer, clock)
    assert ids(connection="default") == ["a"]
    assert report("away").error == "The job store “away” can't be reached: no connection."
    assert (report("away").passed_at, report("default").error) == (None, "")
    away()
    do_pass(observer, clock, seconds=6)
    assert ids(connection="away") == ["a"]
    assert report("away").error == ""


def test_an_account_that_may_not_go_through_lists_is_named_with_the_remedy(
    observer, failing, redis_client, clock, settings, valkey
):
    redis_client.acl_setuser(
        "reader", enabled=True, nopass=True, keys=["*"], categories=["+@all"], commands=["-scan", "-zscan"]
    )
    url = valkey.url.replace("://", "://reader:any@")
    settings.OPSBOARD_CONNECTIONS = {"default": {"url": valkey.url, "read_url": url, "prefix": "rq"}}
    connections.reset()
    failing.fail("new", at=clock.now.timestamp())
    do_pass(observer, clock)
    redis_client.acl_deluser("reader")
    assert ids() == ["new"]
    assert "lacks +scan and +zscan; see deploy/redis-acl.conf" in report().error
    assert report().is_filling


def test_a_database_that_is_locked_ends_the_pass_in_one_line_and_the_next_does_what_was_left(
    observer, failing, clock, monkeypatch, caplog
):
    failing.fail("a", at=clock.now.timestamp())
    write, passes = failures.note_failures, []

    def locked(*_asked):
        monkeypatch.setattr(failures, "note_failures", write)
        raise OperationalError("database is locked")

    monkeypatch.setattr(failures, "note_failures", locked)
    monkeypatch.setattr(observer, "_rest", lambda until: (passes.append(ids()), len(passes) > 1 and observer.stop()))
    observer.run()
    assert passes == [[], ["a"]]
    assert [(one.getMessage(), one.exc_info) for one in caplog.records if "database" in one.getMessage()] == [
        ("the database can't be used, so this pass is given up: OperationalError", None)
    ]


@pytest.mark.parametrize("flaw", [KeyError, DataError])
def test_a_flaw_in_one_duty_is_reported_without_its_values_and_stops_no_other(
    observer, failing, clock, monkeypatch, flaw
):
    def flawed(connection, now):
        raise flaw("card 4711")

    monkeypatch.setattr(watch, "PER_CONNECTION", (Duty("flawed", timedelta(0), flawed), *duties.PER_CONNECTION))
    failing.fail("a", at=clock.now.timestamp())
    Queue.objects.create(connection="default", name="first")
    do_pass(observer, clock)
    assert ids() == ["a"] and Queue.objects.filter(name="orders").exists()
    assert f"{flaw.__name__} in test_loop.py" in report().error and "4711" not in report().error


# Several, and their ends ----------------------------------------------------------------------------------------------


def test_a_second_observer_waits_and_takes_over_when_the_first_has_stopped(observer, failing, clock, caplog):
    second = Observer(clock)
    observer.do_pass(until=None)
    failing.fail("a", at=clock.now.timestamp())
    for _twice in range(2):
        assert not second.do_pass(until=None)
    assert ids() == []
    assert [one.getMessage() for one in caplog.records] == [
        "another observer leads; this one waits until that has stopped"
    ]
    observer.run_once()
    assert second.do_pass(until=None)


def test_one_that_leads_again_does_not_say_that_its_last_pass_was_the_last(observer, failing, clock, monkeypatch):
    observer.run_once()
    clock.go_on(60)
    Observer(clock).run_once()
    last_pass_at = observer_state().last_pass_at

    def away(_watch):
        raise OperationalError("database is locked")

    monkeypatch.setattr(watch.Watch, "look", away)
    for _twice in range(2):
        with pytest.raises(OperationalError):
            observer.do_pass(until=None)
    assert last_pass_at == observer_state().last_pass_at == clock.now


def test_it_ends_after_the_batch_that_is_being_done_and_another_goes_on_from_there(
    observer, failing, clock, monkeypatch
):
    failing.fail(*[f"j-{number:02}" for number in range(30)], at=clock.now.timestamp())
    monkeypatch.setattr(failures, "BATCH", 10)
    write = failures.note_failures
    monkeypatch.setattr(failures, "note_failures", lambda *what: (write(*what), observer.stop()))
    observer.run()
    assert len(ids()) == 10
    assert observer_state().holder is None
    monkeypatch.undo()
    Observer(clock).run_once()
    assert len(ids()) == 30


def test_an_observer_whose_lease_was_taken_over_stops_in_the_middle(observer, failing, clock, monkeypatch):
    failing.fail(*[f"j-{number:02}" for number in range(30)], at=clock.now.timestamp())
    monkeypatch.setattr(failures, "BATCH", 10)
    write, second = failures.note_failures, Observer(clock)

    def sleepy(*what):
        write(*what)
        monkeypatch.setattr(failures, "note_failures", write)
        clock.go_on(20)
        second.do_pass(until=time.monotonic())

    monkeypatch.setattr(failures, "note_failures", sleepy)
    assert observer.do_pass(until=None)
    assert observer_state().holder == second._lease.holder
    assert len(ids()) == 30


# The command ----------------------------------------------------------------------------------------------------------


def test_once_brings_everything_up_to_date_and_ends(observer, failing, redis_client, capsys):
    failing.fail("a", "b")
    call_command("observe", "--once")
    redis_client.zrem("rq:failed:orders", "a")
    redis_client.delete("rq:job:a")
    call_command("observe", "--once")
    assert (ids(place="gone"), ids(place="failed")) == (["a"], ["b"])
    assert capsys.readouterr().out == ""
    assert observer_state().holder is None


def test_once_beside_an_observer_at_work_does_nothing_and_says_so(failing, capsys):
    Observer().do_pass(until=time.monotonic())
    failing.fail("a")
    call_command("observe", "--once")
    assert ids() == []
    assert capsys.readouterr().out == "Nothing to do: another observer is at work.\n"


def test_once_fails_with_the_reason_when_a_store_does_not_answer(failing, away):
    failing.fail("a")
    with pytest.raises(CommandError, match="The job store “away” can't be reached"):
        call_command("observe", "--once")
    assert ids(connection="default") == ["a"]


# What it does besides -------------------------------------------------------------------------------------------------


def test_an_act_left_open_is_settled(observer, clock):
    opened = entry(clock.now, ago=600, status="intended", closed_at=None)
    do_pass(observer, clock)
    opened.refresh_from_db()
    assert opened.status == AuditEntry.Status.NOT_DONE


def test_a_new_queue_is_put_on_record_and_given_to_nobody(observer, failing, clock, viewer, sign_in):
    failing.fail("a", queue="fresh")
    do_pass(observer, clock)
    fresh = Queue.objects.get(name="fresh")
    assert not viewer.has_perm("opsboard_jobs.view_queue", fresh)


def test_before_the_first_access_is_given_no_queue_is_put_on_record(observer, failing, clock):
    """They come with it: whoever finds queues on record takes the first run for over."""
    failing.fail("a")
    do_pass(observer, clock)
    assert not Queue.objects.exists()
    assert ids() == ["a"]
