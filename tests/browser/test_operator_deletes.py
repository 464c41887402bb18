"""An operator deletes a job for good: asked first, with the harmless answer nearest, and on record afterwards."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from jobs.models import AuditEntry
from tests.browser.hands import confirm_delete, told
from tests.support.pages import at


@pytest.fixture
def job_id(site, real_rq):
    return real_rq.fail("fx.boom", 4711)


@pytest.fixture
def asked(open_tab, operator, job_id):
    """The confirmation page, reached the way he goes."""
    page = open_tab(operator, at("job", "orders", job_id))
    page.get_by_role("link", name=f"Delete… job {job_id}").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Delete this job?")
    return page


def test_it_says_what_goes_and_what_stays(asked, job_id):
    content = asked.get_by_role("main")
    for words in (job_id, "fx.boom", "with arguments and all results", "the record here of who deleted it and when"):
        expect(content).to_contain_text(words)


def test_it_is_gone_and_its_address_says_by_whom_and_why(asked, job_id, redis_client):
    asked.get_by_label("Reason").fill("a duplicate of order 4710")
    confirm_delete(asked, "boom")
    expect(told(asked, f"Job {job_id} is deleted, with its results.")).to_be_visible()
    expect(asked.get_by_text("No job of orders is failed now")).to_be_visible()
    assert [key for key in redis_client.keys("rq:*") if job_id.encode() in key] == []
    assert asked.goto(at("job", "orders", job_id)).status == 404
    expect(asked.get_by_text("It was deleted by otto")).to_be_visible()
    expect(asked.get_by_text("a duplicate of order 4710")).to_be_visible()
    entry = AuditEntry.objects.get()
    assert (entry.verb, entry.status, entry.reason) == ("delete_job", "done", "a duplicate of order 4710")


def test_jobs_that_wait_for_it_are_named_before(open_tab, operator, job_id, real_rq):
    waiting = real_rq.enqueue("fx.ok", 4712, depends_on=job_id)
    page = open_tab(operator, at("job-delete", "orders", job_id))
    expect(page.get_by_text("These wait for it. They never run")).to_be_visible()
    expect(page.get_by_role("link", name=waiting)).to_be_visible()


def test_what_was_deleted_meanwhile_is_said(asked, open_tab, operator, job_id):
    other = open_tab(operator, at("job-delete", "orders", job_id))
    confirm_delete(other, "boom")
    expect(told(other, "is deleted")).to_be_visible()
    confirm_delete(asked, "boom")
    expect(asked.get_by_text("It was deleted by otto")).to_be_visible()
    assert AuditEntry.objects.filter(status="done").count() == 1


def test_another_word_deletes_nothing_and_what_was_typed_as_reason_stays(asked, job_id, redis_client):
    asked.get_by_label("Reason").fill("a duplicate of order 4710")
    field = asked.get_by_label("Type boom to confirm")
    field.fill("Boom")
    asked.get_by_role("button", name="Delete for good").click()
    expect(asked.get_by_text("Nothing was done. Type boom, as it is written, to confirm.")).to_be_visible()
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(asked.get_by_label("Reason")).to_have_value("a duplicate of order 4710")
    assert redis_client.exists(f"rq:job:{job_id}")
    confirm_delete(asked, "boom")
    expect(told(asked, "is deleted")).to_be_visible()


def test_a_job_that_was_retried_meanwhile_is_kept_and_the_page_says_so(asked, job_id, real_rq, redis_client):
    """What the page asked about is no longer what is there."""
    real_rq.evaluate(f"rq.job.Job.fetch({job_id!r}, connection=connection).requeue()")
    confirm_delete(asked, "boom")
    expect(asked.get_by_role("heading", level=1)).to_have_text("Not done")
    expect(asked.get_by_role("alert").filter(has_text="changed since you looked")).to_be_visible()
    assert redis_client.exists(f"rq:job:{job_id}") and redis_client.llen("rq:queue:orders") == 1
