"""P01: a failed job whose payload can't be read any more.

(a) its function is gone, (b) its payload is garbage, (c) an argument's class exists in the worker only, (d) is plain.
Payloads are walked and never unpickled, so (c) can be read here: its class is named, and its type can be looked up.
"""

from __future__ import annotations

import sys

import pytest

from jobs.models import AuditEntry, JobType
from tests.support.keyspace import snapshot
from tests.support.pages import Page, at, confirm, press

pytestmark = pytest.mark.django_db(transaction=True)

IDS = ["p01a", "p01b", "p01c", "p01d"]


@pytest.fixture
def failed(lay_once):
    """Four failed jobs, as real workers leave them."""
    lay_once(lay)


def lay(rq, redis):
    rq.enqueue("fx_gone.charge", 7, job_id="p01a")
    rq.enqueue("fx.boom", 8, job_id="p01b")
    rq.enqueue("fx.boom", expression="(fx.Parcel(9),)", job_id="p01c")
    rq.enqueue("fx.boom", 10, job_id="p01d")
    rq.burst("orders")
    redis.hset("rq:job:p01b", "data", b"\x80\x05garbage")


@pytest.fixture
def browser(failed, operator, sign_in):
    return sign_in(operator)


def job_page(browser, job_id):
    return Page(browser.get(at("job", "orders", job_id)))


def test_p01_all_four_are_listed(browser):
    for address in (at("failed"), at("queue-state", "orders", "failed")):
        page = Page(browser.get(address))
        assert sorted(key.removeprefix("orders:") for key in page.rows()) == IDS
        assert "fx_gone.charge" in page.text and "4 " in page.text


def test_p01_an_unreadable_job_says_so_in_the_list_and_hides_no_other(browser):
    text = Page(browser.get(at("failed"))).text
    assert text.count("can't be read") == 1
    assert "ValueError: boom 10" in text


def test_p01_a_function_that_is_gone_is_named_with_its_id_and_what_happened(browser):
    text = job_page(browser, "p01a").text
    assert "fx_gone.charge" in text and "#1 7" in text
    assert "It never began: the function was not found" in text


def test_p01_of_a_damaged_payload_what_is_known_is_shown(browser):
    text = job_page(browser, "p01b").text
    assert "Its stored call can't be read: " in text
    assert "ValueError" in text and "p01b" in text and "It failed: the function raised an error." in text


def test_p01_what_the_unknown_arguments_were_does_not_show_in_the_message(browser):
    assert "boom 8" not in job_page(browser, "p01b").text


def test_p01_a_class_that_only_the_worker_knows_is_named_and_never_built(browser):
    text = job_page(browser, "p01c").text
    assert "fx.boom" in text and "#1 object fx.Parcel" in text
    assert "fx" not in sys.modules


@pytest.mark.parametrize("job_id", IDS)
def test_p01_each_is_found_by_its_id(browser, job_id):
    assert browser.get(at("lookup"), {"q": job_id}).headers["Location"] == at("job", "orders", job_id)


@pytest.mark.parametrize("declared", [False, True])
def test_p01_retry_of_a_damaged_payload_is_refused_with_the_reason(browser, redis_client, declared):
    if declared:
        JobType.objects.create(path="fx.boom", idempotency="repeatable")
    answer, reason = refused_retry(browser, redis_client, "p01b"), "Its stored call can't be read"
    assert answer.status_code == 409
    assert reason in Page(answer).text and reason in job_page(browser, "p01b").text
    assert AuditEntry.objects.get().decision_code == "unreadable"


def test_p01_retry_of_a_type_that_nobody_declared_leads_to_a_review_with_the_reason(browser, redis_client):
    before = snapshot(redis_client)
    address = at("job-retry", "orders", "p01c")
    assert "Review before retry" in job_page(browser, "p01c").text
    answer = press(browser, at("job", "orders", "p01c"), address)
    assert answer.status_code == 302
    text = Page(browser.get(answer.headers["Location"])).text
    assert "Nobody has declared whether this job type may be run twice" in text
    assert AuditEntry.objects.get().decision_code == "may_have_acted"
    assert snapshot(redis_client) == before


@pytest.mark.parametrize("declared", [False, True])
def test_p01_a_function_that_is_gone_is_retried_after_a_warning(browser, redis_client, declared):
    """Nothing of it ran, so nothing can happen twice; it fails again until the function is back."""
    if declared:
        JobType.objects.create(path="fx_gone.charge", idempotency="unsafe")
    text = job_page(browser, "p01a").text
    assert "the function was not found" in text
    assert "It will fail the same way again until what kept it from beginning is mended." in text
    press(browser, at("job", "orders", "p01a"), at("job-retry", "orders", "p01a"))
    assert redis_client.lrange("rq:queue:orders", 0, -1) == [b"p01a"]
    assert (AuditEntry.objects.get().status, AuditEntry.objects.get().decision_code) == ("done", "never_started")


def test_p01_a_declared_type_is_retried_by_the_worker_that_knows_the_class(browser, real_rq, redis_client):
    JobType.objects.create(path="fx.boom", idempotency="repeatable")
    data = redis_client.hget("rq:job:p01c", "data")
    press(browser, at("job", "orders", "p01c"), at("job-retry", "orders", "p01c"))
    assert redis_client.lrange("rq:queue:orders", 0, -1) == [b"p01c"]
    assert redis_client.hget("rq:job:p01c", "data") == data


@pytest.mark.parametrize(
    ("job_id", "word"), [("p01a", "charge"), ("p01b", "delete"), ("p01c", "boom"), ("p01d", "boom")]
)
def test_p01_delete_works_after_a_confirmation(browser, redis_client, job_id, word):
    """By the function's own name, or where none can be read by the word itself."""
    before, address = snapshot(redis_client), at("job-delete", "orders", job_id)
    text = Page(browser.get(address)).text
    assert job_id in text and f"Type {word} to confirm" in text
    assert snapshot(redis_client) == before
    confirm(browser, address, typed=word)
    assert not redis_client.exists(f"rq:job:{job_id}", f"rq:results:{job_id}")
    left = {member.decode() for member in redis_client.zrange("rq:failed:orders", 0, -1)}
    assert left == set(IDS) - {job_id}


def refused_retry(browser, redis_client, job_id):
    """Send what the button would send; the page offers none."""
    before = snapshot(redis_client)
    seen = redis_client.xrevrange(f"rq:results:{job_id}", count=1)[0][0].decode()
    assert at("job-retry", "orders", job_id) not in [form.action for form in job_page(browser, job_id).forms]
    answer = browser.post(at("job-retry", "orders", job_id), {"seen": seen})
    assert snapshot(redis_client) == before
    return answer
