"""axe on every page in both themes, wide; narrow it looks at each in test_phone."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.browser.hands import sign_in_by_hand
from tests.browser.shop import HOSTILE, LEADS_PAGES
from tests.support.pages import at

NARROW = 320
GRAVE = ("serious", "critical")
OPTIONS: dict[str, Any] = {
    "resultTypes": ["violations"],
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    # Would fetch the style sheets again and set them inline, which the policy forbids.
    "preload": False,
    "rules": {"target-size": {"enabled": True}},
}
# No width changes the colours, and looking at them takes the longest.
NARROW_OPTIONS = {**OPTIONS, "rules": {**OPTIONS["rules"], "color-contrast": {"enabled": False}}}
# In the other theme nothing else can differ.
COLOURS = {
    "resultTypes": ["violations"],
    "preload": False,
    "runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]},
}


def violations(page, options=None):
    """What axe finds on this page: (rule, impact, the first elements)."""
    options = options or (NARROW_OPTIONS if page.viewport_size["width"] == NARROW else OPTIONS)
    if page.evaluate("!window.axe"):
        page.evaluate(Axe().axe_script)
    found = page.evaluate("options => axe.run(document, options)", options)["violations"]
    return [(one["id"], one["impact"], [node["target"] for node in one["nodes"][:3]]) for one in found]


def grave(page, options=None):
    return [found for found in violations(page, options) if found[1] in GRAVE]


def test_no_page_hinders_anybody_in_either_theme_or_makes_an_element_of_a_text(open_tab, lead, shop):
    """As a lead, who is offered all that others are."""
    page = open_tab(lead, viewport={"width": 1280, "height": 800}, color_scheme="light")
    found = {}
    for name, path in (shop.pages | LEADS_PAGES | {"hostile lookup": f"{at('lookup')}?q={HOSTILE}"}).items():
        page.goto(path)
        found[name, "made of a text"] = page.locator("main img, main script, main svg").count()
        found[name, "light"] = grave(page)
        page.emulate_media(color_scheme="dark")
        found[name, "dark"] = grave(page, COLOURS)
        page.emulate_media(color_scheme="light")
    assert {place: rules for place, rules in found.items() if rules} == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nor_do_signing_in_and_being_refused(open_tab, viewer, scheme):
    page = open_tab(path="/login/", color_scheme=scheme)
    assert grave(page) == []
    sign_in_by_hand(page, "vera", "not this one")
    expect(page.get_by_role("alert").filter(has_text="password")).to_be_visible()
    assert grave(page) == []


def test_nor_do_the_keys_and_all_that_is_folded(open_tab, lead, shop):
    page = open_tab(lead, shop.jobs["chained"])
    page.locator("details").evaluate_all("all => all.forEach(one => { one.open = true; })")
    page.keyboard.press("?")
    assert grave(page) == []


def test_axe_would_find_what_hinders(open_tab, viewer):
    page = open_tab(viewer, "/")
    page.locator("h1").evaluate("heading => { heading.style.color = 'rgb(230, 230, 230)'; }")
    assert [rule for rule, _impact, _where in grave(page)] == ["color-contrast"]
