"""The overview, and the table of queues, which shows the same by state."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from jobs.broker import connections
from jobs.domain.watch import WatchReport
from jobs.models import ObserverState, Operation, Queue, Review
from tests.support.observer_state import observer_looked
from tests.support.pages import Page, at

pytestmark = pytest.mark.django_db
HERE, QUEUES = at("overview"), at("queues")
NOWHERE = {"url": "redis://127.0.0.1:1/0"}
both = pytest.mark.parametrize("address", [HERE, QUEUES])


@pytest.fixture
def browser(shop, browser_of, payroll):
    observer_looked()
    return browser_of("viewer")


def numbers(page, queue):
    """What the row says in figures: "2 waiting" and the like."""
    row = page.content.decode().partition(f'data-key="{queue}"')[2].partition("</tr>")[0]
    html = [part.partition("</a>")[0] for part in row.split('class="figure')[1:]]
    return [Page("<a " + part).text for part in html]


@both
@pytest.mark.parametrize("method", ["post", "put", "delete"])
def test_it_takes_no_other_method_than_get(browser, address, method):
    assert getattr(browser, method)(address).status_code == 405


def test_it_counts_what_is_in_redis(browser, shop):
    found = numbers(browser.get(HERE), "orders")
    assert found == ["2 waiting", "1 running", "3 failed", "0 in review", "1 workers alive"]
    assert shop.llen("rq:queue:orders") == 2 and shop.zcard("rq:failed:orders") == 3


def test_the_table_of_queues_counts_every_state(browser):
    assert numbers(browser.get(QUEUES), "orders") == [
        *("2 waiting", "1 running", "3 failed", "1 finished"),
        *("1 scheduled", "1 deferred", "1 canceled", "1 workers alive"),
    ]


def test_each_number_leads_to_its_list(browser):
    links = Page(browser.get(QUEUES)).links
    for state in ("queued", "started", "failed", "finished", "scheduled", "deferred", "canceled"):
        assert at("queue-state", "orders", state) in links
        assert browser.get(at("queue-state", "orders", state)).status_code == 200


@both
def test_it_shows_no_queue_that_one_may_not_see(browser, address):
    page = browser.get(address)
    assert Page(page).rows() == ["orders"]
    assert "payroll" not in page.text


@both
def test_a_superuser_sees_queues_that_nobody_has_put_on_record(shop, browser_of, address):
    assert not Queue.objects.exists()
    assert sorted(Page(browser_of("superuser").get(address)).rows()) == ["orders", "payroll"]
    assert not Queue.objects.exists()


def test_the_worst_comes_first_with_its_reason(shop, browser_of, viewer, pia, payroll):
    shop.rpush("rq:queue:payroll", "pay-1")
    page = browser_of("superuser").get(HERE)
    assert Page(page).rows() == ["payroll", "orders"]
    assert "payroll: 1 job is waiting and no worker listens to this queue. 4 jobs have failed." in Page(page).text


def test_a_run_without_a_sign_of_life_is_said(browser, shop):
    (run,) = shop.zrange("rq:wip:orders", 0, -1)
    shop.zadd("rq:wip:orders", {run: 1})
    assert "1 run gave no sign of life in time: result unknown." in Page(browser.get(HERE)).text


def test_scheduled_jobs_without_a_scheduler_are_said(browser, shop):
    assert "1 job is scheduled and no scheduler runs for this queue." in Page(browser.get(HERE)).text
    shop.set("rq:scheduler-lock:orders", "1", ex=60)
    assert "no scheduler runs" not in Page(browser.get(HERE)).text


def test_a_store_that_may_drop_jobs_is_said(browser, shop):
    shop.config_set("maxmemory", "10gb")
    shop.config_set("maxmemory-policy", "allkeys-lru")
    try:
        assert "Redis may drop job data when memory is short (maxmemory-policy allkeys-lru)" in browser.get(HERE).text
    finally:
        shop.config_set("maxmemory-policy", "noeviction")
        shop.config_set("maxmemory", "0")


def test_nothing_failed_is_only_said_when_it_was_read(browser, shop):
    shop.delete("rq:failed:orders", "rq:scheduled:orders")
    text = Page(browser.get(HERE)).text
    assert "Nothing has failed, and every queue with work has a worker." in text
    assert "1 queue read. Every job store answered." in text and "as of" in text


@both
def test_one_silent_store_of_two_hides_nothing_of_the_other(shop, valkey, browser_of, settings, superuser, address):
    settings.OPSBOARD_CONNECTIONS = {"default": {"url": valkey.url}, "billing": NOWHERE}
    connections.reset()
    answer = browser_of("superuser").get(address)
    assert answer.status_code == 200
    assert sorted(Page(answer).rows()) == ["orders", "payroll"]
    assert "The job store does not answer: no connection." in Page(answer).text
    assert address != HERE or "Not every job store answered" in Page(answer).text


@both
def test_its_refresh_is_the_part_that_changes(browser, address):
    whole, part = browser.get(address), browser.get(address, headers={"hx-request": "true"})
    assert "<html" in whole.text and "<html" not in part.text
    assert Page(part).rows() == Page(whole).rows() and "data-part-as-of" in part.text


def test_who_may_see_nothing_is_told_whom_to_ask(shop, browser_of):
    page = Page(browser_of("outsider").get(HERE))
    assert "You may see no queue yet" in page.text and not page.rows()


# Reviews and the observer ---------------------------------------------------------------------------------------------


def test_open_reviews_are_counted_by_queue_and_lead_to_them(browser, shop):
    for number in range(2):
        open_review("orders", f"lost-{number}")
    page = browser.get(HERE)
    assert "2 in review" in numbers(page, "orders")
    assert "2 reviews are open. 3 jobs have failed." in Page(page).text
    (link,) = [link for link in Page(page).links if link.startswith(at("reviews") + "?queue=")]
    assert link == at("reviews") + "?queue=orders&connection=default"
    assert browser.get(link).status_code == 200


def test_a_review_that_is_closed_is_not_counted(browser, shop):
    open_review("orders", "said", closed_at=timezone.now(), verdict="happened")
    page = browser.get(HERE)
    assert "0 in review" in numbers(page, "orders") and "open" not in Page(page).text.partition("3 jobs")[0]


def test_reviews_past_their_age_limit_are_a_warning_and_lead_to_them(browser, shop):
    shop.delete("rq:scheduled:orders", "rq:failed:orders")
    open_review("orders", "fresh")
    open_review("orders", "old", due_at=timezone.now() - timedelta(hours=1))
    page = Page(browser.get(HERE))
    assert "1 review is older than the age limit. 2 reviews are open." in page.text
    assert at("reviews") + "?overdue=1" in page.links


def test_reviews_of_hidden_queues_are_not_even_a_number(browser, shop):
    before = text_without_times(browser.get(HERE))
    open_review("payroll", "pay-1", due_at=timezone.now() - timedelta(hours=1))
    assert text_without_times(browser.get(HERE)) == before


def test_reviews_are_counted_also_while_the_job_store_is_silent(browser, settings):
    settings.OPSBOARD_CONNECTIONS = {"default": NOWHERE}
    connections.reset()
    open_review("orders", "old", due_at=timezone.now() - timedelta(hours=1))
    assert "1 review is older than the age limit." in Page(browser.get(HERE)).text


@pytest.mark.parametrize(
    ("seconds", "level", "sentence"),
    [
        (45, "warning", "The observer has not looked for 45 s."),
        (75, "alarm", "The observer has not looked for 1 min. New failures are not listed"),
    ],
)
def test_an_observer_that_is_late_or_absent_is_part_of_the_verdict(browser, shop, seconds, level, sentence):
    shop.delete("rq:scheduled:orders")
    observer_looked(timedelta(seconds=seconds))
    answer = browser.get(HERE)
    verdict = answer.text.partition('role="status"')[2].partition("</div>")[0]
    assert sentence in verdict and f"notice--{level}" in verdict
    assert at("observer") in Page(answer).links


def test_that_none_has_ever_looked_is_said(browser):
    ObserverState.objects.all().delete()
    text = Page(browser.get(HERE)).text
    assert "No observer has looked yet." in text and "Observer: has not looked yet" in text


def test_what_keeps_it_from_reading_stands_with_the_job_store(browser):
    observer_looked(default=WatchReport(passed_at=timezone.now(), error="It may not SCAN."))
    assert "The observer can't read all of “default”: It may not SCAN." in Page(browser.get(HERE)).text


def open_review(queue, job_id, **fields):
    now = timezone.now()
    operation = Operation.objects.create(
        operation_id=f"rq:default:{job_id}",
        connection="default",
        queue=queue,
        job_id=job_id,
        status="unknown",
        created_at=now,
        updated_at=now,
    )
    times = {"opened_at": now, "due_at": now + timedelta(days=1)}
    return Review.objects.create(operation=operation, run="1", code="result_unknown", **{**times, **fields})


def text_without_times(answer):
    return re.sub(r"\d\d:\d\d:\d\d|\d+ m?s ago|just now", "", Page(answer).text)
