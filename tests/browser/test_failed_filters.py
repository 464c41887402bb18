"""The failed list is long, and somebody narrows it: by forms alone, and by keys alone."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.test_phone import PHONE, scrolls_sideways, too_small


def rows(page):
    return page.locator("tbody tr")


def narrow(page):
    return page.get_by_role("search", name="Failed jobs")


def show(page):
    return narrow(page).get_by_role("button", name="Show")


def test_without_script_it_is_narrowed_by_what_is_there_and_widened_again(open_tab, operator, shop):
    page = open_tab(operator, "/failed/", java_script_enabled=False)
    everything = rows(page).count()
    assert everything > 2
    page.get_by_label("Job type").select_option("fx.chained")
    page.get_by_label("Since").fill("7d")
    show(page).click()
    expect(rows(page)).to_have_count(1)
    expect(page.get_by_label("Job type")).to_have_value("fx.chained")
    expect(page.get_by_label("Since")).to_have_value(re.compile(r"^\d{4}-\d\d-\d\dT"))

    narrow(page).locator("[name=error]").select_option("ValueError")
    show(page).click()
    expect(page.get_by_text("No failed job fits what the list is narrowed to")).to_be_visible()
    expect(page.get_by_text(f"Without it there are {everything}.")).to_be_visible()
    narrow(page).get_by_role("link", name="Clear").click()
    expect(rows(page)).to_have_count(everything)


def test_by_key_a_time_is_typed_what_is_wrong_with_it_is_said_and_it_is_mended(open_tab, operator, shop):
    page = open_tab(operator, "/failed/")
    everything = rows(page).count()
    since = page.get_by_label("Since")
    since.focus()
    page.keyboard.type("yesterday jk?")
    page.keyboard.press("Enter")
    expect(since).to_have_value("yesterday jk?")
    expect(since).to_have_attribute("aria-invalid", "true")
    expect(since).to_have_accessible_description(re.compile("how long ago, like 24h"))
    expect(page.get_by_role("alert").filter(has_text="Nothing is shown")).to_be_visible()

    since.focus()
    page.keyboard.press("Control+a")
    page.keyboard.type("24h")
    page.keyboard.press("Enter")
    expect(rows(page)).to_have_count(everything)
    page.get_by_label("Finding").focus()
    page.keyboard.type("result")
    page.keyboard.press("Tab")
    show(page).press("Enter")
    expect(rows(page)).to_have_count(1)
    expect(page).to_have_url(re.compile("finding=result_unknown"))


def test_on_a_phone_it_is_folded_until_it_is_wanted_and_unfolded_while_it_narrows(open_tab, operator, shop):
    page = open_tab(operator, "/failed/", **PHONE)
    expect(page.get_by_label("Job type")).to_be_hidden()
    page.get_by_text("Narrow the list").tap()
    page.get_by_label("Job type").select_option("fx.chained")
    show(page).tap()
    expect(rows(page)).to_have_count(1)
    expect(page.get_by_label("Job type")).to_have_value("fx.chained")
    assert not scrolls_sideways(page) and too_small(page) == []
