"""From an id to its page."""

from __future__ import annotations

import pytest
from django.urls import reverse
from django.utils import timezone
from guardian.shortcuts import assign_perm

from jobs.broker import connections
from jobs.models import Queue
from tests.support.failures import failure, failures
from tests.support.observer import watch
from tests.support.pages import Page, at
from tests.support.reviews import plain_review

pytestmark = pytest.mark.django_db
HERE = at("lookup")


@pytest.fixture
def browser(shop, browser_of, payroll):
    return browser_of("viewer")


@pytest.fixture
def two_stores(shop, valkey, settings):
    """The shop, and a second store that holds the same jobs."""
    settings.OPSBOARD_CONNECTIONS = {"default": {"url": valkey.url}, "billing": {"url": valkey.url}}
    connections.reset()
    return Queue.objects.create(connection="billing", name="orders")


@pytest.mark.parametrize("method", ["post", "put", "delete"])
def test_it_takes_no_other_method_than_get(browser, method):
    assert getattr(browser, method)(HERE).status_code == 405


@pytest.mark.parametrize("job_id", ["4711", "4713", "done-1", "next-1", "later-1", "held-1", "canceled-1", "slow-1"])
def test_an_id_leads_to_its_page_in_whatever_state_it_is(browser, job_id):
    answer = browser.get(HERE, {"q": f"  {job_id} "})
    assert (answer.status_code, answer.headers["Location"]) == (302, at("job", "orders", job_id))
    assert browser.get(answer.headers["Location"]).status_code == 200


@pytest.mark.parametrize("query", ["pay-1", "no-such-job", "471", "boom", "fx.boom", "4711*", "rq:job:4711", "x" * 600])
def test_what_is_hidden_unknown_or_no_whole_id_is_not_found(browser, query):
    answer = browser.get(HERE, {"q": query})
    assert answer.status_code == 200
    assert "No job with this id that you may see" in Page(answer).text or len(query) > 512
    assert not Page(answer).rows()


def test_a_hidden_job_answers_word_for_word_like_none(browser):
    hidden, none = (Page(browser.get(HERE, {"q": one})).text.replace(one, "X") for one in ("pay-1", "no-1"))
    assert hidden.partition("as of")[0] == none.partition("as of")[0]
    assert hidden.partition("Look up a job")[2][20:].count("X") == none.partition("Look up a job")[2][20:].count("X")


def test_an_empty_query_says_what_can_be_looked_up(browser):
    text = Page(browser.get(HERE)).text
    assert "Arguments, error messages and function names are not searched." in text
    assert "No job with this id" not in text


@pytest.mark.parametrize("query", ["rq:default:4713", "rq:default:done-1"])
def test_an_operation_id_leads_to_its_operation(browser, query):
    answer = browser.get(HERE, {"q": query})
    assert (answer.status_code, answer.headers["Location"]) == (302, reverse("jobs:operation", args=(query,)))
    assert browser.get(answer.headers["Location"]).status_code == 200


def test_an_operation_on_record_is_found_by_its_id_and_by_that_of_its_job(browser, orders):
    plain_review(7, timezone.now())
    for query in ("rq:default:job-7", "job-7"):
        location = browser.get(HERE, {"q": query}).headers["Location"]
        assert location == reverse("jobs:operation", args=("rq:default:job-7",))


def test_a_job_that_has_left_redis_leads_to_what_is_on_record_of_it(browser, shop):
    watch()
    shop.delete("rq:job:4711", "rq:results:4711")
    shop.zrem("rq:failed:orders", "4711")
    location = browser.get(HERE, {"q": "4711"}).headers["Location"]
    assert location == reverse("jobs:operation", args=("rq:default:4711",))


def test_a_superuser_finds_what_is_on_record_of_queues_without_a_record(shop, superuser, browser_of):
    failures(failure("unheard of", job_id="far-1"))
    location = browser_of("superuser").get(HERE, {"q": "far-1"}).headers["Location"]
    assert location == reverse("jobs:operation", args=("rq:default:far-1",))


def test_a_silent_store_does_not_hide_what_is_on_record(orders, browser_of, viewer, settings):
    plain_review(7, timezone.now())
    settings.OPSBOARD_CONNECTIONS = {"default": {"url": "redis://127.0.0.1:1/0"}}
    connections.reset()
    answer = browser_of("viewer").get(HERE, {"q": "job-7"})
    assert answer.status_code == 200
    assert reverse("jobs:operation", args=("rq:default:job-7",)) in Page(answer).links
    assert "Not every job store answered" in Page(answer).text


def test_a_ghost_leads_to_the_queue_that_lists_it(browser, shop):
    shop.zadd("rq:failed:orders", {"ghost": 9e9})
    assert browser.get(HERE, {"q": "ghost"}).headers["Location"] == at("job", "orders", "ghost")


def test_one_id_on_two_stores_is_a_choice(two_stores, browser_of, viewer):
    assign_perm("view_queue", viewer, two_stores)
    page = Page(browser_of("viewer").get(HERE, {"q": "4711"}))
    assert page.rows() == ["default:orders", "billing:orders"]
    assert at("job", "orders", "4711", connection="billing") in page.links


def test_a_store_one_may_not_see_is_not_asked_for(two_stores, browser_of):
    assert browser_of("viewer").get(HERE, {"q": "4711"}).headers["Location"] == at("job", "orders", "4711")


def test_a_silent_store_is_said_rather_than_passed_over(shop, valkey, browser_of, superuser, settings):
    settings.OPSBOARD_CONNECTIONS = {"default": {"url": valkey.url}, "billing": {"url": "redis://127.0.0.1:1/0"}}
    connections.reset()
    browser = browser_of("superuser")
    found, none = (browser.get(HERE, {"q": one}) for one in ("4711", "no-such-job"))
    assert (found.status_code, none.status_code) == (200, 200)
    assert at("job", "orders", "4711") in Page(found).links
    for answer in (found, none):
        assert "Not every job store answered (billing); the job may be there." in Page(answer).text


def test_no_store_at_all_is_not_the_same_as_no_job(shop, browser_of, superuser, settings):
    settings.OPSBOARD_CONNECTIONS = {"default": {"url": "redis://127.0.0.1:1/0"}}
    connections.reset()
    answer = browser_of("superuser").get(HERE, {"q": "4711"})
    assert answer.status_code == 503
    assert "Whether there is a job with this id is not known now." in Page(answer).text
    assert "No job with this id" not in Page(answer).text


def test_what_was_typed_comes_back_as_text(browser):
    answer = browser.get(HERE, {"q": "<script>alert(1)</script>"})
    assert "<script>alert" not in answer.text and "<script>alert(1)</script>" in Page(answer).text
