"""Every act that asks first: leaving is the nearest answer, and a keyboard, a phone or no script at all are enough."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import expect

from jobs.models import AuditEntry, JobType
from tests.browser.hands import told
from tests.browser.test_accessibility import COLOURS, grave
from tests.browser.test_phone import PHONE, scrolls_sideways, too_small
from tests.support.keyspace import snapshot
from tests.support.pages import at
from tests.support.real_rq import wait_until


@dataclass(frozen=True)
class Asking:
    """An act that asks: how a job comes about that it can be done to, what the page says, and how to see it done."""

    verb: str
    address: str
    make: Callable[..., str]
    heading: str
    button: str
    sentence: str
    is_done: Callable[..., Any]
    word: str = ""


def failed(rq, redis):
    return rq.fail("fx.boom", 4711)


def failed_by_key(rq, redis):
    JobType.objects.create(path="fx.boom", idempotency="keyed", remembered_for_seconds=24 * 3600)
    return rq.fail("fx.boom", 4711)


def waiting(rq, redis):
    return rq.enqueue("fx.ok", 4711)


def lost(rq, redis):
    """Gone from its queue for long, its data still there: what a crash at the wrong moment leaves."""
    job_id = rq.enqueue("fx.ok", 4711)
    redis.lrem("rq:queue:orders", 0, job_id)
    redis.hset(f"rq:job:{job_id}", "enqueued_at", "2026-01-01T00:00:00.000000Z")
    return job_id


def running(rq, redis):
    job_id = rq.enqueue("fx.slow", 4711, 600)
    rq.start()
    wait_until(lambda: redis.zcard("rq:wip:orders"), "the job has its lease")
    wait_until(lambda: redis.hget(f"rq:job:{job_id}", "status") == b"started", "the job runs")
    return job_id


def ghost(rq, redis):
    job_id = rq.fail("fx.boom", 4711)
    redis.delete(f"rq:job:{job_id}")
    return job_id


def stands_in_its_queue(redis, job_id):
    return redis.lrange("rq:queue:orders", 0, -1) == [job_id.encode()]


def has_status(status):
    return lambda redis, job_id: redis.hget(f"rq:job:{job_id}", "status") == status


def is_nowhere(redis, job_id):
    return not redis.exists(f"rq:job:{job_id}") and redis.zscore("rq:failed:orders", job_id) is None


ASKING = {
    "retry by key": Asking(
        *("retry_job", "job-retry", failed_by_key, "Retry this job?", "Retry", "is back on the queue orders"),
        stands_in_its_queue,
    ),
    "enqueue a lost one": Asking(
        *("enqueue_job", "job-enqueue", lost, "Enqueue this job now?", "Enqueue now", "is on the queue orders now"),
        stands_in_its_queue,
    ),
    "cancel": Asking(
        *("cancel_job", "job-cancel", waiting, "Cancel this job?", "Cancel the job", "is cancelled: it will not run"),
        has_status(b"canceled"),
    ),
    "stop": Asking(
        *("stop_job", "job-stop", running, "Stop this job?", "Stop the run", "was told to stop it"),
        has_status(b"stopped"),
    ),
    "delete": Asking(
        *("delete_job", "job-delete", failed, "Delete this job?", "Delete for good", "is deleted, with its results"),
        is_nowhere,
        word="boom",
    ),
    "remove an entry": Asking(
        *("remove_entry", "job-remove-entry", ghost, "Remove this entry?", "Remove the entry", "is struck off the"),
        is_nowhere,
    ),
}


@pytest.fixture(params=ASKING)
def act(request):
    return ASKING[request.param]


@pytest.fixture
def job_id(site, act, real_rq, redis_client):
    return act.make(real_rq, redis_client)


@pytest.fixture
def asked(open_tab, operator, act, job_id):
    """The page that asks, in a browser of any kind."""

    def ask(**options):
        page = open_tab(operator, at(act.address, "orders", job_id), **options)
        expect(page.get_by_role("heading", level=1)).to_have_text(act.heading)
        return page

    return ask


def leaving(page):
    return page.get_by_role("link", name="Leave it as it is")


def confirming(page, act):
    return page.get_by_role("button", name=act.button)


def assert_done(page, act, job_id, redis_client):
    expect(told(page, act.sentence)).to_be_visible()
    wait_until(lambda: act.is_done(redis_client, job_id), act.sentence)
    entry = AuditEntry.objects.get()
    assert (entry.actor_name, entry.verb, entry.subject, entry.status) == ("otto", act.verb, job_id, "done")


def test_from_the_page_of_the_job_a_link_leads_there_and_a_press_does_it(open_tab, operator, act, job_id, redis_client):
    page = open_tab(operator, at("job", "orders", job_id))
    page.locator(f"a[href='{at(act.address, 'orders', job_id)}']").click()
    if act.word:
        page.get_by_label(f"Type {act.word} to confirm").fill(act.word)
    page.get_by_label("Reason").fill("agreed with Ina")
    confirming(page, act).click()
    assert_done(page, act, job_id, redis_client)
    assert AuditEntry.objects.get().reason == "agreed with Ina"


def test_leaving_it_is_focused_first_and_enter_leaves_it(asked, act, job_id, redis_client):
    page = asked()
    expect(leaving(page)).to_be_focused()
    before = snapshot(redis_client)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).not_to_have_text(act.heading)
    assert "/jobs/" not in page.url or page.url.endswith(f"/{job_id}/")
    if act.verb != "stop_job":  # whose worker goes on working
        assert snapshot(redis_client) == before
    assert not AuditEntry.objects.exists()


def test_the_keyboard_alone_is_enough(asked, act, job_id, redis_client):
    page = asked()
    page.keyboard.press("Tab")
    expect(confirming(page, act)).to_be_focused()
    page.keyboard.press("Enter")
    if act.word:
        # The browser itself leads to what is missing.
        expect(page.get_by_label(f"Type {act.word} to confirm")).to_be_focused()
        page.keyboard.type(act.word)
        page.keyboard.press("Enter")
    assert_done(page, act, job_id, redis_client)


def test_no_script_is_needed(asked, act, job_id, redis_client):
    page = asked(java_script_enabled=False)
    expect(leaving(page)).to_be_focused()
    if act.word:
        page.get_by_label(f"Type {act.word} to confirm").fill(act.word)
    confirming(page, act).click()
    assert_done(page, act, job_id, redis_client)


def test_on_a_phone_all_of_it_is_in_reach_and_hinders_nobody_in_either_theme(asked, act):
    page = asked(**PHONE)
    assert not scrolls_sideways(page)
    assert too_small(page) == []
    assert grave(page) == []
    page.emulate_media(color_scheme="dark")
    assert grave(page, COLOURS) == []


def test_three_presses_at_once_are_one(asked, act, job_id, redis_client):
    page, posts = asked(), []
    page.on("request", lambda request: posts.append(request.url) if request.method == "POST" else None)
    if act.word:
        page.get_by_label(f"Type {act.word} to confirm").fill(act.word)
    confirming(page, act).evaluate("button => { button.click(); button.click(); button.click(); }")
    assert_done(page, act, job_id, redis_client)
    assert len(posts) == 1
