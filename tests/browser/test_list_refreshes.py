"""The failed list is open while jobs go on failing: the page tells, and leaves alone what is being read."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.contrib.sessions.models import Session
from playwright.sync_api import expect

from jobs.models import JobType
from tests.browser.shop import HOSTILE
from tests.browser.stage import stand_still
from tests.support.pages import at
from tests.support.real_rq import wait_until

FAST = "localStorage.setItem('opsboard.seconds', '2')"


def rows(page):
    keys = page.locator("tbody tr").evaluate_all("rows => rows.map(row => row.dataset.key)")
    return [key.partition(":")[2] for key in keys]


@pytest.fixture
def first(site, real_rq):
    return real_rq.fail("fx.boom", 1)


@pytest.fixture
def page(open_tab, operator, first):
    """The failed list, refreshed every 2 s, its clock in the test's hands."""
    tab = open_tab(operator)
    tab.add_init_script(FAST)
    tab.asked = []
    tab.on("request", lambda one: tab.asked.append(one.url) if one.headers.get("hx-request") else None)
    stand_still(tab, datetime.now(UTC))
    tab.goto("/failed/")
    return tab


def pass_seconds(page, seconds):
    """Let the page's own clock go on, in the steps of its beat, each with time for the answer."""
    for _step in range(seconds * 2):
        page.clock.run_for(500)
        # Not wait_for_function: it evaluates text within the page, and the policy forbids that to Playwright too.
        wait_until(lambda: page.evaluate("!document.querySelector('.htmx-request')"), "the refresh is answered")


def test_a_new_failure_is_told_and_shown_when_asked_for(page, first, real_rq):
    second = real_rq.fail("fx.boom", 2)
    pass_seconds(page, 4)
    expect(page.get_by_role("button", name="1 new: show")).to_be_visible()
    assert rows(page) == [first]
    page.get_by_role("button", name="1 new: show").click()
    assert rows(page) == [second, first]
    page.get_by_role("link", name=second).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("fx.boom")


def test_hostile_text_that_a_refresh_brings_stays_text(page, first, real_rq):
    JobType.objects.create(path="fx.say", idempotency="unsafe", id_parameters=["#1", "#2"])
    second = real_rq.fail("fx.say", 2, HOSTILE)
    pass_seconds(page, 4)
    page.get_by_role("button", name="1 new: show").click()
    expect(page.locator(f"tr[data-key='orders:{second}']")).to_contain_text(HOSTILE)
    pass_seconds(page, 4)
    assert page.locator("main img, main script, main svg").count() == 0


def test_a_hostile_queue_that_a_refresh_brings_stays_text(open_tab, superuser, real_rq, first):
    page = open_tab(superuser)
    page.add_init_script(FAST)
    page.goto("/")
    real_rq.enqueue("fx.ok", 1, queue=HOSTILE)
    page.get_by_role("button", name="1 new: show").click()
    expect(page.get_by_role("row").filter(has_text=HOSTILE)).to_be_visible()
    assert page.locator("main img, main script").count() == 0


def test_a_job_that_another_retried_is_marked_where_it_stands(page, first, real_rq):
    second = real_rq.fail("fx.boom", 2)
    pass_seconds(page, 4)
    page.get_by_role("button", name="1 new: show").click()
    real_rq.evaluate(f"rq.job.Job.fetch({second!r}, connection=connection).requeue()")
    pass_seconds(page, 4)
    assert rows(page) == [second, first]
    expect(page.locator("tr.is-gone")).to_have_attribute("data-key", f"orders:{second}")


def test_paused_it_asks_nothing_until_it_is_resumed(page, first):
    page.get_by_role("button", name="Pause").click()
    page.asked.clear()
    pass_seconds(page, 30)
    assert page.asked == []
    page.get_by_role("button", name="Resume").click()
    pass_seconds(page, 3)
    assert page.asked


@pytest.mark.parametrize("wish", ["0.001", "1e-9", "-5", "0"])
def test_never_more_often_than_every_two_seconds(page, wish):
    page.add_init_script(f"localStorage.setItem('opsboard.seconds', '{wish}')")
    page.goto("/failed/")
    page.asked.clear()
    pass_seconds(page, 10)
    assert 1 <= len(page.asked) <= 5


def test_a_hidden_tab_asks_nothing_and_one_that_is_looked_at_again_does(page):
    hide(page, True)
    page.asked.clear()
    pass_seconds(page, 30)
    assert page.asked == []
    hide(page, False)
    pass_seconds(page, 1)
    assert len(page.asked) == 1


def hide(page, is_hidden):
    """What a browser tells a page whose tab is behind another; Playwright has no tabs behind others."""
    flag = "true" if is_hidden else "false"
    page.evaluate(f"Object.defineProperty(document, 'hidden', {{configurable: true, get: () => {flag}}})")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")


def test_signed_out_meanwhile_it_says_so_above_the_old_rows(page, first, site, expect_complaint):
    expect_complaint("401 for")
    expect_complaint("console error: Response Status Error Code 401")
    Session.objects.all().delete()
    pass_seconds(page, 4)
    expect(page.get_by_role("alert").filter(has_text="You are signed out.")).to_be_visible()
    assert rows(page) == [first]
    assert page.locator("main input[type=password]").count() == 0
    page.get_by_role("main").get_by_role("link", name="Sign in").click()
    expect(page).to_have_url(f"{site.address}/login/?next=%2Ffailed%2F")


def test_the_act_of_who_was_signed_out_is_not_done(open_tab, operator, first, redis_client, site):
    page = open_tab(operator, at("job-delete", "orders", first))
    Session.objects.all().delete()
    page.get_by_label("to confirm").fill("boom")
    page.get_by_role("button", name="Delete for good").click()
    expect(page.get_by_text("Nothing was done. You were signed out before your click arrived")).to_be_visible()
    assert redis_client.exists(f"rq:job:{first}")
