"""One job's page."""

from __future__ import annotations

import base64
import re
import zlib

import pytest
from django.utils import timezone

from jobs.models import AuditEntry, JobType
from tests.support.pages import Page, at

pytestmark = pytest.mark.django_db
HERE = at("job", "orders", "4711")
RETRY, DELETE = at("job-retry", "orders", "4711"), at("job-delete", "orders", "4711")


@pytest.fixture
def browser(shop, browser_of, payroll):
    return browser_of("viewer")


def text(browser, job_id="4711"):
    answer = browser.get(at("job", "orders", job_id))
    assert answer.status_code == 200
    return Page(answer).text


@pytest.mark.parametrize("method", ["post", "put", "delete"])
def test_it_takes_no_other_method_than_get(browser, method):
    assert getattr(browser, method)(HERE).status_code == 405


def test_it_says_what_ran_with_which_ids_and_how_it_failed(browser):
    found = text(browser)
    assert "fx.boom" in found and "#1 7" in found
    assert "It failed: the function raised an error. RQ will not run it again by itself." in found
    assert "ValueError boom 7" in found and "in boom raised here" in found


@pytest.mark.parametrize(
    ("job_id", "sentence"),
    [
        ("4712", "It failed: the function raised an error."),
        ("4713", "Nobody knows whether it took effect: its process was killed (signal 9"),
        ("done-1", "It finished."),
        ("next-1", "It waits in its queue. The next free worker runs it when its turn comes."),
        ("later-1", "It is scheduled for later."),
        ("held-1", "It waits for other jobs to finish."),
        ("canceled-1", "It was cancelled and will not run."),
        ("slow-1", "It is running."),
    ],
)
def test_each_state_is_one_sentence(browser, job_id, sentence):
    assert sentence in text(browser, job_id)


def test_a_job_of_a_queue_one_may_not_see_is_not_found(browser):
    for address in (at("job", "payroll", "pay-1"), at("job", "orders", "pay-1"), at("job", "nowhere", "4711")):
        assert browser.get(address).status_code == 404
    assert browser.get(at("job", "orders", "4711", connection="nowhere")).status_code == 404


def test_a_job_that_is_not_there_is_not_found_with_a_way_back(browser):
    answer = browser.get(at("job", "orders", "no-such-job"))
    assert answer.status_code == 404
    assert "The queue orders has no job with this id." in Page(answer).text
    assert at("failed") in Page(answer).links


def test_a_job_that_was_deleted_here_says_by_whom_and_why(browser, shop, viewer):
    shop.delete("rq:job:4711", "rq:results:4711")
    shop.zrem("rq:failed:orders", "4711")
    entry = {"connection": "default", "queue": "orders", "subject": "4711", "created_at": timezone.now()}
    AuditEntry.objects.create(actor_name="otto", verb="delete_job", status="done", reason="twice as old", **entry)
    answer = browser.get(HERE)
    assert answer.status_code == 404
    assert "It was deleted by otto" in Page(answer).text and "twice as old" in Page(answer).text


def test_a_viewer_is_offered_no_act_and_told_which_right_is_missing(browser):
    page = Page(browser.get(HERE))
    assert not {RETRY, DELETE} & {form.action for form in page.forms} and DELETE not in page.links
    assert "you may not retry jobs of this queue retry_job" in page.text
    assert "you may not delete jobs of this queue delete_job" in page.text


def test_an_operator_is_offered_what_the_rules_allow(shop, browser_of):
    JobType.objects.create(path="fx.boom", idempotency="repeatable")
    page = Page(browser_of("operator").get(HERE))
    assert page.form(RETRY).method == "post" and DELETE in page.links
    assert "Its type is declared repeatable: running it again does no harm." in page.text


@pytest.mark.parametrize("promise", ["undeclared", "unsafe", "keyed", "checkable"])
def test_an_operator_is_told_why_a_retry_is_not_offered(shop, browser_of, promise):
    JobType.objects.create(path="fx.boom", idempotency=promise)
    page = Page(browser_of("operator").get(HERE))
    assert RETRY not in [form.action for form in page.forms]
    assert "Can’t retry" in page.text and promise in page.text.partition("Can’t retry")[2][:200]


@pytest.mark.parametrize(("role", "is_offered"), [("operator", False), ("lead", True)])
def test_who_may_declare_job_types_is_led_there(shop, browser_of, role, is_offered):
    assert (at_type("fx.boom") in Page(browser_of(role).get(HERE)).links) is is_offered


def at_type(path):
    return f"/job-types/{path}/"


@pytest.mark.parametrize("job_id", ["done-1", "next-1", "later-1", "held-1", "canceled-1", "slow-1"])
def test_no_act_is_offered_on_a_job_that_has_not_failed(shop, browser_of, job_id):
    JobType.objects.create(path="fx.ok", idempotency="repeatable")
    page = Page(browser_of("operator").get(at("job", "orders", job_id)))
    assert "Can’t retry" in page.text and "Can’t delete" in page.text
    assert not [form for form in page.forms if job_id in form.action]


def test_every_recorded_attempt_is_shown_with_worker_times_and_error(browser, shop):
    error = base64.b64encode(zlib.compress(b"Traceback (most recent call last):\nKeyError: 'older one'\n")).decode()
    ((entry_id, fields),) = shop.xrange("rq:results:4711")
    shop.delete("rq:results:4711")
    shop.xadd("rq:results:4711", {"type": 2, "exc_string": error, "worker_name": "older"}, id="1700000000000-0")
    shop.xadd("rq:results:4711", fields, id=entry_id)
    found = text(browser)
    attempts = found[found.index(" Attempts ") :]
    assert attempts.index("#2") < attempts.index("#1")
    assert "worker older" in attempts and "KeyError: 'older one'" in attempts
    assert "2023-11-14 22:13:20 UTC" in attempts


def test_a_running_job_shows_the_run_and_refreshes_itself(browser):
    page = browser.get(at("job", "orders", "slow-1"))
    assert "packer" in Page(page).text and "held for alive until" in Page(page).text
    assert "data-poll" in page.text


def test_a_job_at_rest_does_not_refresh_itself(browser):
    assert "data-poll" not in browser.get(HERE).text


def test_its_refresh_is_the_state_line_alone(browser):
    part = browser.get(HERE, headers={"hx-request": "true"})
    assert "<html" not in part.text and "boom 7" not in part.text
    assert "It failed: the function raised an error." in Page(part).text


def test_a_job_that_stands_twice_in_its_queue_is_an_alarm(browser, shop):
    shop.rpush("rq:queue:orders", "next-1")
    assert "It stands in its queue 2 times" in text(browser, "next-1")


def test_two_live_runs_are_an_alarm(browser, shop):
    (run,) = shop.zrange("rq:executions:slow-1", 0, -1, withscores=True)
    shop.zadd("rq:executions:slow-1", {"second": run[1]})
    assert "RQ holds 2 runs of it for alive: it may be running more than once now." in text(browser, "slow-1")


def test_related_jobs_are_shown_both_ways(browser):
    assert "Waiting for it held-1" in text(browser)
    assert "It waits for 4711" in text(browser, "held-1")


def test_it_says_how_long_the_data_is_kept(browser):
    assert re.search(r"Data kept until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC · in 36\d d", text(browser))
    assert "Data kept until no expiry is set" in text(browser, "next-1")


def test_what_may_not_be_shown_is_not_in_it(browser, shop):
    hidden = ["description", "meta", "result", "exc_info", "failure_callback_name", "webhooks", "group_id"]
    shop.hset("rq:job:4711", mapping=dict.fromkeys(hidden, "CANARY"))
    shop.xadd("rq:results:4711", {"type": 1, "return_value": "CANARY"})
    assert "CANARY" not in browser.get(HERE).text


def test_the_acts_on_it_are_listed_with_who_and_what_came_of_it(browser, shop, browser_of):
    browser_of("operator").post(RETRY, {"seen": shop.xrevrange("rq:results:4711", count=1)[0][0].decode()})
    found = text(browser)
    assert "refused retry by otto" in found
    assert "Nobody has declared whether this job type may be run twice" in found
    assert AuditEntry.objects.get().status == "refused"
