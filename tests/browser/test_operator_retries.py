"""An operator retries a failed job: the worker runs it once, or he reads why not."""

from __future__ import annotations

import re
import time

import pytest
from playwright.sync_api import expect

from jobs.models import AuditEntry, JobType
from tests.browser.hands import confirm_delete, retry_button, review_button, told
from tests.support.pages import at

# Kept in the storage, since the page is gone when the answer is there.
NOTE_THE_BUTTON = """() => addEventListener("submit", ({ target }) => {
  setTimeout(() => { sessionStorage.wasOff = target.querySelector("button").disabled; }, 100);
})"""

COUNT_WHAT_IS_SENT = """() => addEventListener("submit", (event) => {
  if (!event.defaultPrevented) sessionStorage.sent = Number(sessionStorage.sent ?? 0) + 1;
})"""


@pytest.fixture
def repeatable(site):
    return JobType.objects.create(path="fx.boom_once", idempotency="repeatable")


@pytest.fixture
def job_id(repeatable, real_rq):
    return real_rq.fail("fx.boom_once", 4711)


def test_he_presses_retry_and_sees_the_worker_finish_it(open_tab, operator, job_id, real_rq, redis_client):
    page = open_tab(operator, at("job", "orders", job_id))
    retry_button(page).click()
    expect(told(page, f"Job {job_id} is back on the queue orders.")).to_be_visible()
    expect(page.get_by_text("queued", exact=True).first).to_be_visible()
    real_rq.start()
    expect(page.get_by_text("finished", exact=True).first).to_be_visible()
    expect(page.get_by_text("The job has moved on since this page was opened.")).to_be_visible()
    assert redis_client.get("boom_once:4711") == b"2"
    entry = AuditEntry.objects.get()
    assert (entry.actor_name, entry.verb, entry.subject, entry.status) == ("otto", "retry_job", job_id, "done")


def test_the_page_names_him_and_keeps_the_first_attempt(open_tab, operator, job_id, real_rq):
    page = open_tab(operator, at("job", "orders", job_id))
    retry_button(page).click()
    expect(page.get_by_role("region", name="Acts")).to_contain_text(re.compile(r"done\s*retry\s*by otto"))
    real_rq.burst()
    page.reload()
    attempts = page.get_by_role("region", name="Attempts")
    expect(attempts).to_contain_text("#2")
    expect(attempts).to_contain_text("the shop did not answer for order 4711")


@pytest.mark.parametrize(
    ("promise", "sentence"),
    [
        ("undeclared", "Nobody has declared whether this job type may be run twice"),
        ("unsafe", "Its type is declared unsafe: running it again may act a second time."),
        ("checkable", "Its type is only safe after the other side has been asked what happened."),
    ],
)
def test_where_a_retry_is_not_provably_safe_a_review_stands_in_its_place_and_says_why(
    open_tab, operator, real_rq, redis_client, promise, sentence
):
    JobType.objects.create(path="fx.boom", idempotency=promise)
    page = open_tab(operator, at("job", "orders", real_rq.fail("fx.boom", 4711)))
    expect(page.get_by_text(sentence)).to_be_visible()
    expect(retry_button(page)).to_have_count(0)
    review_button(page).click()
    expect(page).to_have_url(re.compile(r"/review/\d+/$"))
    expect(told(page, sentence)).to_be_visible()
    expect(page.get_by_text("by otto, who asked for a retry")).to_be_visible()
    assert redis_client.llen("rq:queue:orders") == 0
    assert AuditEntry.objects.get().status == "refused"


def test_a_promise_taken_back_while_he_looked_is_refused_with_its_sentence(
    open_tab, operator, job_id, repeatable, redis_client
):
    page = open_tab(operator, at("job", "orders", job_id))
    repeatable.delete()
    retry_button(page).click()
    expect(page).to_have_url(re.compile(r"/review/\d+/$"))
    expect(told(page, "Nobody has declared")).to_be_visible()
    assert redis_client.llen("rq:queue:orders") == 0
    page.get_by_role("link", name=job_id).first.click()
    expect(page.get_by_role("region", name="Acts")).to_contain_text("refused")


def test_a_double_click_acts_once_for_the_button_is_off_after_the_first(open_tab, operator, job_id, redis_client):
    page, posts = open_tab(operator, at("job", "orders", job_id)), []
    page.on("request", lambda request: posts.append(request.url) if request.method == "POST" else None)
    page.route("**/retry/", answer_slowly)
    page.evaluate(NOTE_THE_BUTTON)
    retry_button(page).dblclick()
    expect(told(page, f"Job {job_id} is back on the queue orders.")).to_be_visible()
    assert (page.evaluate("sessionStorage.wasOff"), len(posts)) == ("true", 1)
    assert redis_client.lrange("rq:queue:orders", 0, -1) == [job_id.encode()]
    assert [entry.status for entry in AuditEntry.objects.all()] == ["done"]


def test_presses_that_come_faster_than_the_button_goes_off_are_one(open_tab, operator, job_id):
    page = open_tab(operator, at("job", "orders", job_id))
    page.evaluate(COUNT_WHAT_IS_SENT)
    retry_button(page).evaluate("button => { button.click(); button.click(); button.click(); }")
    expect(told(page, f"Job {job_id} is back on the queue orders.")).to_be_visible()
    assert page.evaluate("sessionStorage.sent") == "1"


def answer_slowly(route):
    time.sleep(0.5)
    route.continue_()


def test_what_another_tab_deleted_is_not_brought_back(open_tab, operator, job_id, redis_client):
    page = open_tab(operator, at("job", "orders", job_id))
    other = page.context.new_page()
    other.goto(at("job-delete", "orders", job_id))
    confirm_delete(other, "boom_once")
    expect(told(other, f"Job {job_id} is deleted")).to_be_visible()
    retry_button(page).click()
    expect(page.get_by_text("It was deleted by otto")).to_be_visible()
    assert redis_client.llen("rq:queue:orders") == 0
    assert not redis_client.exists(f"rq:job:{job_id}")


def test_what_another_tab_retried_is_not_retried_again(open_tab, operator, job_id, redis_client, real_rq):
    page = open_tab(operator, at("job", "orders", job_id))
    other = page.context.new_page()
    other.goto(page.url)
    retry_button(other).click()
    expect(told(other, "is back on the queue orders")).to_be_visible()
    retry_button(page).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Not done")
    expect(page.get_by_role("alert").filter(has_text="otto has just retried this job.")).to_be_visible()
    assert redis_client.llen("rq:queue:orders") == 1
    assert AuditEntry.objects.filter(status="done").count() == 1
