"""Deleting a job: a page that asks, then the act, the record of it, and what is left."""

from __future__ import annotations

import pytest
from guardian.shortcuts import remove_perm

from jobs.models import AuditEntry
from tests.support.acts import read
from tests.support.keyspace import snapshot
from tests.support.pages import Page, at, press

pytestmark = pytest.mark.django_db
JOB, HERE = at("job", "orders", "4711"), at("job-delete", "orders", "4711")


@pytest.fixture
def browser(shop, browser_of, payroll):
    return browser_of("operator")


@pytest.mark.parametrize("method", ["put", "patch", "delete"])
def test_it_takes_no_other_method_than_get_and_post(browser, shop, method):
    before = snapshot(shop)
    assert getattr(browser, method)(HERE).status_code == 405
    assert snapshot(shop) == before


def test_the_page_asks_and_changes_nothing(browser, shop):
    before = snapshot(shop)
    page = Page(browser.get(HERE))
    assert "Delete this job?" in page.text and "fx.boom 4711" in page.text
    assert "its data in Redis, with arguments and all results" in page.text
    assert "the record here of who deleted it and when" in page.text
    assert snapshot(shop) == before and not AuditEntry.objects.exists()


def test_leaving_the_job_comes_first_and_has_the_focus(browser):
    page = browser.get(HERE).text
    assert page.index("Leave it as it is") < page.index("Delete for good")
    focused = [one.attributes for one in Page(page).elements if "autofocus" in one.attributes]
    assert [one["href"] for one in focused] == [JOB]


def test_jobs_that_wait_for_it_are_named(browser):
    page = Page(browser.get(HERE))
    assert "run without it: held-1" in page.text
    assert "These wait for it" not in Page(browser.get(at("job-delete", "orders", "4712"))).text


def test_a_deleted_job_is_gone_with_its_results_and_its_dependents_stay(browser, shop):
    answer = press(browser, HERE, HERE, typed="boom", reason="a test order")
    assert (answer.status_code, answer.headers["Location"]) == (302, at("queue-state", "orders", "failed"))
    page = Page(browser.get(answer.headers["Location"]))
    assert sorted(page.rows()) == ["4712", "4713"] and "4711" in page.text
    assert not shop.exists("rq:job:4711", "rq:results:4711", "rq:job:4711:dependents")
    assert shop.zscore("rq:failed:orders", "4711") is None
    assert shop.zscore("rq:deferred:orders", "held-1") and shop.hget("rq:job:held-1", "status") == b"deferred"


def test_it_is_on_record_with_who_and_why(browser, shop, operator):
    press(browser, HERE, HERE, typed="boom", reason="  a test order  ")
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.verb, entry.subject, entry.reason) == (operator, "delete_job", "4711", "a test order")
    assert (entry.status, entry.job_type) == ("done", "fx.boom")
    assert shop.get(f"opsboard:act:{entry.id}") == b"deleted"


def test_its_address_says_from_then_on_who_deleted_it(browser):
    press(browser, HERE, HERE, typed="boom", reason="a test order")
    for address in (JOB, HERE):
        answer = browser.get(address)
        assert answer.status_code == 404
        assert "It was deleted by otto" in Page(answer).text and "a test order" in Page(answer).text


def test_a_second_press_is_told_that_it_is_gone(browser, shop):
    form = Page(browser.get(HERE)).form(HERE).fields | {"typed": "boom"}
    assert browser.post(HERE, form).status_code == 302
    before = snapshot(shop)
    answer = browser.post(HERE, form)
    assert answer.status_code == 404 and "It was deleted by otto" in Page(answer).text
    assert snapshot(shop) == before


def test_what_failed_again_since_one_looked_is_a_conflict(browser, shop):
    form = Page(browser.get(HERE)).form(HERE).fields | {"typed": "boom"}
    shop.xadd("rq:results:4711", {"type": 2, "exc_string": ""})
    before = snapshot(shop)
    answer = browser.post(HERE, form)
    assert answer.status_code == 409
    assert "Not done: the job changed since you looked." in Page(answer).text
    assert snapshot(shop) == before and AuditEntry.objects.get().status == "changed"


WORDS = {"done-1": "ok", "next-1": "ok", "later-1": "ok", "held-1": "ok", "canceled-1": "ok", "4713": "die"}
"""Jobs in each state that no run can be busy with, and what is typed to confirm."""


@pytest.mark.parametrize("job_id", WORDS)
def test_a_job_of_any_state_but_running_is_deleted(browser, shop, job_id):
    address = at("job-delete", "orders", job_id)
    assert f"Type {WORDS[job_id]} to confirm" in Page(browser.get(address)).text
    assert press(browser, address, address, typed=WORDS[job_id]).status_code == 302
    listed = [key for key in shop.scan_iter("rq:*:orders", _type="zset") if shop.zscore(key, job_id) is not None]
    assert not shop.exists(f"rq:job:{job_id}", f"rq:results:{job_id}") and not listed
    assert shop.lpos("rq:queue:orders", job_id) is None
    assert AuditEntry.objects.get().status == "done"


def test_what_goes_with_a_result_that_nobody_knows_is_said(browser):
    page = Page(browser.get(at("job-delete", "orders", "4713")))
    assert "The evidence of a run whose result nobody knows goes with it." in page.text
    assert "evidence" not in Page(browser.get(HERE)).text


def test_a_running_job_is_refused_with_the_reason_and_offers_no_button(browser, shop):
    address, before = at("job-delete", "orders", "slow-1"), snapshot(shop)
    page = Page(browser.get(address))
    assert "It can’t be done now. It counts as running, and a run that ends would bring it back." in page.text
    assert address not in [form.action for form in page.forms]
    form = {"seen": read("slow-1").seen, "confirmed": "delete", "typed": "slow"}
    answer = browser.post(address, form)
    assert answer.status_code == 409 and "It counts as running" in Page(answer).text
    assert snapshot(shop) == before
    assert (AuditEntry.objects.get().status, AuditEntry.objects.get().decision_code) == ("refused", "in_progress")


@pytest.mark.parametrize("typed", ["", "Boom", "fx.boom", "boo", "boom!", "4711", "delete", "x" * 100_000, "\0"])
def test_who_types_something_else_deletes_nothing_and_keeps_the_reason(browser, shop, typed):
    before = snapshot(shop)
    answer = press(browser, HERE, HERE, typed=typed, reason="a test order")
    assert answer.status_code == 400
    page = Page(answer)
    assert "Nothing was done. Type boom, as it is written, to confirm." in page.text
    assert "a test order" in page.text and page.form(HERE).fields["confirmed"] == "delete"
    (field,) = [one.attributes for one in page.elements if one.attributes.get("name") == "typed"]
    assert (field["aria-invalid"], field["aria-describedby"]) == ("true", "typed-error")
    assert [one for one in page.elements if one.attributes.get("id") == "typed-error"]
    entry = AuditEntry.objects.get()
    assert (entry.status, entry.decision_code, entry.reason) == ("refused", "unconfirmed", "a test order")
    assert snapshot(shop) == before


@pytest.mark.parametrize("fields", [{"typed": "boom"}, {"confirmed": "delete"}, {"confirmed": "yes", "typed": "boom"}])
def test_a_post_that_skips_the_page_deletes_nothing(browser, shop, fields):
    before = snapshot(shop)
    assert browser.post(HERE, {"seen": read("4711").seen, **fields}).status_code == 400
    assert snapshot(shop) == before


def test_what_is_typed_may_have_spaces_around_it(browser, shop):
    assert press(browser, HERE, HERE, typed="  boom ").status_code == 302
    assert not shop.exists("rq:job:4711")


def test_a_job_whose_function_can_not_be_read_is_confirmed_by_the_word_delete(browser, shop):
    shop.hset("rq:job:4711", "data", b"\x80\x05garbage")
    assert "Type delete to confirm" in Page(browser.get(HERE)).text
    assert press(browser, HERE, HERE, typed="boom").status_code == 400
    assert press(browser, HERE, HERE, typed="delete").status_code == 302
    assert not shop.exists("rq:job:4711")


def test_a_viewer_is_neither_asked_nor_obeyed(shop, browser_of):
    browser, before = browser_of("viewer"), snapshot(shop)
    for answer in (browser.get(HERE), browser.post(HERE, {"seen": "0-0"})):
        assert answer.status_code == 403
        assert "You may not delete jobs in this queue; the right delete_job is missing." in Page(answer).text
    assert snapshot(shop) == before
    assert AuditEntry.objects.get().status == "refused"


def test_a_right_that_was_taken_since_one_looked_does_not_count(browser, shop, operator, orders):
    form, before = Page(browser.get(HERE)).form(HERE).fields | {"typed": "boom"}, snapshot(shop)
    remove_perm("delete_job", operator, orders)
    assert browser.post(HERE, form).status_code == 403
    assert snapshot(shop) == before


@pytest.mark.parametrize(("queue", "job_id"), [("payroll", "pay-1"), ("orders", "pay-1"), ("nowhere", "4711")])
def test_a_job_one_may_not_see_is_not_found_and_stays(browser, shop, queue, job_id):
    address, before = at("job-delete", queue, job_id), snapshot(shop)
    assert browser.get(address).status_code == 404
    assert browser.post(address, {"seen": "0-0"}).status_code == 404
    assert snapshot(shop) == before


def test_a_job_that_is_not_there_is_not_found_with_a_way_back(browser):
    answer = browser.get(at("job-delete", "orders", "no-such-job"))
    assert answer.status_code == 404 and at("failed") in Page(answer).links


def test_a_reason_of_any_length_is_kept_as_far_as_the_record_goes(browser, shop):
    press(browser, HERE, HERE, typed="boom", reason="ü" * 100_000 + "\0")
    assert AuditEntry.objects.get().reason == "ü" * 2000
