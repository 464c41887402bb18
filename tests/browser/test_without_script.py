"""With JavaScript switched off everything that matters still works; scripts only make it quicker."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from jobs.models import JobType
from tests.browser.hands import confirm_delete, retry_button, sign_in_by_hand, told
from tests.browser.shop import LEADS_PAGES
from tests.support.pages import at


@pytest.fixture
def plain_tab(open_tab):
    """A browser without script; `person` signs in through the page where none is given."""
    return lambda person=None, path=None: open_tab(person, path, java_script_enabled=False)


def test_an_operator_signs_in_looks_retries_deletes_and_signs_out(plain_tab, site, operator, real_rq, redis_client):
    JobType.objects.create(path="fx.boom", idempotency="repeatable")
    job_id = real_rq.fail("fx.boom", 4711)
    page = plain_tab(path="/failed/")
    sign_in_by_hand(page, "otto")
    page.get_by_role("link", name=job_id).click()
    retry_button(page).click()
    expect(told(page, f"Job {job_id} is back on the queue orders.")).to_be_visible()
    real_rq.burst()
    page.reload()
    page.get_by_role("link", name="Delete…").click()
    confirm_delete(page, "boom")
    expect(told(page, f"Job {job_id} is deleted")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_text("You are signed out.")).to_be_visible()
    assert not redis_client.exists(f"rq:job:{job_id}")


def test_at_320_px_the_menu_opens_and_leads_on(plain_tab, open_tab, operator, site):
    page = open_tab(operator, "/", java_script_enabled=False, viewport={"width": 320, "height": 700})
    page.get_by_text("Menu").click()
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Failed").click()
    expect(page).to_have_url(f"{site.address}/failed/")


def test_a_lead_declares_a_type(plain_tab, lead):
    page = plain_tab(lead, "/job-types/fx.boom/")
    page.get_by_role("radio", name="repeatable").check()
    page.get_by_role("button", name="Declare").click()
    expect(page.get_by_text("declared by lena").first).to_be_visible()
    assert JobType.objects.get().idempotency == "repeatable"


def test_no_page_offers_a_control_that_needs_a_script(plain_tab, lead, shop):
    page = plain_tab(lead)
    for path in (shop.pages | LEADS_PAGES).values():
        page.goto(path)
        needy = page.locator("[data-needs-script], [data-live-pause], [data-show-rows], [data-copy]")
        assert [one.inner_text() for one in needy.all() if one.is_visible()] == [], path
        # What neither leads nor sends does nothing here.
        loose = page.locator("button:visible:not([type=submit])")
        assert loose.count() == 0, path


def test_the_lookup_finds_a_job(plain_tab, operator, real_rq, site):
    job_id = real_rq.fail("fx.boom", 4711)
    page = plain_tab(operator, "/")
    page.get_by_role("searchbox").first.fill(job_id)
    page.get_by_role("button", name="Look up").click()
    expect(page).to_have_url(site.address + at("job", "orders", job_id))
