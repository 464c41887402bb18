"""Ticked rows: which lists offer them to whom, what is asked first, what is done to each, and what the result says."""

from __future__ import annotations

import re
from uuid import UUID, uuid4

import pytest
from django.urls import reverse
from guardian.shortcuts import assign_perm, remove_perm

from jobs.broker import connections
from jobs.domain.ticks import Tick
from jobs.models import AuditEntry, JobType, Review
from tests.support.keyspace import snapshot
from tests.support.pages import Page, at
from tests.support.reviews import review_of

pytestmark = pytest.mark.django_db

HERE, FAILED = at("ticked"), at("failed")
LISTS = {
    "failed": ["retry_job", "delete_job"],
    "queued": ["cancel_job", "delete_job"],
    "scheduled": ["enqueue_job", "cancel_job", "delete_job"],
    "deferred": ["cancel_job", "delete_job"],
    "canceled": ["delete_job"],
    "finished": ["delete_job"],
    "started": [],
}


@pytest.fixture
def repeatable(db):
    for path in ("fx.boom", "fx.declined"):
        JobType.objects.create(path=path, idempotency="repeatable")


@pytest.fixture
def browser(shop, browser_of, payroll):
    return browser_of("operator")


def boxes(page):
    """The rows that could be ticked, as they would be sent, by queue and job id."""
    inputs = [one.attributes for one in page.elements if one.tag == "input" and one.attributes.get("name") == "row"]
    return {tuple(one["value"].split("/")[:2]): one["value"] for one in inputs}


def verbs(page):
    return [one.attributes["value"] for one in page.elements if one.attributes.get("name") == "verb"]


def send(browser, verb, *job_ids, page=FAILED, **more):
    """Tick these jobs of orders on a page and press a button, as a browser without script does."""
    shown = Page(browser.get(page))
    rows = [boxes(shown)["orders", job_id] for job_id in job_ids]
    return browser.post(HERE, {**shown.form(HERE).fields, "verb": verb, "row": rows, **more})


def confirm(browser, asked, **typed):
    """Send the form of the page that asks."""
    page = Page(asked)
    return browser.post(HERE, {**page.form(HERE).fields, "row": list(boxes(page).values()), **typed})


def result(browser, answer):
    assert answer.status_code == 302
    return Page(browser.get(answer.headers["Location"]))


def statuses():
    return dict(AuditEntry.objects.values_list("subject", "status"))


# Which rows, for whom -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", LISTS)
def test_each_list_offers_what_fits_its_jobs(browser, state):
    page = Page(browser.get(at("queue-state", "orders", state)))
    assert verbs(page) == LISTS[state]
    assert {job_id for _queue, job_id in boxes(page)} == (set(page.rows()) if LISTS[state] else set())


def test_the_failed_list_offers_a_box_for_each_row(browser):
    page = Page(browser.get(FAILED))
    assert verbs(page) == ["retry_job", "delete_job"]
    assert [":".join(key) for key in boxes(page)] == page.rows()
    labels = [one.attributes["aria-label"] for one in page.elements if one.attributes.get("name") == "row"]
    assert sorted(labels) == ["Tick job 4711", "Tick job 4712", "Tick job 4713"]


@pytest.mark.parametrize("address", [FAILED, *(at("queue-state", "orders", state) for state in LISTS)])
def test_who_may_only_look_is_offered_none(shop, browser_of, address):
    page = Page(browser_of("viewer").get(address))
    assert page.rows() and not boxes(page) and not verbs(page)
    assert HERE not in [form.action for form in page.forms]


def test_of_several_queues_only_the_rows_where_one_may_act_have_a_box(browser, operator, payroll):
    assign_perm("view_queue", operator, payroll)
    page = Page(browser.get(FAILED))
    assert "payroll:pay-1" in page.rows()
    assert {queue for queue, _job_id in boxes(page)} == {"orders"}


def test_only_what_one_may_do_is_offered(browser, operator, orders):
    for right in ("retry_job", "cancel_job"):
        remove_perm(right, operator, orders)
    assert verbs(Page(browser.get(FAILED))) == ["delete_job"]
    assert verbs(Page(browser.get(at("queue-state", "orders", "scheduled")))) == ["delete_job"]


def test_a_superuser_may_tick_in_queues_that_nobody_put_on_record(shop, browser_of):
    assert ("payroll", "pay-1") in boxes(Page(browser_of("superuser").get(FAILED)))


def test_where_nothing_can_be_changed_nothing_is_offered(browser, settings):
    settings.OPSBOARD_READ_ONLY = True
    assert not boxes(Page(browser.get(FAILED)))


def test_what_has_no_address_has_no_box(browser, shop):
    for job_id in ("x" * 600, "a\0b"):
        shop.copy("rq:job:4711", f"rq:job:{job_id}")
        shop.zadd("rq:failed:orders", {job_id: 9e9})
    page = Page(browser.get(FAILED))
    assert len(page.rows()) == 5 and len(boxes(page)) == 3


# At once: retry -------------------------------------------------------------------------------------------------------


def test_ticked_jobs_are_retried_and_the_result_counts_them_all(browser, shop, repeatable):
    JobType.objects.filter(path="fx.declined").delete()
    answer = send(browser, "retry_job", "4711", "4712")
    page = result(browser, answer)
    assert "2 jobs: 1 done, 1 sent to review" in page.text
    assert reverse("jobs:review", args=[Review.objects.get(operation__job_id="4712").pk]) in page.links
    assert page.rows() == ["orders:4711", "orders:4712"]
    assert shop.lpos("rq:queue:orders", "4711") is not None and shop.lpos("rq:queue:orders", "4712") is None
    assert statuses() == {"4711": "done", "4712": "refused"}


def test_each_is_on_record_under_the_same_press(browser, repeatable):
    answer = send(browser, "retry_job", "4711", "4712", reason="the shop is up again")
    entries = AuditEntry.objects.all()
    batch = UUID(answer.headers["Location"].strip("/").rpartition("/")[2])
    assert {(one.actor_name, one.verb, one.batch) for one in entries} == {("otto", "retry_job", batch)}
    assert {one.reason for one in entries} == {"the shop is up again"} and len(entries) == 2


def test_looking_at_the_result_again_acts_on_nothing(browser, shop, repeatable):
    address = send(browser, "retry_job", "4711").headers["Location"]
    before, entries = snapshot(shop), AuditEntry.objects.count()
    pages = [browser.get(address).content for _look in range(3)]
    assert (snapshot(shop), AuditEntry.objects.count()) == (before, entries)
    assert all(b"1 done" in page for page in pages)


def test_a_job_that_is_sent_twice_is_retried_once(browser, shop, repeatable):
    (row,) = [text for (_queue, job_id), text in boxes(Page(browser.get(FAILED))).items() if job_id == "4711"]
    answer = browser.post(HERE, {"connection": "default", "verb": "retry_job", "row": [row, row, row]})
    assert "1 job: 1 done" in result(browser, answer).text
    assert AuditEntry.objects.count() == 1
    assert len(shop.lpos("rq:queue:orders", "4711", count=0)) == 1


def test_what_changed_since_it_was_ticked_is_left_alone_and_said(browser, shop, repeatable):
    fields = Page(browser.get(FAILED)).form(HERE).fields
    rows = list(boxes(Page(browser.get(FAILED))).values())
    shop.xadd("rq:results:4711", {"type": 2, "exc_string": ""})
    shop.delete("rq:job:4712", "rq:results:4712")
    shop.zrem("rq:failed:orders", "4712")
    page = result(browser, browser.post(HERE, {**fields, "verb": "retry_job", "row": rows}))
    assert "3 jobs: 1 refused, 1 changed since you looked, 1 gone" in page.text
    assert shop.zscore("rq:failed:orders", "4711") and not shop.lpos("rq:queue:orders", "4711")


def test_the_result_leads_back_to_the_list(browser, repeatable):
    page = result(browser, send(browser, "retry_job", "4711"))
    assert at("queue-state", "orders", "failed") in page.links and at("job", "orders", "4711") in page.links


# Nothing was done -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"verb": "retry_job"}, "Nothing was done: no job was ticked."),
        ({"verb": "stop_job", "row": ["orders/4711/1-0"]}, "that can not be done with ticked jobs"),
        ({"row": ["orders/4711/1-0"]}, "that can not be done with ticked jobs"),
        ({"verb": "retry_job", "row": [f"orders/{n}/1-0" for n in range(101)]}, "tick 100 jobs at most"),
        ({"verb": "retry_job", "row": ["orders/4711/1-0", "nonsense"]}, "a ticked row could not be read"),
        ({"verb": "retry_job", "row": ["orders/a%00b/1-0"]}, "a ticked row could not be read"),
        ({"verb": "delete_job", "row": [f"orders/{'x' * 600}/1-0"]}, "a ticked row could not be read"),
    ],
)
def test_a_press_that_is_none_is_said_on_the_list_and_nothing_is_done(browser, shop, repeatable, fields, sentence):
    before = snapshot(shop)
    referer = {"referer": f"http://localhost{FAILED}?queue=orders"}
    answer = browser.post(HERE, {"connection": "default", **fields}, headers=referer)
    assert (answer.status_code, answer.headers["Location"]) == (302, f"{FAILED}?queue=orders")
    assert sentence in Page(browser.get(answer.headers["Location"])).text
    assert snapshot(shop) == before and not AuditEntry.objects.exists()


def test_a_store_that_is_none_is_not_found(browser):
    fields = {"connection": "nowhere", "verb": "retry_job", "row": ["orders/4711/1-0"]}
    assert browser.post(HERE, fields).status_code == 404


@pytest.mark.parametrize("verb", ["retry_job", "delete_job", "cancel_job", "enqueue_job"])
def test_a_viewer_is_refused_for_each_job_on_record(shop, browser_of, repeatable, verb):
    before = snapshot(shop)
    rows = [Tick("orders", job_id, "1-0", "delete").encode() for job_id in ("4711", "4712")]
    answer = browser_of("viewer").post(HERE, {"connection": "default", "verb": verb, "row": rows, "typed": "2"})
    assert answer.status_code == 403 and "Nothing was done." in Page(answer).text
    assert snapshot(shop) == before
    assert statuses() == {"4711": "refused", "4712": "refused"}


@pytest.mark.parametrize("verb", ["retry_job", "delete_job"])
def test_a_hidden_queue_is_answered_like_one_that_is_not_there(browser, shop, repeatable, verb):
    before = snapshot(shop)
    answers = [
        browser.post(HERE, {"connection": "default", "verb": verb, "row": [Tick(queue, "pay-1", "1-0").encode()]})
        for queue in ("payroll", "nowhere")
    ]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[0].content == answers[1].content
    assert snapshot(shop) == before
    assert AuditEntry.objects.filter(status="refused").count() == 2


@pytest.mark.parametrize("verb", ["retry_job", "delete_job"])
def test_among_others_a_hidden_queue_leaves_no_trace_on_the_pages(browser, shop, verb):
    row, texts = boxes(Page(browser.get(FAILED)))["orders", "4712"], []
    if verb == "retry_job":
        review_of("4712")
    for queue in ("payroll", "nowhere"):
        rows = [row, Tick(queue, "pay-1", "1-0").encode()]
        answer = browser.post(HERE, {"connection": "default", "verb": verb, "row": rows})
        page = Page(answer) if verb == "delete_job" else result(browser, answer)
        assert page.rows() == ["orders:4712"]
        texts.append(re.sub(r"\d\d:\d\d:\d\d", "", page.text))
    assert texts[0] == texts[1] and not re.search("payroll|pay-1", texts[0])
    assert ("Delete 1 job?" if verb == "delete_job" else "1 job: 1 refused") in texts[0]


# Asked first: delete and cancel ---------------------------------------------------------------------------------------


def test_before_a_delete_the_page_says_what_would_become_of_each(browser, shop):
    rows = [*boxes(Page(browser.get(FAILED))).values(), Tick("orders", "slow-1", "x").encode()]
    before = snapshot(shop)
    shop.delete("rq:job:4712", "rq:results:4712")
    shop.zrem("rq:failed:orders", "4712")
    before = snapshot(shop)
    answer = browser.post(HERE, {"connection": "default", "verb": "delete_job", "row": rows})
    page = Page(answer)
    assert answer.status_code == 200 and "Delete 1 job?" in page.text
    assert "1 job can be deleted" in page.text
    assert "Its review is open: it is evidence, and stays until that is closed." in page.text
    assert "There is no such job any more." in page.text and "It changed since you ticked it." in page.text
    assert "1 job waits for it and will never run, or run without it." in page.text
    assert {job_id for _queue, job_id in boxes(page)} == {"4711"}
    assert snapshot(shop) == before and not AuditEntry.objects.exists()


def test_where_none_can_be_done_nothing_is_offered(browser, shop):
    page = Page(browser.post(HERE, {"connection": "default", "verb": "delete_job", "row": "orders/slow-1/x"}))
    assert "None of the ticked jobs can be deleted" in page.text and not boxes(page)
    assert HERE not in [form.action for form in page.forms]


def test_a_delete_takes_the_number_of_the_jobs(browser, shop):
    asked = send(browser, "delete_job", "4711", "4712")
    page = result(browser, confirm(browser, asked, typed="2", reason="of last year"))
    assert "2 jobs: 2 done" in page.text
    assert not shop.exists("rq:job:4711", "rq:job:4712", "rq:results:4711") and shop.exists("rq:job:4713")
    assert set(AuditEntry.objects.values_list("status", "verb", "reason")) == {("done", "delete_job", "of last year")}


@pytest.mark.parametrize("typed", ["", "1", "3", "two", "2 jobs"])
def test_another_number_deletes_nothing_and_asks_again(browser, shop, typed):
    asked, before = send(browser, "delete_job", "4711", "4712"), snapshot(shop)
    answer = confirm(browser, asked, typed=typed)
    assert answer.status_code == 400 and "The number was not that of the jobs" in Page(answer).text
    assert snapshot(shop) == before and not AuditEntry.objects.exists()
    assert len(boxes(Page(answer))) == 2


def test_who_types_the_number_without_having_been_asked_is_asked(browser, shop):
    before = snapshot(shop)
    answer = send(browser, "delete_job", "4711", typed="1")
    assert "Delete 1 job?" in Page(answer).text and snapshot(shop) == before


def test_keeping_the_jobs_leads_back_to_the_list_they_were_ticked_in(browser):
    address = f"{FAILED}?connection=default&queue=orders"
    row = boxes(Page(browser.get(address)))["orders", "4711"]
    fields = {"connection": "default", "verb": "delete_job", "row": row}
    page = Page(browser.post(HERE, fields, headers={"referer": f"http://localhost{address}"}))
    (keep,) = [one.attributes for one in page.elements if "autofocus" in one.attributes]
    assert keep["href"] == address


def test_what_may_not_be_deleted_in_its_queue_is_said_and_on_record(browser, shop, operator, payroll):
    for right in ("view_queue", "retry_job"):
        assign_perm(right, operator, payroll)
    rows = list(boxes(Page(browser.get(FAILED))).values())
    page = Page(browser.post(HERE, {"connection": "default", "verb": "delete_job", "row": rows}))
    assert "1 job stays: You may not do this in its queue." in page.text
    assert {queue for queue, _job_id in boxes(page)} == {"orders"}
    assert statuses() == {"pay-1": "refused"}


def test_what_changes_while_one_is_asked_is_left_alone(browser, shop):
    asked = send(browser, "delete_job", "4711", "4712")
    shop.xadd("rq:results:4711", {"type": 2, "exc_string": ""})
    page = result(browser, confirm(browser, asked, typed="2"))
    assert "2 jobs: 1 done, 1 changed since you looked" in page.text
    assert shop.exists("rq:job:4711") and not shop.exists("rq:job:4712")


@pytest.mark.parametrize(("state", "job_ids"), [("queued", ["next-1", "next-2"]), ("scheduled", ["later-1"])])
def test_waiting_jobs_are_cancelled_after_a_page_that_asks(browser, shop, state, job_ids):
    page = at("queue-state", "orders", state)
    asked = send(browser, "cancel_job", *job_ids, page=page)
    assert asked.status_code == 200 and all(shop.hget(f"rq:job:{one}", "status") != b"canceled" for one in job_ids)
    told = result(browser, confirm(browser, asked))
    assert f"{len(job_ids)} done" in told.text
    assert [shop.hget(f"rq:job:{one}", "status") for one in job_ids] == [b"canceled"] * len(job_ids)


def test_scheduled_jobs_are_enqueued_at_once(browser, shop):
    told = result(browser, send(browser, "enqueue_job", "later-1", page=at("queue-state", "orders", "scheduled")))
    assert "1 job: 1 done" in told.text
    assert shop.lpos("rq:queue:orders", "later-1") is not None


# The result -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("who", ["viewer", "lead", "superuser", "outsider"])
def test_a_result_is_for_who_pressed(browser, browser_of, repeatable, who):
    address = send(browser, "retry_job", "4711").headers["Location"]
    assert browser.get(address).status_code == 200
    assert browser_of(who).get(address).status_code == 404


def test_a_result_leaves_out_what_may_no_longer_be_seen(browser, operator, orders, payroll, repeatable):
    for right in ("view_queue", "retry_job"):
        assign_perm(right, operator, payroll)
    rows = list(boxes(Page(browser.get(FAILED))).values())
    address = browser.post(HERE, {"connection": "default", "verb": "retry_job", "row": rows}).headers["Location"]
    assert "payroll:pay-1" in Page(browser.get(address)).rows()
    remove_perm("view_queue", operator, payroll)
    page = Page(browser.get(address))
    assert sorted(page.rows()) == ["orders:4711", "orders:4712", "orders:4713"] and "3 jobs:" in page.text
    remove_perm("view_queue", operator, orders)
    assert browser.get(address).status_code == 404


def test_a_press_that_never_was_has_no_result(browser):
    assert browser.get(f"{HERE}{uuid4()}/").status_code == 404


def test_a_store_that_is_gone_is_said_and_the_rest_is_not_tried(browser, shop, repeatable, settings):
    rows = list(boxes(Page(browser.get(FAILED))).values())
    settings.OPSBOARD_CONNECTIONS = {"default": {"url": "redis://127.0.0.1:1/0"}}
    connections.reset()
    told = result(browser, browser.post(HERE, {"connection": "default", "verb": "retry_job", "row": rows}))
    assert "3 jobs: 1 refused, 2 not tried" in told.text
