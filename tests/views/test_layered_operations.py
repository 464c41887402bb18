"""The page of an operation of the job-safety layer: attempts, effects and deliveries, and what may be done with it."""

from __future__ import annotations

import pytest
from django.urls import reverse

from jobs.broker import connections
from jobs.domain.verdicts import Verdict
from jobs.models import Operation
from jobs.selectors.layered_steps import MOST
from tests.support.keyspace import snapshot
from tests.support.layered import queries_of
from tests.support.pages import Page, at
from tests.support.reviews import fields, take

pytestmark = pytest.mark.django_db


def address(operation, act=""):
    name = f"jobs:operation-{act}" if act else "jobs:operation"
    return reverse(name, args=(operation.operation_id,))


def opened(browser, operation):
    answer = browser.get(address(operation))
    assert answer.status_code == 200
    return Page(answer)


def test_it_tells_its_attempts_its_effects_and_its_deliveries(workshop, viewer, sign_in):
    operation = workshop.act("keyed")
    page = opened(sign_in(viewer), operation)
    for words in ("completed", "attempt 1", "act", "id-keyed-5", "it was enqueued by its code", "keyed"):
        assert words in page.text, words
    assert at("job", "orders", operation.job_id) in page.links


def test_of_a_failed_one_it_says_what_a_retry_would_do_and_by_which_row(workshop, operator, sign_in):
    page = opened(sign_in(operator), workshop.failed())
    assert "R24: nothing_begun" in page.text and "Its failed job is put back on its queue." in page.text
    assert "PermanentError: no such period" in page.text


def test_opening_it_writes_nothing(workshop, operator, sign_in):
    operation, browser = workshop.failed(), sign_in(operator)
    before = snapshot(workshop.client), operation.version
    opened(browser, operation)
    browser.get(address(operation, "retry"))
    operation.refresh_from_db()
    assert (snapshot(workshop.client), operation.version) == before


def test_while_it_may_change_its_page_refreshes_and_says_when_it_has_moved_on(workshop, operator, sign_in):
    operation, browser = workshop.submitted(), sign_in(operator)
    page = opened(browser, operation)
    assert [one.attributes["hx-get"] for one in page.elements if "data-poll" in one.attributes] == ["?shown=queued"]
    workshop.work()
    part = Page(browser.get(f"{address(operation)}?shown=queued", headers={"hx-request": "true"}))
    assert "has moved on since this page was opened" in part.text and "What happened" not in part.text
    assert not [one for one in opened(browser, operation).elements if "data-poll" in one.attributes]


def test_one_press_has_a_failed_one_run_again(workshop, operator, sign_in):
    operation, browser = workshop.failed(), sign_in(operator)
    form = next(form for form in opened(browser, operation).forms if form.action == address(operation, "retry"))
    answer = browser.post(form.action, form.fields, follow=True)
    assert answer.redirect_chain == [(address(operation), 302)]
    assert "is back on the queue orders" in Page(answer).text
    assert workshop.queued() == [operation.job_id]


def test_a_press_on_what_changed_since_says_so_and_leads_back(workshop, operator, sign_in):
    operation, browser = workshop.failed(), sign_in(operator)
    answer = browser.post(address(operation, "retry"), {"seen": operation.version - 1})
    assert answer.status_code == 409 and "the operation changed since you looked" in Page(answer).text
    assert address(operation) in Page(answer).links


def test_cancelling_asks_first_and_then_is_done(workshop, operator, sign_in):
    operation, browser = workshop.submitted(), sign_in(operator)
    assert address(operation, "cancel") in opened(browser, operation).links
    page = Page(browser.get(address(operation, "cancel")))
    form = next(form for form in page.forms if form.action == address(operation, "cancel"))
    assert Page(browser.post(form.action, {"seen": "0"})).text.count("Nothing was done") == 1
    answer = browser.post(form.action, form.fields | {"reason": "wrong order"}, follow=True)
    assert "cancelled" in Page(answer).text and "wrong order" in Page(answer).text


def test_what_wants_a_review_leads_to_it(workshop, operator, sign_in):
    operation, browser = workshop.failed_with_open_effect(), sign_in(operator)
    page = opened(browser, operation)
    assert "Review before retry" in page.text
    answer = browser.post(address(operation, "retry"), {"seen": operation.version})
    assert answer.url == reverse("jobs:review", args=(operation.reviews.get().pk,))


@pytest.mark.parametrize("who", ["outsider", "pia"])
def test_of_a_hidden_queue_there_is_no_operation(workshop, request, sign_in, who):
    operation, browser = workshop.failed(), sign_in(request.getfixturevalue(who))
    nowhere = browser.get("/nowhere/").content
    for act in ("", "retry", "cancel"):
        answer = browser.get(address(operation, act))
        assert (answer.status_code, answer.content) == (404, nowhere)
    assert browser.post(address(operation, "retry"), {"seen": operation.version}).status_code == 404


def test_who_may_only_look_reads_which_right_is_missing(workshop, viewer, sign_in):
    operation, browser = workshop.failed(), sign_in(viewer)
    assert "Not offered: you may not retry jobs of this queue" in opened(browser, operation).text
    assert browser.get(address(operation, "retry")).status_code == 403
    assert browser.post(address(operation, "retry"), {"seen": operation.version}).status_code == 403


def test_it_costs_as_many_queries_for_forty_rows_as_for_one(workshop, operator, sign_in):
    operation, browser, costs = workshop.failed(), sign_in(operator), []
    opened(browser, operation)
    for times in (1, 40):
        workshop.repeat(operation, times)
        costs.append(queries_of(lambda: opened(browser, operation)))
    assert costs[0] == costs[1]


def test_of_very_many_rows_the_newest_are_told_and_that_there_are_more(workshop, operator, sign_in):
    operation = workshop.failed()
    workshop.repeat(operation, MOST + 1)
    assert f"only the newest {MOST} each are told here" in opened(sign_in(operator), operation).text


def test_an_operation_that_redis_has_lost_still_has_its_page(workshop, operator, sign_in):
    operation = workshop.failed()
    workshop.client.flushall()
    page = opened(sign_in(operator), operation)
    assert "not in Redis" in page.text and "It is queued as a new job." in page.text


def test_an_accepted_one_without_any_delivery_has_a_page(workshop, operator, sign_in):
    operation = workshop.accepted()
    page = opened(sign_in(operator), operation)
    assert "is not on its queue yet" in page.text and "the observer queues it" in page.text


@pytest.mark.parametrize("odd", ["another connection", "a silent store"])
def test_where_the_store_cannot_be_asked_it_shows_what_is_on_record(workshop, superuser, sign_in, settings, odd):
    operation = workshop.failed()
    if odd == "another connection":
        Operation.objects.update(connection="elsewhere")
    else:
        settings.OPSBOARD_CONNECTIONS = {"default": {"url": "redis://127.0.0.1:1/0"}}
        connections.reset()
    assert "What stands here is what is on record." in opened(sign_in(superuser), operation).text
    answer = sign_in(superuser).post(address(operation, "retry"), {"seen": operation.version})
    assert answer.status_code == 503


@pytest.mark.parametrize(
    "changes",
    [
        {"args": ["no", "dict"], "declared_effects": []},
        {"reason_text": "<script>alert(1)</script>", "entity": '"><img src=x>'},
        {"job_type": "", "job_id": "a/b c%", "dispatch": {}},
        {"status": "running", "current_attempt": "00000000-0000-4000-8000-000000000009"},
    ],
    ids=["not what it was", "markup", "no type", "no attempt"],
)
def test_odd_rows_make_no_error_and_no_markup(workshop, operator, sign_in, changes):
    operation = workshop.failed()
    Operation.objects.update(**changes)
    page = opened(sign_in(operator), operation)
    assert "script" not in [one.tag for one in page.elements if not one.attributes.get("src")]
    assert not [one for one in page.elements if one.tag == "img" and one.attributes.get("src") == "x"]


def test_a_contradiction_stands_out_wherever_it_is_met(workshop, operator, sign_in):
    operation, browser = workshop.contradicted(), sign_in(operator)
    review = operation.reviews.get()
    places = [
        address(operation),
        reverse("jobs:review", args=(review.pk,)),
        at("reviews") + "?show=closed",
        at("overview"),
    ]
    for place in places:
        assert "ontradicting evidence" in Page(browser.get(place)).text, place
    assert address(operation) in Page(browser.get(at("overview"))).links


def test_a_contradiction_in_a_hidden_queue_is_told_to_nobody(workshop, pia, sign_in):
    workshop.contradicted()
    assert "ontradicting" not in Page(sign_in(pia).get(at("overview"))).text


# Where else it is met -------------------------------------------------------------------------------------------------


def test_the_page_of_its_job_says_how_it_stands_and_what_a_retry_would_do(workshop, operator, sign_in):
    operation = workshop.failed()
    page = Page(sign_in(operator).get(at("job", "orders", operation.job_id)))
    assert "R24: nothing_begun" in page.text and address(operation) in page.links
    assert "Declare this job type" not in page.text
    assert "its operation decides what is next" in page.text


def test_the_page_of_an_older_job_that_redis_has_lost_leads_to_it(workshop, operator, sign_in):
    operation = workshop.failed()
    Operation.objects.update(job_id="newer")
    workshop.client.flushall()
    answer = sign_in(operator).get(at("job", "orders", operation.job_id))
    assert answer.status_code == 404 and address(operation) in Page(answer).links


def test_where_rq_says_failed_and_the_operation_is_done_the_page_says_who_is_right(workshop, operator, sign_in):
    operation = workshop.act("keyed")
    workshop.client.hset(f"rq:job:{operation.job_id}", "status", "failed")
    workshop.client.zadd("rq:failed:orders", {operation.job_id: 9e9})
    page = Page(sign_in(operator).get(at("job", "orders", operation.job_id)))
    assert "own record is right" in page.text and "R4: already_completed" in page.text


def test_lists_say_what_a_retry_would_come_to_and_lead_to_the_operation(workshop, operator, sign_in):
    failed, unknown = workshop.failed(), workshop.in_review()
    browser = sign_in(operator)
    for place in (at("failed"), at("queue-state", "orders", "failed")):
        page = Page(browser.get(place))
        assert {address(failed), address(unknown)} <= set(page.links)
        assert "safe" in page.text and "in review" in page.text


@pytest.mark.parametrize("place", ["failed", "queue-state", "reviews", "observer", "overview"])
def test_a_list_costs_as_many_queries_for_many_operations_as_for_one(workshop, operator, sign_in, place):
    browser, costs, numbers = sign_in(operator), [], iter(range(100))
    address_of_list = at(place, *(("orders", "failed") if place == "queue-state" else ()))
    for more in (1, 5):
        for _each in range(more):
            workshop.failed(next(numbers))
            workshop.in_review(next(numbers))
        browser.get(address_of_list)
        costs.append(queries_of(lambda: browser.get(address_of_list)))
    assert costs[0] == costs[1]


def test_ticked_jobs_are_answered_by_the_same_table(workshop, operator, sign_in):
    failed, unknown = workshop.failed(), workshop.in_review()
    browser = sign_in(operator)
    ticks = [one.attributes["value"] for one in Page(browser.get(at("failed"))).elements if "value" in one.attributes]
    rows = [tick for tick in ticks if failed.job_id in tick or unknown.job_id in tick]
    answer = browser.post(at("ticked"), {"connection": "default", "verb": "retry_job", "row": rows}, follow=True)
    assert workshop.queued() == [failed.job_id]
    assert "Its review is open" in Page(answer).text


@pytest.mark.parametrize("text", ["plain:5", "5", "its job", "an older job"])
def test_the_lookup_finds_it(workshop, operator, sign_in, text):
    operation = workshop.failed()
    known = {"its job": operation.job_id, "an older job": operation.job_id}
    if text == "an older job":
        Operation.objects.update(job_id="newer")
    workshop.client.flushall()
    answer = sign_in(operator).get(at("lookup"), {"q": known.get(text, text)})
    assert (answer.status_code, answer.url) == (302, address(operation))


@pytest.mark.parametrize("text", ["plain:5", "5"])
def test_the_lookup_finds_none_of_a_hidden_queue(workshop, pia, sign_in, text):
    workshop.failed()
    assert "No job with this id that you may see" in Page(sign_in(pia).get(at("lookup"), {"q": text})).text


def test_repeats_that_were_skipped_are_counted_by_cause_in_visible_queues(workshop, operator, pia, sign_in):
    workshop.act("keyed")
    workshop.declared("act").delay("keyed", 5)
    workshop.work()
    row = "its queue delivered it again {0} {0}"
    assert row.format(1) in Page(sign_in(operator).get(at("observer"))).text
    assert row.format(0) in Page(sign_in(pia).get(at("observer"))).text


def test_links_elsewhere_know_the_operation(workshop, operator, sign_in, settings):
    settings.OPSBOARD_LINKS = [("Logs", "https://logs.example/?q={operation_id}")]
    assert "https://logs.example/?q=plain%3A5" in opened(sign_in(operator), workshop.failed()).links


# Its review -----------------------------------------------------------------------------------------------------------


def reviewed(browser, operation):
    answer = browser.get(reverse("jobs:review", args=(operation.reviews.get().pk,)))
    assert answer.status_code == 200
    return Page(answer)


def test_its_review_says_what_is_asked_and_what_is_known(workshop, operator, sign_in):
    operation = workshop.in_review()
    page = reviewed(sign_in(operator), operation)
    for words in (
        "Did “act” happen?",
        "attempt 1",
        "The attempt that began it is dead",
        "OSError: no answer",
        "unsafe",
        f"Key {operation.effects.get().idempotency_key} ",
    ):
        assert words in page.text, words
    assert address(operation) in page.links


def test_the_list_of_reviews_names_its_effect_and_itself(workshop, operator, sign_in):
    workshop.in_review()
    assert "act act act:unsafe:5" in Page(sign_in(operator).get(at("reviews"))).text


def test_its_review_is_answered_on_its_page(workshop, operator, sign_in):
    operation, browser = workshop.in_review(), sign_in(operator)
    review = operation.reviews.get()
    take(review, operator)
    answer = browser.post(
        reverse("jobs:review-resolve", args=(review.pk,)), fields(review, Verdict.DID_NOT_HAPPEN), follow=True
    )
    assert "On record. It is done again, under the same key" in Page(answer).text
    operation.refresh_from_db()
    assert (operation.status, operation.effects.get().status) == ("retry_wait", "released")


def test_reading_its_review_writes_nothing(workshop, operator, sign_in):
    operation = workshop.in_review()
    before = snapshot(workshop.client), operation.version
    reviewed(sign_in(operator), operation)
    operation.refresh_from_db()
    assert (snapshot(workshop.client), operation.version) == before
