"""No page complains: not its scripts, not its policy. And the watch that every browser test rests on is awake."""

from __future__ import annotations

import pytest

INLINE = (
    "const made = document.createElement('script'); made.textContent = 'window.ran = 1'; document.body.append(made)"
)


PAGES = {
    "viewer": ("failed", "reviews", "chained", "hostile", "running", "operation", "confirm delete"),
    "outsider": ("overview", "failed", "reviews", "queues", "workers", "observer", "chained", "no such page"),
}
"""Where there is something else for them than for a lead, whose pages are all looked at in test_accessibility."""


@pytest.mark.parametrize("who", PAGES)
def test_no_page_complains_and_no_text_becomes_a_script(request, open_tab, shop, orders, who):
    page = open_tab(request.getfixturevalue(who))
    for name in PAGES[who]:
        page.goto(shop.pages[name])
        assert page.locator("main img, main script, main svg").count() == 0, name


def test_the_looks_and_icons_of_a_page_arrive(open_tab, viewer):
    page = open_tab(viewer, "/")
    sheets = "[...document.styleSheets].flatMap(sheet => [...sheet.cssRules]).filter(rule => rule.styleSheet).length"
    assert page.evaluate(sheets) >= 10
    icon = page.locator(".icon:visible").first
    mask = icon.evaluate("icon => getComputedStyle(icon).maskImage.slice(5, -2)")
    drawing = page.request.get(mask)
    assert drawing.ok and "<svg" in drawing.text()
    assert icon.evaluate("icon => icon.getBoundingClientRect().width") > 0


@pytest.mark.parametrize(
    ("misdeed", "complaints"),
    [
        (INLINE, ["console error: policy: script-src-elem against inline", "console error: "]),
        (
            "document.body.setAttribute('style', 'color: red')",
            ["console error: policy: style-src-attr against inline", "console error: "],
        ),
        ("console.error('broken')", ["console error: broken"]),
        ("console.warn('odd')", ["console warning: odd"]),
        ("setTimeout(() => { throw new Error('thrown'); })", ["script error on"]),
        ("setTimeout(() => alert(1))", ["a dialog opened: 1"]),
        ("fetch('/static/nothing.css')", ["404 for"]),
        (
            "fetch('https://elsewhere.example/').catch(() => 0)",
            ["console error: policy: connect-src against https", "console error: "],
        ),
    ],
)
def test_the_watch_notices(open_tab, viewer, expect_complaint, misdeed, complaints):
    page = open_tab(viewer, "/")
    for begin in complaints:
        expect_complaint(begin)
    page.evaluate(f"() => {{ {misdeed}; }}")
    page.wait_for_timeout(300)
