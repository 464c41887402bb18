"""One job's page."""

from __future__ import annotations

import base64
import re
import zlib

import pytest
from django.utils import timezone

from jobs.domain.words import ACT_SLUGS
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


@pytest.mark.parametrize(
    ("job_id", "promise", "code"),
    [
        ("4711", "undeclared", "may_have_acted"),
        ("4711", "unsafe", "may_have_acted"),
        ("4711", "keyed", "may_have_acted"),
        ("4711", "checkable", "may_have_acted"),
        ("4713", "undeclared", "result_unknown"),
        ("4713", "keyed", "result_unknown"),
    ],
)
def test_where_a_retry_might_act_twice_a_review_is_offered_in_its_place(shop, browser_of, job_id, promise, code):
    for path in ("fx.boom", "fx.die"):
        JobType.objects.create(path=path, idempotency=promise)
    page = Page(browser_of("operator").get(at("job", "orders", job_id)))
    assert page.form(at("job-retry", "orders", job_id)).method == "post"
    assert f"Review before retry of job {job_id}" in page.text and code in page.text
    assert "somebody has to find out first." in page.text


def test_what_wants_a_confirmation_is_a_link_to_the_page_that_asks(shop, browser_of):
    JobType.objects.create(path="fx.boom", idempotency="keyed", remembered_for_seconds=86_400)
    page = Page(browser_of("operator").get(HERE))
    assert {RETRY, DELETE} < set(page.links) and not {RETRY, DELETE} & {form.action for form in page.forms}
    assert "Retry… job 4711" in page.text and "Asks first. same_key" in page.text


@pytest.mark.parametrize(
    ("fields", "terms"),
    [
        ({}, "It runs with its time limit of 3 min; should it fail, RQ does not run it again by itself."),
        ({"timeout": 90}, "It runs with its time limit of 90 s; should it fail"),
        ({"timeout": -1}, "It runs without a time limit; should it fail"),
        ({"retries_left": 0}, "It runs with its time limit of 3 min; its automatic retries are used up."),
        ({"retries_left": 1}, "should it fail, RQ runs it once more by itself."),
        ({"retries_left": 3}, "should it fail, RQ runs it up to 3 times more by itself."),
    ],
)
def test_a_retry_is_offered_with_the_terms_on_which_the_job_would_run(shop, browser_of, fields, terms):
    JobType.objects.create(path="fx.boom", idempotency="repeatable")
    shop.hset("rq:job:4711", mapping={"ended_at": "", **fields})
    retry, _, delete = Page(browser_of("operator").get(HERE)).text.partition("Delete… job 4711")
    assert terms in retry and "It runs" not in delete.partition(" Latest error ")[0]


@pytest.mark.parametrize(("role", "is_offered"), [("operator", False), ("lead", True)])
def test_who_may_declare_job_types_is_led_there(shop, browser_of, role, is_offered):
    assert (at_type("fx.boom") in Page(browser_of(role).get(HERE)).links) is is_offered


def at_type(path):
    return f"/job-types/{path}/"


@pytest.mark.parametrize(
    ("job_id", "offered"),
    [
        ("4711", {"retry": "Retry", "delete": "Delete…"}),
        ("done-1", {"delete": "Delete…"}),
        ("canceled-1", {"delete": "Delete…"}),
        ("next-1", {"cancel": "Cancel…", "delete": "Delete…"}),
        ("held-1", {"cancel": "Cancel…", "delete": "Delete…"}),
        ("later-1", {"enqueue": "Enqueue now", "cancel": "Cancel…", "delete": "Delete…"}),
        ("slow-1", {"stop": "Stop…"}),
    ],
)
def test_a_page_speaks_of_the_acts_that_make_sense_in_its_state(shop, browser_of, job_id, offered):
    for path in ("fx.ok", "fx.boom", "fx.slow"):
        JobType.objects.create(path=path, idempotency="repeatable")
    page = Page(browser_of("operator").get(at("job", "orders", job_id)))
    addresses = {word: at(f"job-{word}", "orders", job_id) for word in ACT_SLUGS.values()}
    leads_to = {*page.links, *(form.action for form in page.forms)}
    assert {word for word, address in addresses.items() if address in leads_to} == set(offered)
    spoken_of = page.text.partition("What can be done")[2].partition(" Attempts ")[0]
    assert re.findall(rf"(\w+(?: now)?…?) job {job_id} ", spoken_of) == list(offered.values())
    assert ("Can’t" in spoken_of) is (job_id == "slow-1")


def test_a_running_job_says_why_it_can_not_be_deleted(shop, browser_of):
    text = Page(browser_of("operator").get(at("job", "orders", "slow-1"))).text
    assert "Can’t delete It counts as running, and a run that ends would bring it back. in_progress" in text


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
