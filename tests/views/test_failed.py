"""The list of failed jobs, across the queues that one may see."""

from __future__ import annotations

import re
from datetime import timedelta
from urllib.parse import quote

import pytest
from django.utils import timezone
from guardian.shortcuts import assign_perm

from jobs.domain.watch import WatchReport
from jobs.domain.words import STATE_WORDS
from jobs.models import FailedJob, JobType, ObserverState
from jobs.selectors import failure_index
from tests.support.observer import watch
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


def test_nothing_failed_is_said_with_when_it_was_looked_at(browser, shop):
    shop.delete("rq:failed:orders")
    assert "The observer last looked" not in Page(browser.get(HERE)).text
    observed()
    text = Page(browser.get(HERE)).text
    assert "Nothing has failed" in text and "The observer last looked at" in text and "you may see 1 queue" in text


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


# What has become of a row since it was recorded -----------------------------------------------------------------------


@pytest.fixture
def recorded(shop, browser_of, operator, payroll):
    """A browser that shows what was recorded a moment ago, whatever happens to the jobs now."""
    watch()
    return browser_of("operator", watched=False)


def box(page, job_id):
    """What the row is sent as when it is ticked; None when it can't be."""
    found = [one.attributes["value"] for one in Page(page).elements if one.attributes.get("name") == "row"]
    return next((value for value in found if value.startswith(f"orders/{job_id}/")), None)


@pytest.mark.parametrize("status", ["queued", "started", "finished", "scheduled", "canceled"])
def test_a_row_whose_job_is_no_longer_failed_says_what_it_is_now(recorded, shop, status):
    shop.hset("rq:job:4711", mapping={"status": status, "enqueued_at": "2026-11-29T00:00:00.000000Z"})
    found = row(recorded.get(HERE), "orders:4711")
    assert f"It is still listed here, but is now {status}." in found
    assert STATE_WORDS[status].word in found and "failed" not in found


def test_a_row_that_failed_again_since_says_so_and_an_act_on_it_is_refused_as_changed(recorded, shop):
    JobType.objects.create(path="fx.boom", idempotency="repeatable")
    shop.hset("rq:job:4711", mapping={"started_at": "2026-11-29T00:00:00.000000Z", "ended_at": "2026-11-29T00:00:01Z"})
    shop.xadd("rq:results:4711", {"type": 2}, id="*")
    page = recorded.get(HERE)
    assert "It failed again since this was recorded." in row(page, "orders:4711")
    assert "failed again" not in row(page, "orders:4712")
    form = Page(page).form(at("ticked")).fields
    answer = recorded.post(at("ticked"), {**form, "verb": "retry_job", "row": box(page, "4711")})
    assert "1 job: 1 changed since you looked" in Page(recorded.get(answer.headers["Location"])).text
    assert shop.lpos("rq:queue:orders", "4711") is None


def test_a_row_whose_job_has_left_redis_stays_and_says_since_when(recorded, shop):
    shop.delete("rq:job:4711", "rq:results:4711")
    assert "Its data is gone from Redis." in row(recorded.get(HERE), "orders:4711")
    shop.zrem("rq:failed:orders", "4711")
    watch()
    page = recorded.get(HERE)
    assert "Gone from Redis: " in row(page, "orders:4711") and "ValueError: boom 7" in row(page, "orders:4711")
    assert "3 failed jobs" in Page(page).text and box(page, "4711") is None and box(page, "4712")


def test_an_id_that_another_queues_job_has_taken_shows_nothing_of_that_job(recorded, shop):
    shop.hset("rq:job:4711", mapping={"origin": "payroll", "status": "queued", "worker_name": "CANARY"})
    page = recorded.get(HERE)
    assert "Its data is gone from Redis." in row(page, "orders:4711")
    assert "queued" not in row(page, "orders:4711") and "payroll" not in page.text and "CANARY" not in page.text


def test_an_id_that_was_used_again_is_not_taken_for_the_job_that_had_it(recorded, shop):
    shop.hset("rq:job:4711", "created_at", "2026-11-29T00:00:00.000000Z")
    assert "Its id is used by a newer job now." in row(recorded.get(HERE), "orders:4711")


def test_what_was_retried_deleted_or_resolved_is_shown_on_request_only(recorded, shop):
    shop.zrem("rq:failed:orders", "4711", "4712")
    shop.hset("rq:job:4711", mapping={"status": "queued", "enqueued_at": "2026-11-29T00:00:00.000000Z"})
    watch()
    FailedJob.objects.filter(job_id="4712").update(place="deleted", is_open=False)
    FailedJob.objects.filter(job_id="4713").update(verdict="happened", is_open=False)
    assert Page(recorded.get(HERE)).rows() == []
    page = recorded.get(HERE, {"show": "all"})
    assert "queued" in row(page, "orders:4711")
    assert "deleted" in row(page, "orders:4712")
    assert "Resolved: it happened." in row(page, "orders:4713")


# Narrowing ------------------------------------------------------------------------------------------------------------


def narrowed(browser, **query):
    return Page(browser.get(HERE, query)).rows()


def test_it_is_narrowed_by_what_its_fields_say(browser, shop):
    browser.get(HERE)
    FailedJob.objects.filter(job_id="4712").update(failed_at=timezone.now() - timedelta(days=3))
    assert narrowed(browser, type="fx.boom") == ["orders:4711"]
    assert narrowed(browser, error="ValueError") == ["orders:4711"]
    assert narrowed(browser, finding="result_unknown") == ["orders:4713"]
    assert narrowed(browser, type="fx.boom", error="KeyError") == []
    assert narrowed(browser, until="2d") == ["orders:4712"]
    assert "orders:4712" not in narrowed(browser, since="24h")
    assert narrowed(browser, since="7d", until="2d", type="fx.declined") == ["orders:4712"]


def test_a_time_that_was_told_as_ago_stands_in_the_field_and_in_links_as_a_time(browser, shop):
    many(shop, 60)
    page = Page(browser.get(HERE, {"since": "7000d"}))
    (field,) = [one for one in page.elements if one.attributes.get("name") == "since"]
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z", field.attributes["value"])
    assert f"since={quote(field.attributes['value'])}" in turn(page, "next")


@pytest.mark.parametrize(
    ("query", "field"), [({"since": "soon"}, "since"), ({"until": "\0"}, ""), ({"since": "1h", "until": "2h"}, "until")]
)
def test_a_time_that_is_none_is_told_under_its_field(browser, query, field):
    answer = browser.get(HERE, query)
    page = Page(answer)
    wrong = [one.attributes["name"] for one in page.elements if one.attributes.get("aria-invalid") == "true"]
    assert (answer.status_code, wrong) == ((400, [field]) if field else (200, []))
    assert not field or (f"{field}-error" in [one.attributes.get("id") for one in page.elements] and not page.rows())


@pytest.mark.parametrize(("query", "is_open"), [({}, False), ({"since": "24h"}, True), ({"since": "soon"}, True)])
def test_what_narrows_it_is_folded_unless_it_narrows_or_is_wrong(browser, query, is_open):
    page = Page(browser.get(HERE, query))
    (fold,) = [one.attributes for one in page.elements if one.attributes.get("class") == "fold"]
    assert ("open" in fold) is is_open


def test_what_hides_everything_says_how_many_there_are_without_it(browser):
    page = Page(browser.get(HERE, {"type": "no.such<type>", "queue": "orders"}))
    assert "No failed job fits what the list is narrowed to" in page.text and "Without it there are 3." in page.text
    assert "?connection=default&queue=orders" in page.links
    assert [one for one in page.elements if one.attributes.get("value") == "no.such<type>"]


@pytest.mark.parametrize("show", ["closed", "ALL", "1"])
def test_it_knows_no_other_ways_to_show_it(browser, show):
    assert browser.get(HERE, {"show": show}).status_code == 400


def test_pages_of_a_narrowed_list_stay_narrowed(browser, shop):
    many(shop, 120)
    shop.zadd("rq:failed:orders", {"4712": 1_700_000_000.5})
    first = Page(browser.get(HERE, {"type": "fx.boom", "show": "all"}))
    second = Page(browser.get(turn(first, "next")))
    assert [len(page.rows()) for page in (first, second)] == [50, 50]
    assert "orders:4712" not in first.rows() + second.rows()
    assert "121 failed jobs" in second.text


def test_so_many_are_not_counted_to_the_end(browser, monkeypatch):
    monkeypatch.setattr(failure_index, "COUNTED", 2)
    monkeypatch.setattr("jobs.selectors.failures.COUNTED", 2)
    assert "2 or more failed jobs, newest first" in Page(browser.get(HERE)).text


# What is missing ------------------------------------------------------------------------------------------------------


def observed(ago=0, **report):
    """Let an observer have looked so many seconds ago."""
    at = timezone.now() - timedelta(seconds=ago)
    said = {"default": WatchReport(**{"passed_at": at, "swept_at": at, **report}).to_json()}
    ObserverState.objects.update_or_create(defaults={"last_pass_at": at, "report": said})


@pytest.mark.parametrize(
    ("ago", "report", "sentence"),
    [
        (None, {}, "No observer has looked yet. New failures are not listed"),
        (3600, {}, "The observer has not looked for 1 h. New failures are not listed"),
        (40, {}, "The observer has not looked for 40 s."),
        (0, {"swept_at": None, "done": 3, "total": 10}, "are still being read in (30 %)"),
        (0, {"passed_at": None}, "The observer has begun, and has not looked here yet."),
        (0, {"error": "its account may not do this."}, "its account may not do this."),
    ],
)
def test_what_may_be_missing_is_said_above_the_list_with_the_way_to_rqs_own(browser, ago, report, sentence):
    if ago is not None:
        observed(ago, **report)
    page = Page(browser.get(HERE))
    assert sentence in page.text and at("queues") in page.links
    assert at("queue-state", "orders", "failed") in Page(browser.get(HERE, {"queue": "orders"})).links


def test_nothing_is_said_while_the_observer_keeps_up(browser):
    observed()
    assert "observer" not in Page(browser.get(HERE)).text.lower()
