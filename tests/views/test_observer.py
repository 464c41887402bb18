"""The observer's page: whether it keeps up, and what keeps it from reading."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from jobs.broker import connections
from jobs.domain.watch import WatchReport
from jobs.models import AuditEntry, ObserverState
from tests.support.observer_state import observer_looked
from tests.support.pages import Page, at
from tests.support.traffic import count_traffic

pytestmark = pytest.mark.django_db
HERE = at("observer")
TWO = {"default": {"url": "redis://127.0.0.1:1/0"}, "billing": {"url": "redis://127.0.0.1:1/0"}}


@pytest.fixture
def browser(orders, browser_of):
    return browser_of("viewer")


@pytest.fixture
def two_stores(settings):
    settings.OPSBOARD_CONNECTIONS = TWO
    connections.reset()


def read(browser):
    answer = browser.get(HERE)
    assert answer.status_code == 200
    return Page(answer).text


@pytest.mark.parametrize("method", ["post", "put", "delete"])
def test_it_takes_no_other_method_than_get(browser, method):
    assert getattr(browser, method)(HERE).status_code == 405


def test_one_that_keeps_up_is_said_to_with_its_last_look(browser):
    observer_looked()
    text = read(browser)
    assert "The observer keeps up: what fails is on record within seconds." in text
    assert "State keeps up" in text and "Last look just now" in text and "Leads since 3 h ago" in text


@pytest.mark.parametrize(
    ("ago", "state", "remedy"),
    [
        (45, "late", "Its log says what it waits for"),
        (300, "absent", "It is one process beside the web process, with the same settings: manage.py observe."),
    ],
)
def test_one_that_does_not_look_is_said_to_with_what_to_do(browser, ago, state, remedy):
    observer_looked(timedelta(seconds=ago))
    text = read(browser)
    assert f"State {state}" in text and remedy in text and "no observer leads now" in text


def test_before_any_has_looked_it_says_how_to_start_one(browser):
    assert not ObserverState.objects.exists()
    text = read(browser)
    assert "No observer has looked yet." in text and "manage.py observe" in text and "Last look none yet" in text


def test_one_that_has_just_begun_is_given_its_time(browser):
    now = timezone.now()
    ObserverState.objects.create(leads_since=now, lease_until=now + timedelta(seconds=15))
    text = read(browser)
    assert "State starting" in text and "It has just begun" in text and "keeps up" not in text


@pytest.mark.parametrize(
    ("role", "is_told"), [("viewer", False), ("operator", False), ("lead", True), ("superuser", True)]
)
def test_host_and_process_are_for_who_reads_the_audit(browser_of, orders, role, is_told):
    observer_looked()
    text = read(browser_of(role))
    assert ("Where watchtower, pid 4242" in text) is is_told
    assert ("watchtower" in text, "4242" in text) == (is_told, is_told)


def test_who_may_see_no_queue_sees_the_state_and_no_connection(browser_of):
    observer_looked(default=WatchReport(passed_at=timezone.now(), error="It may not SCAN."))
    page = Page(browser_of("outsider").get(HERE))
    assert "State keeps up" in page.text
    assert page.rows() == [] and "default" not in page.text and "SCAN" not in page.text


def test_only_connections_are_shown_on_which_one_may_see_anything(two_stores, browser, browser_of):
    observer_looked(default=WatchReport(), billing=WatchReport(error="It may not SCAN."))
    assert Page(browser.get(HERE)).rows() == ["default"] and "billing" not in read(browser)
    assert Page(browser_of("superuser").get(HERE)).rows() == ["default", "billing"]


def test_what_keeps_it_from_reading_is_said_instead_of_that_it_keeps_up(two_stores, browser_of):
    observer_looked(default=WatchReport(error="The job store does not answer: no connection."))
    text = read(browser_of("superuser"))
    assert "The observer can't read all of “default”: The job store does not answer: no connection." in text
    assert "keeps up: what fails" not in text and "can't read all none yet" in text


def test_how_many_failures_there_are_is_told_only_to_who_may_see_all_of_them(browser_of, orders):
    now = timezone.now()
    observer_looked(default=WatchReport(passed_at=now, swept_at=now, sweep_seconds=2, done=812, total=812))
    assert "812" not in read(browser_of("viewer"))
    assert "2 s for 812" in read(browser_of("superuser"))


def test_while_it_reads_in_what_failed_before_it_says_how_far_it_is(browser):
    observer_looked(default=WatchReport(passed_at=timezone.now(), done=250, total=1000))
    text = read(browser)
    assert "still reading in 25 %" in text and "All gone through" in text and "not yet" in text
    assert "250" not in text and "1000" not in text


def test_acts_without_an_answer_are_counted_in_visible_queues_only(browser, browser_of, payroll):
    for queue, number in (("orders", 2), ("payroll", 1)):
        for _ in range(number):
            AuditEntry.objects.create(
                actor_name="x", verb="retry_job", connection="default", queue=queue, created_at=timezone.now()
            )
    assert "default: 2" in read(browser) and "Show them in the audit" not in read(browser)
    page = Page(browser_of("lead").get(HERE))
    assert "default: 2" in page.text and at("audit") + "?status=intended" in page.links
    assert "default: 1" in read(browser_of("pia"))


def test_how_long_failures_are_kept_is_as_it_is_set(browser, settings):
    settings.OPSBOARD_RETENTION_DAYS = 7
    assert "7 days after their job left Redis; reviews and the audit for good" in read(browser)


def test_it_asks_no_job_store_and_changes_nothing(browser, redis_client):
    observer_looked()
    before = list(ObserverState.objects.values())
    with CaptureQueriesContext(connection) as queries, count_traffic(redis_client) as traffic:
        read(browser)
    assert traffic.commands == 0 and list(ObserverState.objects.values()) == before
    assert len(queries) <= 10 and not [one for one in queries if not one["sql"].startswith("SELECT")]


def test_a_report_of_another_release_does_not_break_it(browser):
    observer_looked()
    ObserverState.objects.update(report={"default": {"passed_at": None, "novelty": 7}})
    assert "State keeps up" in read(browser)


def test_its_refresh_is_the_part_that_changes(browser):
    observer_looked()
    whole, part = browser.get(HERE), browser.get(HERE, headers={"hx-request": "true"})
    assert "<html" in whole.text and "<html" not in part.text
    assert Page(part).rows() == Page(whole).rows() == ["default"] and "data-part-as-of" in part.text
