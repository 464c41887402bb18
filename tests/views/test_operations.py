"""One operation: everything that is on record of it, in the order of time, also after the job has left Redis."""

from __future__ import annotations

import zlib
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from jobs.broker import connections
from jobs.domain.verdicts import Verdict
from jobs.models import FailedJob, JobType, ObservedAttempt, Operation, Review
from jobs.selectors.operation import MOST_ACTS, MOST_RUNS
from tests.support.audit import entry
from tests.support.keyspace import snapshot
from tests.support.observer import watch
from tests.support.pages import Page, at
from tests.support.reviews import plain_review, review_of, say, take
from tests.support.traffic import count_traffic

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)


def address(operation_id):
    return reverse("jobs:operation", args=(operation_id,))


HERE = address("rq:default:4713")


def opened(browser, operation_id="rq:default:4713"):
    answer = browser.get(address(operation_id))
    assert answer.status_code == 200
    return Page(answer)


def gone(shop, job_id="4713"):
    """The observer has seen it failed, then that it has left Redis."""
    watch()
    for key in shop.keys(f"rq:*:{job_id}"):
        shop.delete(key)
    shop.zrem("rq:failed:orders", job_id)
    watch()


def in_order(text, *words):
    places = [text.index(one) for one in words]
    assert places == sorted(places), words


def test_its_story_is_told_from_the_beginning_to_the_answer(shop, operator, browser_of):
    review = review_of("4713")
    take(review, operator)
    say(review, operator, Verdict.ABANDON, reason="the bank is closed")
    page = opened(browser_of("viewer"))
    told = page.text.partition("What happened")[2]
    in_order(
        told,
        "created",
        "queued",
        "failed · started",
        "Work-horse terminated unexpectedly",
        "result unknown · review opened by the observer",
        "done · take the review by otto",
        "given up · said in the review by otto",
        "the bank is closed",
    )
    assert "decide the review" not in told
    assert {f"/review/{review.pk}/", at("job", "orders", "4713")} <= set(page.links)


def test_an_open_review_is_what_it_says_first_and_offers(shop, browser_of):
    review = review_of("4713")
    page = opened(browser_of("viewer"))
    assert "in review Nobody knows whether it took effect" in page.text
    assert "Open the review" in page.text and f"/review/{review.pk}/" in page.links


def test_a_plain_job_needs_no_record(shop, orders, browser_of):
    page = opened(browser_of("viewer"), "rq:default:done-1")
    in_order(page.text.partition("What happened")[2], "created", "queued", "finished · started")
    assert not Operation.objects.exists() and not FailedJob.objects.exists()


def test_a_run_that_goes_on_is_the_last_step(shop, orders, browser_of):
    page = opened(browser_of("viewer"), "rq:default:slow-1")
    assert page.text.partition("What happened")[2].rstrip().count("running · started") == 1


def test_what_redis_has_forgotten_is_still_told_with_its_error_and_when_it_went(shop, orders, browser_of):
    gone(shop, "4711")
    page = opened(browser_of("viewer"), "rq:default:4711")
    assert "gone" in page.text and "Redis has it no more since" in page.text
    in_order(
        page.text.partition("What happened")[2], "created", "queued", "failed · started", "ValueError", "gone seen"
    )
    assert "Traceback" in page.text
    assert at("job", "orders", "4711") not in page.links


def test_who_deleted_it_is_told(shop, orders, now, browser_of):
    watch()
    entry(timezone.now(), subject="4711", verb="delete_job", reason="not wanted any more")
    shop.delete("rq:job:4711", "rq:results:4711")
    text = opened(browser_of("viewer"), "rq:default:4711").text
    assert "done · delete by otto" in text and "not wanted any more" in text


def test_of_very_many_runs_and_acts_the_newest_are_told_and_it_says_so(shop, orders, lead, browser_of):
    watch()
    kept = ObservedAttempt.objects.get(failed_job__job_id="4711")
    older = [{"result_id": f"1-{number}", "recorded_at": kept.recorded_at - number * HOUR} for number in range(1, 101)]
    ObservedAttempt.objects.bulk_create(
        ObservedAttempt(failed_job=kept.failed_job, kind="failed", error_line=f"no {one['result_id']}.", **one)
        for one in older
    )
    for ago in range(MOST_ACTS + 1):
        entry(timezone.now(), ago=ago, subject="4711", outcome=f"outcome {ago}.")
    page = opened(browser_of("lead"), "rq:default:4711")
    assert f"only the newest {MOST_RUNS} are told" in page.text and f"only the newest {MOST_ACTS} acts" in page.text
    assert f"{reverse('jobs:audit')}?job=4711" in page.links
    assert page.text.count("failed · started") == MOST_RUNS
    assert "no 1-99." in page.text and "no 1-100." not in page.text
    assert "outcome 49." in page.text and "outcome 50." not in page.text


def test_of_fewer_it_says_nothing_of_the_kind(shop, orders, browser_of):
    watch()
    assert "only the newest" not in opened(browser_of("viewer"), "rq:default:4711").text


def test_what_is_an_id_no_more_is_masked_in_what_was_kept(shop, orders, browser_of):
    told_twice(shop)
    JobType.objects.create(path="fx.boom", id_parameters=["nothing"])
    text = opened(browser_of("viewer"), "rq:default:4711").text
    assert text.count("ValueError") > 1 and "70007" not in text


def told_twice(shop):
    """4711 is gone; its error names an argument that was an id when it was kept, in its line and in its text."""
    gone(shop, "4711")
    FailedJob.objects.filter(job_id="4711").update(ids=[["#1", "70007", "number", True]])
    text = 'Traceback (most recent call last):\n  File "fx.py", line 1, in boom\nValueError: no order 70007'
    changes = {"error_line": "ValueError: no order 70007", "compressed_text": zlib.compress(text.encode())}
    ObservedAttempt.objects.filter(failed_job__job_id="4711").update(**changes)


def test_what_is_still_an_id_stays_in_what_was_kept(shop, orders, browser_of):
    told_twice(shop)
    assert opened(browser_of("viewer"), "rq:default:4711").text.count("70007") > 1


def test_each_run_is_told_once_though_redis_and_the_record_have_it(shop, orders, browser_of):
    watch()
    text = opened(browser_of("viewer"), "rq:default:4711").text
    assert text.partition("What happened")[2].count("failed · started") == 1


def test_links_out_are_built_from_its_id(shop, orders, browser_of, settings):
    settings.OPSBOARD_LINKS = (("Logs", "https://logs.example/?q={operation_id}&q={queue}"),)
    page = opened(browser_of("viewer"))
    assert "https://logs.example/?q=rq%3Adefault%3A4713&q=orders" in page.links and "logs.example" in page.text


@pytest.mark.parametrize("operation_id", ["rq:default:pay-1", "rq:default:nobody", "nobody", "rq:nowhere:4711", "rq:x"])
def test_what_is_hidden_or_unknown_is_not_found(shop, orders, payroll, browser_of, operation_id):
    review_of("pay-1", "payroll")
    answer = browser_of("viewer").get(address(operation_id))
    assert answer.status_code == 404
    assert answer.content == browser_of("viewer").get("/nowhere/").content


def test_a_hidden_operation_does_not_hide_a_job_of_that_id_that_one_may_see(shop, orders, payroll, browser_of):
    hidden = review_of("pay-1", "payroll")
    Review.objects.filter(pk=hidden.pk).update(sentence="The payroll did not balance.")
    shop.hset("rq:job:pay-1", "origin", "orders")
    page = opened(browser_of("viewer"), "rq:default:pay-1")
    assert "payroll" not in page.text and "did not balance" not in page.text
    assert "in review" not in page.text and f"/review/{hidden.pk}/" not in page.links


def test_an_earlier_job_of_the_same_id_keeps_its_own_story(shop, orders, browser_of):
    watch()
    review_of("4713")
    shop.hset("rq:job:4713", "created_at", "2026-01-01T00:00:00.000000Z")
    shop.hset("rq:job:4713", "status", "finished")
    page = opened(browser_of("viewer"))
    assert "finished" not in page.text and "Open the job" not in page.text


def test_a_silent_store_leaves_what_is_on_record_and_cannot_say_what_is_not(shop, orders, browser_of, settings):
    review_of("4713")
    settings.OPSBOARD_CONNECTIONS = {"default": {"url": "redis://127.0.0.1:1/0"}}
    connections.reset()
    browser = browser_of("viewer")
    assert "What stands here is what is on record." in opened(browser).text
    assert browser.get(address("rq:default:done-1")).status_code == 503


def test_the_page_of_a_job_leads_to_it_and_so_does_that_of_a_job_that_is_gone(shop, orders, browser_of):
    browser = browser_of("viewer")
    assert HERE in Page(browser.get(at("job", "orders", "4713"))).links
    before = browser.get(at("job", "orders", "nobody"))
    assert "on record" not in Page(before).text
    gone(shop)
    answer = browser.get(at("job", "orders", "4713"))
    assert answer.status_code == 404
    assert HERE in Page(answer).links and "What is on record of it stays" in Page(answer).text


def test_the_longest_job_id_has_an_address_of_its_operation(shop, orders, browser_of):
    longest = "x" * 512
    shop.copy("rq:job:4711", f"rq:job:{longest}")
    assert at("job", "orders", longest) in opened(browser_of("viewer"), f"rq:default:{longest}").links


def test_it_costs_two_round_trips_and_as_many_queries_for_fifty_entries_as_for_one(shop, operator, browser_of):
    browser, taken = browser_of("operator"), []
    review_of("4713")
    browser.get(HERE)
    before = snapshot(shop)
    for number in (1, 49):
        for ago in range(number):
            entry(timezone.now(), ago=ago, subject="4713")
        with CaptureQueriesContext(connection) as queries, count_traffic(shop) as traffic:
            opened(browser)
        assert traffic.round_trips <= 3
        taken.append(len(queries))
    assert taken[0] == taken[1]
    assert snapshot(shop) == before


def test_of_several_reviews_each_is_told(shop, orders, browser_of):
    now = timezone.now()
    first = plain_review(1, now - 2 * HOUR)
    say(first, None, Verdict.HAPPENED, now=now - HOUR, evidence={"result_id": "1-0"})
    text = opened(browser_of("viewer"), "rq:default:job-1").text
    in_order(text, "review opened by the observer", "it happened · said in the review by late evidence")
