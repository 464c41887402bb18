"""An operator ticks jobs by hand and by key, acts on them at once, and reads what became of each."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from jobs.models import AuditEntry, JobType
from tests.browser.test_accessibility import grave
from tests.browser.test_list_refreshes import FAST, pass_seconds
from tests.browser.test_phone import PHONE, scrolls_sideways, too_small
from tests.support.pages import at


@pytest.fixture
def jobs(site, real_rq, redis_client):
    """Five failed jobs that may be run again, the first on top."""
    JobType.objects.create(path="fx.boom", idempotency="repeatable")
    for number in range(5):
        real_rq.enqueue("fx.boom", number, job_id=f"job-{number}")
    real_rq.burst()
    for number in range(5):
        times = {"started_at": "2026-03-14T15:09:00.000000Z", "ended_at": f"2026-03-14T15:09:{26 - number}.000000Z"}
        redis_client.hset(f"rq:job:job-{number}", mapping=times)
        # RQ's own list is in the order in which they expire.
        redis_client.zadd("rq:failed:orders", {f"job-{number}": 1_900_000_000 - number})
    return [f"job-{number}" for number in range(5)]


@pytest.fixture
def page(open_tab, operator, jobs):
    return open_tab(operator, "/failed/")


def box(page, job_id):
    return page.get_by_role("checkbox", name=f"Tick job {job_id}", exact=True)


def ticked(page):
    return page.locator("input[name=row]:checked").evaluate_all("all => all.map(one => one.value.split('/')[1])")


def counted(page, words):
    return page.get_by_role("status").filter(has_text=words)


def test_she_ticks_two_retries_them_and_reads_what_became_of_them(page, jobs, redis_client):
    retry = page.get_by_role("button", name="Retry the ticked jobs")
    expect(retry).to_be_hidden()
    box(page, "job-1").check()
    box(page, "job-3").check()
    expect(counted(page, "2 jobs ticked")).to_be_visible()
    retry.click()
    expect(page.get_by_role("status").filter(has_text="2 jobs: 2 done")).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="is back on the queue orders")).to_have_count(2)
    assert redis_client.lrange("rq:queue:orders", 0, -1) == [b"job-1", b"job-3"]
    page.get_by_role("link", name="Back to the list").click()
    assert page.url.endswith(at("queue-state", "orders", "failed"))


def test_all_on_the_page_and_none_again(page, jobs):
    everything = page.get_by_role("checkbox", name="All on this page")
    everything.check()
    assert ticked(page) == jobs
    expect(counted(page, "5 jobs ticked")).to_be_visible()
    box(page, "job-2").uncheck()
    assert everything.evaluate("one => one.indeterminate")
    everything.check()
    everything.uncheck()
    assert ticked(page) == []
    expect(counted(page, "No job ticked")).to_be_visible()


def test_with_shift_all_between_are_ticked_too(page):
    box(page, "job-1").click()
    box(page, "job-3").click(modifiers=["Shift"])
    assert ticked(page) == ["job-1", "job-2", "job-3"]
    box(page, "job-2").click()
    box(page, "job-1").click(modifiers=["Shift"])
    assert ticked(page) == ["job-3"]


def test_by_key_a_row_is_ticked_and_a_range_of_them(page):
    for key in "jxjj":
        page.keyboard.press(key)
    page.keyboard.press("Shift+X")
    assert ticked(page) == ["job-0", "job-1", "job-2"]
    page.keyboard.press("x")
    assert ticked(page) == ["job-0", "job-1"]
    expect(counted(page, "2 jobs ticked")).to_be_visible()
    assert not AuditEntry.objects.exists()


def test_from_a_box_the_keys_lead_on(page):
    box(page, "job-1").click()
    page.keyboard.press("j")
    page.keyboard.press("x")
    assert ticked(page) == ["job-1", "job-2"]


def test_ticks_survive_what_a_refresh_brings(open_tab, operator, jobs, real_rq, redis_client):
    page = open_tab(operator)
    page.add_init_script(FAST)
    page.clock.install()
    page.goto("/failed/")
    box(page, "job-1").check()
    box(page, "job-4").check()
    seen = page.locator("input[name=row]:checked").first.input_value()
    redis_client.xadd("rq:results:job-1", {"type": 2, "exc_string": ""})
    real_rq.fail("fx.boom", 9, job_id="new-1")
    pass_seconds(page, 4)
    assert ticked(page) == ["job-1", "job-4"]
    page.get_by_role("button", name="1 new: show").click()
    expect(page.get_by_role("link", name="new-1")).to_be_visible()
    assert ticked(page) == ["job-1", "job-4"]
    expect(counted(page, "2 jobs ticked")).to_be_visible()
    # A tick stands for what was seen when it was made.
    assert page.locator("input[name=row]:checked").first.input_value() == seen
    page.get_by_role("button", name="Retry the ticked jobs").click()
    expect(page.get_by_role("status").filter(has_text="2 jobs: 1 done, 1 changed since you looked")).to_be_visible()
    assert redis_client.lrange("rq:queue:orders", 0, -1) == [b"job-4"]


def delete_ticked(page):
    page.get_by_role("button", name="Delete… the ticked jobs").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Delete 2 jobs?")


def test_a_delete_asks_for_the_number_and_keeps_by_default(page, redis_client):
    box(page, "job-0").check()
    box(page, "job-2").check()
    delete_ticked(page)
    keep = page.get_by_role("link", name="Keep the jobs").first
    expect(keep).to_be_focused()
    expect(keep).to_be_in_viewport()
    page.get_by_label("Type 2 to delete them for good").fill("3")
    page.get_by_role("button", name="Delete for good").click()
    expect(page.get_by_role("alert").filter(has_text="The number was not that of the jobs")).to_be_visible()
    assert redis_client.zcard("rq:failed:orders") == 5
    page.get_by_label("Type 2 to delete them for good").fill("2")
    page.get_by_role("button", name="Delete for good").click()
    expect(page.get_by_role("status").filter(has_text="2 jobs: 2 done")).to_be_visible()
    assert redis_client.zrange("rq:failed:orders", 0, -1) == [b"job-4", b"job-3", b"job-1"]


def test_keeping_them_leads_back_to_the_list(page, redis_client):
    box(page, "job-0").check()
    box(page, "job-2").check()
    delete_ticked(page)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Failed")
    assert redis_client.zcard("rq:failed:orders") == 5 and not AuditEntry.objects.exists()


def test_without_script_all_of_it_works(open_tab, operator, jobs, redis_client):
    page = open_tab(operator, "/failed/", java_script_enabled=False)
    expect(page.get_by_role("button", name="Retry the ticked jobs")).to_be_hidden()
    expect(page.get_by_text("All on this page")).to_be_hidden()
    box(page, "job-0").check()
    page.get_by_role("button", name="Retry the ticked jobs").click()
    expect(page.get_by_text("1 job: 1 done")).to_be_visible()
    page.goto("/failed/")
    box(page, "job-1").check()
    box(page, "job-2").check()
    delete_ticked(page)
    page.get_by_label("Type 2 to delete them for good").fill("2")
    page.get_by_role("button", name="Delete for good").click()
    expect(page.get_by_text("2 jobs: 2 done")).to_be_visible()
    assert redis_client.zrange("rq:failed:orders", 0, -1) == [b"job-4", b"job-3"]


def test_by_thumb_on_a_phone(open_tab, operator, jobs, redis_client):
    page = open_tab(operator, "/failed/", **PHONE)
    assert not scrolls_sideways(page)
    box(page, "job-0").tap()
    page.locator("tr[data-key='orders:job-2'] .list__tick label").tap(position={"x": 4, "y": 4})
    expect(page.get_by_role("button", name="Delete… the ticked jobs")).to_be_in_viewport()
    assert not scrolls_sideways(page) and too_small(page) == []
    delete_ticked(page)
    assert not scrolls_sideways(page) and too_small(page) == []
    page.get_by_label("Type 2 to delete them for good").fill("2")
    page.get_by_role("button", name="Delete for good").tap()
    expect(page.get_by_text("2 jobs: 2 done")).to_be_visible()
    assert not scrolls_sideways(page) and too_small(page) == []


COVERED = """row => {
  const box = row.querySelector('.list__tick label').getBoundingClientRect();
  const words = [...row.querySelectorAll('td:not(.list__tick) > *')].map((one) => one.getBoundingClientRect());
  return words.some((word) => word.left < box.right || word.right > document.body.clientWidth);
}"""


@pytest.mark.parametrize("address", [at("failed"), at("queue-state", "orders", "failed")])
def test_on_a_phone_a_box_covers_nothing_and_pushes_nothing_out(open_tab, operator, shop, address):
    page = open_tab(operator, address, **PHONE)
    rows = page.locator("tbody tr")
    assert rows.count() == 6
    assert [row.get_attribute("data-key") for row in rows.all() if row.evaluate(COVERED)] == []


def test_nothing_of_it_keeps_anybody_out(page, open_tab, operator):
    for size in ({"width": 1280, "height": 720}, {"width": 320, "height": 640}):
        page.set_viewport_size(size)
        page.goto("/failed/")
        assert grave(page) == []
        box(page, "job-0").check()
        box(page, "job-2").check()
        assert grave(page) == []
        delete_ticked(page)
        assert grave(page) == []
    page.goto("/failed/")
    box(page, "job-0").check()
    page.get_by_role("button", name="Retry the ticked jobs").click()
    expect(page.get_by_text("1 job: 1 done")).to_be_visible()
    assert grave(page) == []
