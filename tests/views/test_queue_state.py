"""One queue's jobs in one state."""

from __future__ import annotations

import re

import pytest

from jobs.broker.keys import STATES
from jobs.models import Queue
from tests.support.pages import Page, at

pytestmark = pytest.mark.django_db
JOBS = {
    "queued": ["next-1", "next-2"],
    "started": ["slow-1"],
    "failed": ["4711", "4712", "4713"],
    "finished": ["done-1"],
    "scheduled": ["later-1"],
    "deferred": ["held-1"],
    "canceled": ["canceled-1"],
}


@pytest.fixture
def browser(shop, browser_of, payroll):
    return browser_of("viewer")


def here(state, queue="orders"):
    return at("queue-state", queue, state)


def test_there_are_jobs_in_every_state():
    assert set(JOBS) == set(STATES)


@pytest.mark.parametrize("method", ["post", "put", "delete"])
def test_it_takes_no_other_method_than_get(browser, method):
    assert getattr(browser, method)(here("failed")).status_code == 405


@pytest.mark.parametrize("state", STATES)
def test_it_shows_the_jobs_of_this_state_and_no_other(browser, state):
    page = Page(browser.get(here(state)))
    assert sorted(page.rows()) == JOBS[state]
    assert f"{len(JOBS[state])} job" in page.text


@pytest.mark.parametrize("state", STATES)
def test_each_state_has_a_tab_and_the_open_one_is_marked(browser, state):
    page = Page(browser.get(here(state)))
    assert set(map(here, STATES)) <= set(page.links)
    marked = [one.attributes["href"] for one in page.elements if one.attributes.get("aria-current") == "page"]
    assert here(state) in marked and len(marked) == 1


@pytest.mark.parametrize("state", STATES)
def test_an_empty_list_says_so_and_when_it_was_read(browser, shop, state):
    shop.delete("rq:queue:orders", *(f"rq:{registry}:orders" for registry in REGISTRIES))
    page = Page(browser.get(here(state)))
    assert not page.rows()
    assert "No job of orders is" in page.text and "RQ's list was read at" in page.text


REGISTRIES = ["wip", "failed", "finished", "scheduled", "deferred", "canceled"]


@pytest.mark.parametrize("state", STATES)
def test_a_queue_one_may_not_see_is_not_found(browser, state):
    assert browser.get(here(state, "payroll")).status_code == 404
    assert browser.get(here(state, "nowhere")).status_code == 404


def test_a_state_or_a_store_that_is_none_is_not_found(browser):
    assert browser.get(here("broken")).status_code == 404
    assert browser.get(at("queue-state", "orders", "failed", connection="nowhere")).status_code == 404


def test_a_superuser_opens_a_queue_that_nobody_has_put_on_record(shop, browser_of):
    assert Page(browser_of("superuser").get(here("failed", "payroll"))).rows() == ["pay-1"]
    assert not Queue.objects.exists()


def test_waiting_jobs_are_in_the_order_in_which_they_will_run(browser, shop):
    shop.lpush("rq:queue:orders", "done-1")
    page = browser.get(here("queued"))
    assert Page(page).rows() == ["done-1", "next-1", "next-2"]
    assert "the next to run first" in Page(page).text


def test_waiting_jobs_are_paged_by_their_place(browser, shop):
    shop.rpush("rq:queue:orders", *(f"more-{number}" for number in range(60)))
    second = Page(browser.get(here("queued"), {"after": "50"}))
    assert second.rows() == [f"more-{number}" for number in range(48, 60)]
    assert "?before=0" in second.links


@pytest.mark.parametrize("place", ["-1", "x", "1.5", "٣", "\0"])
def test_a_place_that_is_no_number_is_a_bad_request(browser, place):
    assert browser.get(here("queued"), {"after": place}).status_code == 400


def test_a_place_far_behind_the_end_shows_nothing_and_leads_back(browser):
    page = Page(browser.get(here("queued"), {"after": "9" * 30}))
    assert not page.rows()
    assert "Nothing further on this page" in page.text and here("queued") in page.links


def test_a_running_job_names_its_worker_and_its_lease(browser):
    text = Page(browser.get(here("started"))).text
    assert "running" in text and "packer" in text and "Held for alive until" in text


def test_a_run_whose_lease_is_over_is_not_said_to_run(browser, shop):
    (run,) = shop.zrange("rq:wip:orders", 0, -1)
    shop.zadd("rq:wip:orders", {run: 1_700_000_000})
    row = Page(browser.get(here("started"))).text.partition("Held for alive until")[2]
    assert "lease ran out" in row and "2023-11-14 22:13:20 UTC" in row and "running" not in row


def test_scheduled_jobs_say_when_they_are_due(browser):
    page = Page(browser.get(here("scheduled")))
    assert re.search(r"Due State Job in \d+ min · \d\d:\d\d:\d\d UTC scheduled ok #1=3 fx later-1", page.text)


def test_a_job_that_has_moved_on_is_said_to_have(browser, shop):
    shop.hset("rq:job:4711", "status", "queued")
    assert "It is still listed here, but is now queued." in Page(browser.get(here("failed"))).text


def test_only_failed_jobs_show_an_error(browser):
    for state in STATES:
        assert ("ValueError: boom 7" in browser.get(here(state)).text) == (state == "failed")


def test_its_refresh_is_the_part_that_changes(browser):
    part = browser.get(here("queued"), headers={"hx-request": "true"})
    assert "<html" not in part.text and Page(part).rows() == JOBS["queued"]
