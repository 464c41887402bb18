"""The list of failed jobs, across the queues that one may see."""

from __future__ import annotations

import pytest
from guardian.shortcuts import assign_perm

from jobs.models import JobType
from tests.support.pages import Page, at

pytestmark = pytest.mark.django_db
HERE = at("failed")


@pytest.fixture
def browser(shop, browser_of, payroll):
    return browser_of("viewer")


def row(page, key):
    html = page.content.decode().partition(f'data-key="{key}"')[2].partition("</tr>")[0]
    return Page(f"<tr {html}").text


def many(client, count):
    """Copies of a failed job, older than the others, and of one second each hundred."""
    pipeline = client.pipeline()
    for number in range(count):
        pipeline.copy("rq:job:4711", f"rq:job:old-{number:03}")
        pipeline.copy("rq:results:4711", f"rq:results:old-{number:03}")
        pipeline.zadd("rq:failed:orders", {f"old-{number:03}": 1_700_000_000 + number // 100})
    pipeline.execute()


@pytest.mark.parametrize("method", ["post", "put", "delete"])
def test_it_takes_no_other_method_than_get(browser, method):
    assert getattr(browser, method)(HERE).status_code == 405


def test_it_shows_the_jobs_of_the_queues_one_may_see_and_no_other(browser):
    page = browser.get(HERE)
    assert sorted(Page(page).rows()) == ["orders:4711", "orders:4712", "orders:4713"]
    assert "3 failed jobs" in Page(page).text
    assert "payroll" not in page.text and "pay-1" not in page.text


def test_a_row_says_what_ran_on_what_and_how_it_ended(browser):
    page = browser.get(HERE)
    boom, killed = row(page, "orders:4711"), row(page, "orders:4713")
    assert "failed" in boom and "boom #1=7 fx 4711" in boom and "ValueError: boom 7" in boom
    assert "result unknown" in killed and "Work-horse terminated unexpectedly" in killed


def test_a_row_says_what_was_declared(browser):
    JobType.objects.create(path="fx.boom", idempotency="repeatable")
    page = browser.get(HERE)
    assert row(page, "orders:4711").endswith("repeatable")
    assert row(page, "orders:4712").endswith("undeclared")


def test_a_row_leads_to_its_job(browser):
    links = Page(browser.get(HERE)).links
    assert at("job", "orders", "4711") in links
    assert browser.get(at("job", "orders", "4711")).status_code == 200


def test_it_can_be_narrowed_to_a_queue(browser, viewer, payroll):
    assign_perm("view_queue", viewer, payroll)
    assert "payroll:pay-1" in Page(browser.get(HERE)).rows()
    assert Page(browser.get(HERE, {"queue": "payroll"})).rows() == ["payroll:pay-1"]


@pytest.mark.parametrize("query", [{"queue": "payroll"}, {"queue": "nowhere"}, {"connection": "nowhere"}])
def test_a_queue_or_store_one_may_not_see_is_not_found(browser, query):
    assert browser.get(HERE, query).status_code == 404


@pytest.mark.parametrize("place", ["x", "W10", "\0", "🦆", "a" * 5000])
@pytest.mark.parametrize("way", ["after", "before"])
def test_a_place_in_the_list_that_is_none_is_a_bad_request(browser, way, place):
    assert browser.get(HERE, {way: place}).status_code == 400


def test_its_pages_show_every_job_once_forwards_and_back(browser, shop):
    many(shop, 120)
    pages, address = [], HERE
    while address:
        pages.append(Page(browser.get(address)))
        address = turn(pages[-1], "next")
    assert [len(page.rows()) for page in pages] == [50, 50, 23]
    assert len({key for page in pages for key in page.rows()}) == 123
    back = Page(browser.get(turn(pages[2], "prev")))
    assert back.rows() == pages[1].rows()
    assert Page(browser.get(turn(back, "prev"))).rows() == pages[0].rows()


def turn(page, way):
    """The address behind the link to the next or the previous page."""
    found = [one.attributes["href"] for one in page.elements if one.attributes.get("rel") == way]
    return HERE + found[0] if found else None


def test_jobs_that_fail_meanwhile_do_not_shift_the_next_page(browser, shop):
    many(shop, 60)
    first = Page(browser.get(HERE))
    shop.zadd("rq:failed:orders", {f"new-{number}": 9e9 for number in range(30)})
    second = Page(browser.get(turn(first, "next")))
    assert len(second.rows()) == 13
    assert not set(first.rows()) & set(second.rows())


def test_only_the_first_page_refreshes_itself(browser, shop):
    many(shop, 60)
    first = browser.get(HERE)
    assert "data-poll" in first.text
    assert "data-poll" not in browser.get(turn(Page(first), "next")).text


def test_its_refresh_is_the_part_that_changes(browser):
    part = browser.get(HERE, headers={"hx-request": "true"})
    assert "<html" not in part.text and "data-part-as-of" in part.text
    assert len(Page(part).rows()) == 3


def test_nothing_failed_is_said_with_where_and_when_it_was_read(browser, shop):
    shop.delete("rq:failed:orders")
    text = Page(browser.get(HERE)).text
    assert "Nothing has failed" in text and "was read in 1 queue, at" in text


def test_a_superuser_sees_failures_of_queues_that_nobody_has_put_on_record(shop, browser_of):
    assert "payroll:pay-1" in Page(browser_of("superuser").get(HERE)).rows()


def test_a_job_listed_in_a_queue_that_is_not_its_own_shows_nothing_of_itself(browser, shop):
    shop.hset("rq:job:pay-1", "worker_name", "CANARY")
    shop.zadd("rq:failed:orders", {"pay-1": 9e9})
    found = row(browser.get(HERE), "orders:pay-1")
    assert "It is listed here, but belongs to another queue." in found
    assert "boom" not in found and at("job", "orders", "pay-1") not in Page(browser.get(HERE)).links


def test_what_a_row_may_not_show_is_not_in_it(browser, shop):
    shop.hset("rq:job:4711", mapping={"description": "fx.boom('CANARY')", "meta": "CANARY", "exc_info": "CANARY"})
    assert "CANARY" not in browser.get(HERE).text
