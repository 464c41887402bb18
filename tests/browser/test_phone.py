"""02:00, on a phone of 320 px: everything is within reach of a thumb and nothing runs off the side."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from jobs.models import JobType
from tests.browser.hands import retry_button, sign_in_by_hand, told
from tests.browser.shop import HOSTILE, LEADS_PAGES, UNBROKEN
from tests.browser.test_accessibility import grave
from tests.support.pages import at

PHONE = {"viewport": {"width": 320, "height": 640}, "has_touch": True, "is_mobile": True}
LEAST = 24
"""Pixels of a target, each way (WCAG 2.2, 2.5.8)."""

UNFOLD = "all => all.forEach(one => { one.open = true; })"
TOO_SMALL = """least => [...document.querySelectorAll('a, button, input:not([type=hidden]), select, textarea, summary')]
  .filter(one => one.checkVisibility({ visibilityProperty: true }))
  // A link within a sentence may be as low as its line.
  .filter(one => getComputedStyle(one).display !== 'inline' || one.innerText === one.parentElement.innerText.trim())
  .map(one => [one.closest('label') ?? one, one.getBoundingClientRect()])
  .map(([target, own]) => [target, own.width ? target.getBoundingClientRect() : own])
  .filter(([, box]) => box.width > 1 && (box.width < least || box.height < least))
  .map(([target, box]) => `${target.innerText || target.name}: ${box.width.toFixed(1)} x ${box.height.toFixed(1)}`)
"""
NARROWEST = "Math.min(...[...document.querySelectorAll('.list td')].map(one => one.getBoundingClientRect().width))"


@pytest.fixture
def phone(open_tab):
    """A tab as a phone has it."""
    return lambda person=None, path=None, **more: open_tab(person, path, **PHONE, **more)


def scrolls_sideways(page):
    return page.evaluate("document.scrollingElement.scrollWidth") > 320


def too_small(page):
    return page.evaluate(TOO_SMALL, LEAST)


def test_every_page_is_in_reach_of_a_thumb_hinders_nobody_and_never_scrolls_sideways(phone, lead, shop):
    page, found = phone(lead), {}
    for name, path in (shop.pages | LEADS_PAGES).items():
        page.goto(path)
        found[name, "hinders"] = grave(page)
        found[name, "sideways"] = scrolls_sideways(page)
        page.locator("[data-menu]").evaluate_all(UNFOLD)
        found[name, "too small"] = too_small(page)
        page.locator("details").evaluate_all(UNFOLD)
        found[name, "sideways, unfolded"] = scrolls_sideways(page)
    assert {place: what for place, what in found.items() if what} == {}


def test_nor_does_a_page_for_who_is_signed_out(phone, site):
    page = phone(path="/login/")
    assert not scrolls_sideways(page)
    assert too_small(page) == []


def test_a_row_is_a_card_with_all_of_its_text(phone, lead, shop):
    page = phone(lead, "/failed/")
    for row in page.locator("tbody tr").all():
        left = {cell.bounding_box()["x"] + cell.bounding_box()["width"] <= 320 for cell in row.locator("td").all()}
        assert left == {True}
    card = page.locator(f"tr[data-key='orders:{shop.hostile}']")
    for words in ("failed", "say", HOSTILE[:20], "orders", "unsafe"):
        expect(card.get_by_text(words).first).to_be_visible()
    heads = page.locator("thead th:not(.list__tick)")
    assert heads.evaluate_all("all => all.every(one => one.getBoundingClientRect().height <= 1)")


def test_a_number_in_a_card_says_what_it_counts(phone, lead, shop):
    page = phone(lead, "/")
    card = page.locator("tr[data-key='orders']")
    labels = card.locator("td[data-label]").evaluate_all(
        "all => all.map(td => getComputedStyle(td, '::before').content)"
    )
    for word in ("Waiting", "Running", "Failed", "Workers"):
        assert any(word in label for label in labels), word


def test_the_whole_error_can_be_read(phone, lead, shop):
    page = phone(lead, shop.jobs["unbroken"])
    text = page.get_by_role("region", name="Latest error").get_by_text(UNBROKEN).first
    box = text.bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 320


def test_she_signs_in_finds_the_job_by_the_menu_and_retries_it(phone, operator, real_rq, site):
    JobType.objects.create(path="fx.boom_once", idempotency="repeatable")
    job_id = real_rq.fail("fx.boom_once", 4711)
    page = phone(path="/")
    sign_in_by_hand(page, "otto")
    page.get_by_text("Menu", exact=True).tap()
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Failed").tap()
    page.get_by_role("link", name=job_id).tap()
    expect(retry_button(page)).to_be_in_viewport()
    retry_button(page).tap()
    expect(told(page, f"Job {job_id} is back on the queue orders.")).to_be_visible()


def test_the_lookup_is_in_the_menu(phone, operator, real_rq, site):
    job_id = real_rq.fail("fx.boom", 4711)
    page = phone(operator, "/")
    page.get_by_text("Menu", exact=True).tap()
    field = page.get_by_role("searchbox", name="Look up a job by its id")
    field.fill(job_id)
    field.press("Enter")
    expect(page).to_have_url(site.address + at("job", "orders", job_id))


@pytest.mark.parametrize("width", [900, 1024, 1090])
def test_on_a_tablet_no_column_is_squeezed_to_a_letter_a_line(open_tab, operator, shop, width):
    page = open_tab(operator, viewport={"width": width, "height": 768})
    for path in (at("overview"), at("reviews"), at("workers")):
        page.goto(path)
        assert page.locator(".list td").count() and page.evaluate(NARROWEST) > 40, path
