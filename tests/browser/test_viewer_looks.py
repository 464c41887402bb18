"""A viewer is woken at night: she signs in, finds what failed and reads why. Nothing tempts her to act."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.hands import sign_in_by_hand
from tests.support.pages import at


@pytest.fixture
def failed_job(real_rq):
    return real_rq.fail("fx.chained", 4711)


def test_she_signs_in_and_lands_where_she_wanted(open_tab, site, viewer, failed_job):
    wanted = at("job", "orders", failed_job)
    page = open_tab(path=wanted)
    expect(page).to_have_url(re.compile(r"/login/\?next="))
    sign_in_by_hand(page, "vera")
    expect(page).to_have_url(site.address + wanted)
    expect(page.get_by_role("heading", level=1)).to_have_text("fx.chained")


def test_a_wrong_password_is_said_and_the_place_she_wanted_is_kept(open_tab, site, viewer):
    page = open_tab(path="/queues/")
    sign_in_by_hand(page, "vera", "not this one")
    expect(page.get_by_role("alert").filter(has_text="password")).to_be_visible()
    sign_in_by_hand(page, "vera")
    expect(page).to_have_url(f"{site.address}/queues/")


def test_the_failed_job_is_two_clicks_from_the_overview(open_tab, viewer, failed_job):
    page = open_tab(viewer, "/")
    page.get_by_role("row", name="orders").get_by_role("link", name="1 failed").click()
    page.get_by_role("link", name=failed_job).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("fx.chained")


def test_she_reads_the_exception_with_her_own_frames_open_and_the_librarys_folded(open_tab, viewer, failed_job):
    page = open_tab(viewer, at("job", "orders", failed_job))
    error = page.get_by_role("region", name="Latest error")
    expect(error).to_contain_text("order 4711 not charged")
    expect(
        error.get_by_text('raise CardDeclined(f"order {order_id} not charged") from error', exact=True)
    ).to_be_visible()
    library = error.get_by_text(re.compile(r"perform|execute")).first
    expect(library).to_be_hidden()
    error.get_by_text(re.compile(r"library frames?")).first.click()
    expect(library).to_be_visible()


def test_the_cause_comes_after_what_it_caused(open_tab, viewer, failed_job):
    page = open_tab(viewer, at("job", "orders", failed_job))
    text = page.get_by_role("region", name="Latest error").inner_text()
    assert text.index("not charged") < text.index("no stock answer for order 4711") < text.index("KeyError")


def test_she_is_offered_no_act_and_told_which_right_is_missing(open_tab, viewer, failed_job, redis_client):
    page = open_tab(viewer, at("job", "orders", failed_job))
    expect(page.get_by_text("you may not retry jobs of this queue")).to_be_visible()
    expect(page.get_by_text("you may not delete jobs of this queue")).to_be_visible()
    posts = page.locator("form[method=post]").evaluate_all("forms => forms.map(form => form.getAttribute('action'))")
    assert set(posts) == {"/logout/"}
    assert page.locator("a[href*='/retry/'], a[href*='/delete/'], a[href*='/job-types/']").count() == 0


def test_a_queue_she_may_not_see_is_nowhere(open_tab, viewer, real_rq, payroll):
    job_id = real_rq.fail("fx.boom", 1, queue="payroll")
    page = open_tab(viewer)
    for path in ("/", "/failed/", "/queues/", "/workers/"):
        page.goto(path)
        expect(page.locator("body")).not_to_contain_text("payroll")
    assert page.goto(f"/lookup/?q={job_id}").status == 200
    expect(page.get_by_text("No job with this id that you may see")).to_be_visible()
    assert page.goto(f"/jobs/default/payroll/{job_id}/").status == 404


def test_she_signs_out_and_the_way_back_is_closed(open_tab, viewer, failed_job):
    page = open_tab(viewer, at("job", "orders", failed_job))
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_text("You are signed out.")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
