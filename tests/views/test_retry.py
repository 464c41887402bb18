"""Retry: what the page says and asks, what Redis holds, and what is on record afterwards."""

from __future__ import annotations

import time

import pytest
from django.urls import reverse

from jobs.broker import commands, connections
from jobs.models import AuditEntry, JobType, Review
from tests.support.acts import read
from tests.support.keyspace import snapshot
from tests.support.pages import Page, at, press

pytestmark = pytest.mark.django_db
JOB, HERE = at("job", "orders", "4711"), at("job-retry", "orders", "4711")


@pytest.fixture
def repeatable(db):
    return JobType.objects.create(path="fx.boom", idempotency="repeatable")


@pytest.fixture
def browser(shop, browser_of, payroll):
    return browser_of("operator")


def seen(client, job_id="4711"):
    return {"seen": client.xrevrange(f"rq:results:{job_id}", count=1)[0][0].decode()}


def is_refused(shop, before, code, status="refused"):
    """Nothing moved, and the record says why."""
    entry = AuditEntry.objects.get()
    assert snapshot(shop) == before
    assert (entry.status, entry.decision_code, entry.actor_name) == (status, code, "otto")


def sent_to_review(browser, answer):
    """The text of the page of the one review there is, to which the answer leads, with the reason said on it."""
    assert (answer.status_code, answer.headers["Location"]) == (
        302,
        reverse("jobs:review", args=[Review.objects.get().pk]),
    )
    return Page(browser.get(answer.headers["Location"])).text


@pytest.mark.parametrize("method", ["put", "patch", "delete"])
def test_it_takes_no_other_method_than_get_and_post(browser, shop, repeatable, method):
    before = snapshot(shop)
    assert getattr(browser, method)(HERE).status_code == 405
    assert snapshot(shop) == before


@pytest.mark.parametrize("method", ["get", "head"])
def test_looking_says_what_would_be_decided_and_changes_nothing(browser, shop, repeatable, method):
    before = snapshot(shop)
    answer = getattr(browser, method)(HERE)
    assert answer.status_code == 200
    text = Page(answer).text
    assert method == "head" or ("Retry this job?" in text and "running it again does no harm." in text)
    assert snapshot(shop) == before and not AuditEntry.objects.exists()


def test_a_repeatable_job_is_back_on_its_queue_and_the_page_says_so(browser, shop, repeatable):
    answer = press(browser, JOB, HERE)
    assert (answer.status_code, answer.headers["Location"]) == (302, JOB)
    text = Page(browser.get(JOB)).text
    assert "Job 4711 is back on the queue orders." in text and "It waits in its queue." in text
    assert shop.lrange("rq:queue:orders", 0, -1) == [b"next-1", b"next-2", b"4711"]
    assert (shop.zscore("rq:failed:orders", "4711"), shop.hget("rq:job:4711", "status")) == (None, b"queued")


def test_it_is_on_record_with_who_and_by_which_rule(browser, shop, repeatable, operator):
    press(browser, JOB, HERE, reason="the shop is up again")
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.verb, entry.subject, entry.queue) == (operator, "retry_job", "4711", "orders")
    assert (entry.status, entry.decision_code, entry.reason) == ("done", "repeatable", "the shop is up again")
    assert shop.get(f"opsboard:act:{entry.id}") == b"requeued"
    assert "done retry by otto" in Page(browser.get(JOB)).text


def test_a_second_press_of_the_same_button_is_told_that_it_changed(browser, shop, repeatable):
    form = Page(browser.get(JOB)).form(HERE).fields
    assert browser.post(HERE, form).status_code == 302
    answer, before = browser.post(HERE, form), snapshot(shop)
    assert answer.status_code == 409
    assert "Not done: otto has just retried this job." in Page(answer).text
    assert snapshot(shop) == before and shop.lpos("rq:queue:orders", "4711", count=0) == [2]


def test_what_failed_again_since_one_looked_is_a_conflict(browser, shop, repeatable):
    form = Page(browser.get(JOB)).form(HERE).fields
    shop.xadd("rq:results:4711", {"type": 2, "exc_string": ""})
    before = snapshot(shop)
    answer = browser.post(HERE, form)
    assert answer.status_code == 409
    assert "Not done: the job changed since you looked." in Page(answer).text
    assert JOB in Page(answer).links
    is_refused(shop, before, "changed", status="changed")


@pytest.mark.parametrize("fields", [{}, {"seen": ""}, {"seen": "0-0"}, {"seen": "x" * 10_000}, {"seen": "\0"}])
def test_who_has_not_seen_the_job_does_nothing(browser, shop, repeatable, fields):
    before = snapshot(shop)
    assert browser.post(HERE, fields).status_code == 409
    is_refused(shop, before, "changed", status="changed")


@pytest.mark.parametrize(
    ("promise", "sentence"),
    [
        (None, "Nobody has declared whether this job type may be run twice"),
        ("unsafe", "running it again may act a second time"),
        ("keyed", "How long the other side recognises a repeat of this job can't be told."),
        ("checkable", "only safe after the other side has been asked what happened"),
    ],
)
def test_a_press_of_review_before_retry_leads_to_a_review_with_the_reason(browser, shop, promise, sentence):
    if promise:
        JobType.objects.create(path="fx.boom", idempotency=promise)
    before = snapshot(shop)
    answer = press(browser, JOB, HERE)
    assert sentence in sent_to_review(browser, answer)
    is_refused(shop, before, "may_have_acted")


@pytest.mark.parametrize("promise", [None, "unsafe", "keyed", "checkable"])
def test_a_result_that_nobody_knows_is_reviewed_for_all_but_the_repeatable(browser, shop, promise):
    if promise:
        JobType.objects.create(path="fx.die", idempotency=promise, remembered_for_seconds=86_400)
    address, before = at("job-retry", "orders", "4713"), snapshot(shop)
    answer = press(browser, at("job", "orders", "4713"), address)
    assert "Nobody knows whether its last run acted" in sent_to_review(browser, answer)
    is_refused(shop, before, "result_unknown")


def test_while_its_review_is_open_it_is_not_retried_even_if_it_is_declared_repeatable_since(browser, shop):
    press(browser, JOB, HERE)
    JobType.objects.create(path="fx.boom", idempotency="repeatable")
    before = snapshot(shop)
    answer = browser.post(HERE, seen(shop))
    assert answer.status_code == 409 and "Its review is open" in Page(answer).text
    assert snapshot(shop) == before
    assert sorted(AuditEntry.objects.values_list("decision_code", flat=True)) == ["may_have_acted", "review_open"]


@pytest.fixture
def keyed(db):
    return JobType.objects.create(path="fx.boom", idempotency="keyed", remembered_for_seconds=86_400)


def test_a_keyed_job_within_its_horizon_asks_and_is_then_retried(browser, shop, keyed):
    page = Page(browser.get(HERE))
    assert "Retry this job?" in page.text and "The other side recognises a repeat until" in page.text
    assert "It runs with its time limit of 3 min" in page.text and "Repeats fx.boom" in page.text
    assert press(browser, HERE, HERE, reason="asked the shop").status_code == 302
    assert shop.lpos("rq:queue:orders", "4711") is not None
    entry = AuditEntry.objects.get()
    assert (entry.status, entry.decision_code, entry.reason) == ("done", "same_key", "asked the shop")


@pytest.mark.parametrize("confirmed", [{}, {"confirmed": ""}, {"confirmed": "repeatable"}, {"confirmed": "x" * 9000}])
def test_a_keyed_job_is_not_retried_unasked(browser, shop, keyed, confirmed):
    before = snapshot(shop)
    answer = browser.post(HERE, {**seen(shop), "reason": "in a hurry", **confirmed})
    assert answer.status_code == 400
    page = Page(answer)
    assert "Nothing was done: this wants to be confirmed." in page.text and "in a hurry" in page.text
    assert page.form(HERE).fields["confirmed"] == "same_key"
    is_refused(shop, before, "unconfirmed")


def test_what_was_confirmed_counts_for_that_answer_only(browser, shop, keyed):
    """Between looking and clicking the promise was taken back: the confirmation of then is none of now."""
    form = Page(browser.get(HERE)).form(HERE).fields
    JobType.objects.update(remembered_for_seconds=60)
    before = snapshot(shop)
    answer = browser.post(HERE, form)
    assert "which a retry might not keep to" in sent_to_review(browser, answer)
    is_refused(shop, before, "key_expired")


@pytest.mark.parametrize(
    ("job_id", "code", "sentence"),
    [
        ("done-1", "already_finished", "It already finished"),
        ("next-1", "already_queued", "It is already queued and will run."),
        ("later-1", "scheduled", "It is scheduled and has not failed."),
        ("held-1", "deferred", "It waits for other jobs and has not failed."),
        ("canceled-1", "canceled", "It was cancelled"),
        ("slow-1", "in_progress", "It is running now."),
    ],
)
def test_what_has_not_failed_is_refused(browser, shop, job_id, code, sentence):
    for path in ("fx.ok", "fx.slow"):
        JobType.objects.create(path=path, idempotency="repeatable")
    before = snapshot(shop)
    answer = browser.post(at("job-retry", "orders", job_id), {"seen": read(job_id).seen})
    assert answer.status_code == 409 and sentence in Page(answer).text
    is_refused(shop, before, code)


def test_a_viewer_is_refused_with_the_name_of_the_right(shop, browser_of, repeatable):
    before = snapshot(shop)
    answer = browser_of("viewer").post(HERE, seen(shop))
    assert answer.status_code == 403
    assert "You may not retry jobs in this queue; the right retry_job is missing." in Page(answer).text
    assert snapshot(shop) == before
    assert (AuditEntry.objects.get().status, AuditEntry.objects.get().actor_name) == ("refused", "vera")


@pytest.mark.parametrize(("queue", "job_id"), [("payroll", "pay-1"), ("orders", "pay-1"), ("nowhere", "4711")])
def test_a_job_one_may_not_see_is_not_found_and_stays(browser, shop, repeatable, queue, job_id):
    before = snapshot(shop)
    assert browser.post(at("job-retry", queue, job_id), seen(shop, "pay-1")).status_code == 404
    assert snapshot(shop) == before
    assert AuditEntry.objects.get().status == "refused"


def test_a_store_that_is_none_is_not_found(browser, repeatable):
    assert browser.post(at("job-retry", "orders", "4711", connection="nowhere")).status_code == 404


def test_a_store_that_does_not_answer_in_time_is_not_known_yet(browser, shop, repeatable, monkeypatch):
    run = commands.requeue_failed
    monkeypatch.setattr(
        commands, "requeue_failed", lambda *args, **named: shop.client_pause(2500) and run(*args, **named)
    )
    answer = press(browser, JOB, HERE)
    connections.reset()
    assert answer.status_code == 503
    assert "Not known yet" in Page(answer).title and "Either it was done, or it will never be" in Page(answer).text
    assert AuditEntry.objects.get().status == "intended"


def test_a_store_that_is_gone_is_said_and_nothing_was_done(browser, shop, repeatable, settings):
    settings.OPSBOARD_CONNECTIONS = {"default": {"url": "redis://127.0.0.1:1/0"}}
    connections.reset()
    began = time.monotonic()
    answer = browser.post(HERE, seen(shop))
    assert answer.status_code == 503 and time.monotonic() - began < 5
    assert "Not done: nothing was changed." in Page(answer).text
    assert AuditEntry.objects.get().outcome.startswith("Not done")
