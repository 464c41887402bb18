"""The page Review, the answer that has a job run again, and the ways that lead to a review."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from jobs.broker import commands, connections
from jobs.domain.ticks import Tick
from jobs.domain.verdicts import Verdict
from jobs.models import AuditEntry, JobType, ObserverState, Review
from tests.support.acts import read
from tests.support.pages import Page, at, press
from tests.support.reviews import fields, plain_review, review_of, say, take

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)
HERE = "/review/"


def opened(browser, query=""):
    answer = browser.get(HERE + query)
    assert answer.status_code == 200
    return Page(answer)


# The list -------------------------------------------------------------------------------------------------------------


def test_a_row_says_what_is_asked_since_when_why_and_who_has_it(orders, operator, browser_of):
    now = timezone.now()
    late = plain_review(1, now - 30 * HOUR)
    take(late, operator)
    page = opened(browser_of("viewer"))
    assert page.rows() == [str(late.pk)]
    assert f"/review/{late.pk}/" in page.links
    for words in (
        "1 open, 1 overdue",
        "overdue was due 6 h ago",
        "result unknown pay job-1",
        "Nobody knows whether its last run acted. result_unknown The observer noticed it. Last sign of life:",
        "taken by otto runs out in 29 min",
    ):
        assert words in page.text


def test_who_asked_for_a_retry_and_what_is_put_off_is_said(shop, operator, browser_of):
    review = review_of("4711", by=operator)
    Review.objects.filter(pk=review.pk).update(snoozed_until=timezone.now() + HOUR)
    text = opened(browser_of("viewer")).text
    assert "otto asked for a retry." in text and "put off to be looked at again in 59 min" in text


def test_the_answered_ones_are_apart_with_answer_and_person(orders, operator, browser_of):
    review = plain_review(1, timezone.now())
    take(review, operator)
    say(review, operator, Verdict.HAPPENED, evidence={"where": "bank.example"})
    browser = browser_of("viewer")
    assert "No review is open" in opened(browser).text
    page = opened(browser, "?show=closed")
    assert page.rows() == [str(review.pk)]
    assert "it happened pay job-1" in page.text and "bank.example" in page.text and "otto" in page.text


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("", "No review is open The observer last looked for runs that nobody saw ending: just now"),
        ("?mine=1", "No open review matches"),
        ("?queue=default:orders", "No open review matches"),
        ("?show=closed", "No review has been answered yet"),
        ("?show=closed&overdue=1", "No answered review matches"),
    ],
)
def test_an_empty_list_says_why_and_since_when_it_is_known(orders, browser_of, query, words):
    ObserverState.objects.create(last_pass_at=timezone.now())
    page = opened(browser_of("viewer"), query)
    assert words in page.text and not page.rows()


def test_while_nobody_observes_an_empty_list_proves_nothing_and_says_so(orders, browser_of):
    page = opened(browser_of("viewer"))
    assert "No observer has looked yet." in page.text and "The observer last looked" not in page.text


@pytest.mark.parametrize("query", ["?after=x", "?before=1-1", "?after=9-1-1"])
def test_an_address_that_no_link_made_is_a_bad_request(orders, browser_of, query):
    assert browser_of("viewer").get(HERE + query).status_code == 400


@pytest.mark.parametrize("query", ["?queue=payroll&connection=default", "?queue=default:payroll", "?queue=x:y"])
def test_a_queue_that_one_may_not_see_is_not_found(orders, payroll, browser_of, query):
    assert browser_of("viewer").get(HERE + query).status_code == 404


def test_links_and_the_form_narrow_by_the_same_queue(orders, payroll, superuser, browser_of):
    review = plain_review(1, timezone.now())
    plain_review(2, timezone.now(), queue="payroll")
    browser = browser_of("superuser")
    for query in ("?connection=default&queue=orders", "?queue=default:orders"):
        assert opened(browser, query).rows() == [str(review.pk)]


def test_it_stands_in_the_navigation_between_failed_and_queues_with_its_key(orders, browser_of):
    page = opened(browser_of("viewer"))
    keys = [one.attributes["data-go"] for one in page.elements if "data-go" in one.attributes]
    assert keys[:3] == ["o", "f", "u"]


# It did not happen ----------------------------------------------------------------------------------------------------


@pytest.fixture
def denial(shop, operator):
    """The review of 4713, which otto holds, and the form that says that it did not happen."""
    review = review_of("4713")
    take(review, operator)
    return review, fields(review, Verdict.DID_NOT_HAPPEN, seen=read("4713").seen)


@pytest.mark.django_db(transaction=True)
def test_it_did_not_happen_runs_the_job_again_and_every_page_says_who_said_so(denial, shop, browser_of):
    review, form = denial
    browser = browser_of("operator")
    answer = browser.post(f"/review/{review.pk}/resolve/", form)
    assert (answer.status_code, answer.headers["Location"]) == (302, f"/review/{review.pk}/")
    assert shop.lrange("rq:queue:orders", -1, -1) == [b"4713"]
    text = Page(browser.get(f"/review/{review.pk}/")).text
    assert "This review is closed." in text and "it did not happen by otto" in text and "order 9" in text
    assert "it did not happen said in its review" in Page(browser.get(at("job", "orders", "4713"))).text
    assert "it did not happen" in opened(browser, "?show=closed").text


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("change", [{"seen": "0-0"}, {"seen": ""}])
def test_a_job_that_changed_since_is_not_run_again(denial, shop, browser_of, change):
    review, form = denial
    answer = browser_of("operator").post(f"/review/{review.pk}/resolve/", form | change)
    assert answer.status_code == 409
    assert "the job changed since you looked" in Page(answer).text
    assert b"4713" not in shop.lrange("rq:queue:orders", 0, -1)


@pytest.mark.django_db(transaction=True)
def test_a_store_that_does_not_answer_is_503_before_the_act_and_in_the_middle_of_it(
    denial, browser_of, settings, monkeypatch
):
    review, form = denial
    address, browser = f"/review/{review.pk}/resolve/", browser_of("operator")

    def silent(*_args, **_options):
        raise commands.OutcomeUnknown

    monkeypatch.setattr(commands, "requeue_failed", silent)
    answer = browser.post(address, form)
    assert answer.status_code == 503
    assert "Not known yet" in Page(answer).text and f"/review/{review.pk}/" in Page(answer).links
    settings.OPSBOARD_CONNECTIONS = {"default": {"url": "redis://127.0.0.1:1/0"}}
    connections.reset()
    AuditEntry.objects.filter(status="intended").update(status="not_done", outcome="settled", closed_at=timezone.now())
    answer = browser.post(address, fields(review, Verdict.DID_NOT_HAPPEN, seen=form["seen"]))
    assert answer.status_code == 503 and "nothing was changed" in Page(answer).text


# Ways that lead here --------------------------------------------------------------------------------------------------


def test_review_before_retry_opens_one_and_leads_to_it(shop, operator, browser_of):
    browser = browser_of("operator")
    answer = press(browser, at("job", "orders", "4712"), at("job-retry", "orders", "4712"))
    review = Review.objects.get()
    assert (answer.status_code, answer.headers["Location"]) == (302, f"/review/{review.pk}/")
    page = Page(browser.get(answer.headers["Location"]))
    assert "A review was opened for it." in page.text and "by otto, who asked for a retry" in page.text


def test_the_page_of_a_job_in_review_leads_there_and_offers_no_retry(shop, operator, browser_of):
    review = review_of("4713")
    take(review, operator)
    page = Page(browser_of("operator").get(at("job", "orders", "4713")))
    assert "Open the review" in page.text and f"/review/{review.pk}/" in page.links
    assert "in review since" in page.text and "taken by otto" in page.text
    assert at("job-retry", "orders", "4713") not in [form.action for form in page.forms]


def test_after_the_answer_the_page_of_the_job_says_who_gave_it(shop, operator, browser_of):
    review = review_of("4713")
    take(review, operator)
    say(review, operator, Verdict.HAPPENED)
    page = Page(browser_of("operator").get(at("job", "orders", "4713")))
    assert "it happened said in its review" in page.text and "otto said so at" in page.text
    assert f"/review/{review.pk}/" in page.links


def test_another_job_of_the_same_id_is_not_in_review(shop, browser_of):
    review_of("4713")
    shop.hset("rq:job:4713", "created_at", "2026-01-01T00:00:00.000000Z")
    page = Page(browser_of("operator").get(at("job", "orders", "4713")))
    assert "in review" not in page.text and "Operation rq:" not in page.text


@pytest.mark.django_db(transaction=True)
def test_ticked_rows_that_were_sent_to_a_review_are_counted_and_linked(shop, operator, browser_of):
    JobType.objects.create(path="fx.boom", idempotency="repeatable")
    rows = [Tick("orders", one, read(one).seen).encode() for one in ("4711", "4712", "4713")]
    browser = browser_of("operator")
    answer = browser.post(at("ticked"), {"connection": "default", "verb": "retry_job", "row": rows})
    page = Page(browser.get(answer.headers["Location"]))
    assert "3 jobs: 1 done, 2 sent to review" in page.text
    assert {f"/review/{one.pk}/" for one in Review.objects.all()} <= set(page.links)
    assert Review.objects.count() == 2
