"""Hands on the keyboard: from page to page and from row to row, and no key that changes anything."""

from __future__ import annotations

import string

import pytest
from playwright.sync_api import expect

from jobs.models import AuditEntry, JobType
from tests.browser.shop import LEADS_PAGES
from tests.support.keyspace import snapshot
from tests.support.pages import at

FOLLOW_NO_LINK = "addEventListener('click', event => event.target.closest('a') && event.preventDefault(), true)"


def press(page, keys):
    for key in keys.split():
        page.keyboard.press(key)


def test_from_the_overview_to_a_failed_job_and_back_without_a_mouse(open_tab, operator, real_rq, site):
    older = real_rq.fail("fx.boom", 4710)
    real_rq.fail("fx.boom", 4711)
    page = open_tab(operator, "/")
    press(page, "g f")
    expect(page).to_have_url(f"{site.address}/failed/")
    press(page, "j j j k j Enter")
    expect(page).to_have_url(site.address + at("job", "orders", older))
    press(page, "Escape")
    expect(page).to_have_url(f"{site.address}/failed/")


@pytest.mark.parametrize(
    ("key", "path"), [("o", "/"), ("q", "/queues/"), ("w", "/workers/"), ("t", "/job-types/"), ("a", "/access/")]
)
def test_g_and_a_letter_go_where_the_navigation_leads(open_tab, lead, site, key, path):
    page = open_tab(lead, "/failed/")
    press(page, f"g {key}")
    expect(page).to_have_url(site.address + path)


def test_a_slash_reaches_the_lookup_and_enter_the_job(open_tab, operator, real_rq, site):
    job_id = real_rq.fail("fx.boom", 4711)
    page = open_tab(operator, "/")
    press(page, "/")
    expect(page.get_by_role("searchbox", name="Look up a job by its id")).to_be_focused()
    page.keyboard.type(job_id)
    press(page, "Enter")
    expect(page).to_have_url(site.address + at("job", "orders", job_id))


def test_what_is_typed_in_a_field_is_text(open_tab, lead, site):
    page = open_tab(lead, "/job-types/fx.boom/")
    field = page.get_by_label("Why")
    field.focus()
    page.keyboard.type("g f ? / jkp")
    expect(field).to_have_value("g f ? / jkp")
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(page).to_have_url(f"{site.address}/job-types/fx.boom/")


def test_the_help_opens_holds_the_focus_and_closes(open_tab, operator):
    page = open_tab(operator, "/")
    press(page, "?")
    dialog = page.get_by_role("dialog", name="Keys")
    expect(dialog).to_be_visible()
    press(page, "Tab Tab Tab")
    assert page.evaluate("document.activeElement === document.body || !!document.activeElement.closest('dialog')")
    press(page, "Escape")
    expect(dialog).to_be_hidden()


@pytest.mark.parametrize(("who", "offered"), [("operator", False), ("lead", True)])
def test_the_help_names_the_keys_of_pages_that_one_may_open(request, open_tab, who, offered):
    page = open_tab(request.getfixturevalue(who), "/")
    press(page, "?")
    expect(page.get_by_role("dialog").get_by_text("Job types")).to_have_count(int(offered))
    expect(page.get_by_role("dialog").get_by_text("Access")).to_have_count(int(offered))


def test_no_key_on_no_page_writes_anything(open_tab, lead, shop, redis_client):
    context, posts = open_tab(lead).context, []
    context.on("request", lambda request: posts.append(request.url) if request.method != "GET" else None)
    context.add_init_script(FOLLOW_NO_LINK)
    before = snapshot(redis_client)
    for path in (shop.jobs["repeatable"], shop.pages["confirm delete"], "/failed/", LEADS_PAGES["a declared type"]):
        page = context.new_page()
        page.goto(path)
        page.locator("body").click(position={"x": 1, "y": 300})
        for key in string.ascii_lowercase + string.digits + "DRX!?":
            page.keyboard.press(key)
            page.keyboard.press("Escape")
        page.wait_for_load_state()
    assert posts == []
    assert snapshot(redis_client) == before
    assert not AuditEntry.objects.exists()


def test_the_keyboard_alone_retries_by_the_button(open_tab, operator, real_rq):
    JobType.objects.create(path="fx.boom", idempotency="repeatable")
    page = open_tab(operator, at("job", "orders", real_rq.fail("fx.boom", 4711)))
    for _step in range(60):
        press(page, "Tab")
        if page.evaluate("document.activeElement.innerText").startswith("Retry"):
            break
    press(page, "Enter")
    expect(page.get_by_role("status").filter(has_text="is back on the queue orders")).to_be_visible()


def test_the_first_tab_skips_to_the_content(open_tab, operator, site):
    page = open_tab(operator, "/failed/")
    press(page, "Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    expect(page.get_by_role("link", name="Skip to the content")).to_be_in_viewport()
    press(page, "Enter")
    assert page.evaluate("document.activeElement.id") == "content"
