"""Keys, the switches of the header, copy buttons and forms that are sent once: what a person's hands find."""

from __future__ import annotations

import pytest

from tests.browser.stage import Stage, let_pass, opened, row, settle

FOCUS = "document.activeElement.closest('tr')?.dataset.key ?? document.activeElement.tagName"


@pytest.fixture
def stage():
    return Stage()


@pytest.fixture
def page(browser, stage):
    with opened(browser, stage) as tab:
        yield tab


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


# Keys ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pressed", "row_key"),
    [("j", "orders:a"), ("jj", "orders:b"), ("jjjjjj", "orders:c"), ("jjk", "orders:a"), ("k", "orders:c")],
)
def test_j_and_k_go_from_row_to_row(page, pressed, row_key):
    press(page, *pressed)
    assert page.evaluate(FOCUS) == row_key


def test_enter_opens_the_row(page, stage):
    press(page, "j", "Enter")
    page.wait_for_url("**/jobs/default/orders/a/")
    assert stage.visits[-1] == "/jobs/default/orders/a/"


@pytest.mark.parametrize(("key", "path"), [("o", "/"), ("f", "/failed/"), ("q", "/queues/"), ("w", "/workers/")])
def test_g_and_a_letter_go_to_a_page(page, stage, key, path):
    with page.expect_navigation(url=f"http://localhost{path}"):
        press(page, "g", key)
    assert stage.visits == ["/failed/", path]


def test_g_alone_is_forgotten_after_a_moment(page, stage):
    press(page, "g")
    let_pass(page, 2)
    press(page, "w")
    let_pass(page, 1)
    assert stage.visits == ["/failed/"]


def test_a_slash_goes_to_the_lookup_and_escape_leaves_it(page):
    press(page, "/", "4", "2", "j")
    assert page.evaluate("document.activeElement.value") == "42j"
    press(page, "Escape")
    assert page.evaluate(FOCUS) == "BODY"


def test_a_slash_opens_the_menu_where_the_lookup_is_in_it(browser, stage):
    with opened(browser, stage, viewport={"width": 320, "height": 700}) as page:
        press(page, "/", "7")
        assert page.locator("[data-menu] [data-lookup]").input_value() == "7"


def test_a_question_mark_shows_the_keys_and_escape_closes_them(page):
    press(page, "?")
    assert page.locator("[data-keys-help]").is_visible()
    press(page, "Escape")
    assert page.locator("[data-keys-help]").is_hidden()


def test_r_refreshes_and_p_pauses(page, stage):
    press(page, "r")
    settle(page)
    press(page, "p")
    assert stage.refreshes == 1
    assert "updates paused" in page.inner_text("[data-live-status]")


def test_no_key_writes(page, stage):
    for key in "abcdefghijklmnopqrstuvwxyzDRX0123456789":
        press(page, "j", key)
        settle(page)
    assert stage.posts == []


@pytest.mark.parametrize("modifier", ["Control", "Alt", "Meta"])
def test_a_key_with_a_modifier_is_the_browsers(page, stage, modifier):
    press(page, f"{modifier}+p")
    assert "updates every" in page.inner_text("[data-live-status]")


def test_keys_can_be_switched_off_and_stay_off(page, stage):
    press(page, "?")
    page.uncheck("[data-keys-switch]")
    press(page, "Escape")
    page.reload()
    press(page, "j", "p", "?")
    assert page.evaluate(FOCUS) == "BODY"
    assert page.locator("[data-keys-help]").is_hidden()
    page.click(".wide-only [data-keys-open]")
    assert page.locator("[data-keys-help]").is_visible()


# Switches ------------------------------------------------------------------------------------------------------------


def test_the_theme_follows_the_system_until_it_is_chosen(browser, stage):
    background = "getComputedStyle(document.body).backgroundColor"
    with opened(browser, stage, color_scheme="dark") as page:
        assert page.evaluate(background) == "rgb(15, 18, 20)"
        page.click(".wide-only [data-theme-switch]")
        assert page.evaluate(background) == "rgb(255, 255, 255)"
        page.reload()
        assert page.evaluate(background) == "rgb(255, 255, 255)"
        assert page.inner_text(".wide-only [data-theme-switch]") == "Theme: light"


def test_times_are_shown_in_the_readers_zone_when_he_asks(browser, stage):
    with opened(browser, stage, timezone_id="Asia/Kolkata") as page:
        assert page.inner_text("tbody td >> nth=0").strip() == "4 min ago · 13:58:11 UTC"
        page.click(".wide-only [data-zone-switch]")
        assert page.inner_text("tbody td >> nth=0").strip() == "4 min ago · 19:28:11 GMT+5:30"
        assert "as of 19:32:11 GMT+5:30" in page.inner_text(".header__status")
        page.click(".wide-only [data-zone-switch]")
        assert page.inner_text("tbody td >> nth=0").strip() == "4 min ago · 13:58:11 UTC"


def test_what_a_refresh_brings_is_in_the_readers_zone_too(browser, stage):
    with opened(browser, stage, timezone_id="Asia/Kolkata") as page:
        page.click(".wide-only [data-zone-switch]")
        stage.rows = [row("a", state="running", failed_at=stage.now), *stage.rows[1:]]
        let_pass(page, 6)
        assert page.inner_text("tbody td >> nth=0").strip().endswith("19:32:11 GMT+5:30")


def test_ages_go_on_counting(page):
    let_pass(page, 61)
    assert page.inner_text("tbody td >> nth=0").strip() == "5 min ago · 13:58:11 UTC"


def test_without_storage_everything_else_works(browser, stage):
    with opened(browser, stage) as page:
        page.add_init_script("Object.defineProperty(window, 'localStorage', {get() { throw new Error('refused'); }})")
        page.reload()
        page.click(".wide-only [data-theme-switch]")
        press(page, "j", "r")
        settle(page)
        assert page.evaluate(FOCUS) == "orders:a" and stage.refreshes == 1


# Forms and copies ----------------------------------------------------------------------------------------------------


FORM = """
  const form = document.createElement("form");
  form.method = "post"; form.action = "/act/"; form.dataset.once = "";
  form.innerHTML = '<button type="submit">Retry</button>';
  document.querySelector("main").append(form);
"""


def test_two_presses_are_one_request(page, stage):
    page.evaluate(FORM)
    with page.expect_response("**/act/"):
        page.dblclick("form[data-once] button")
    let_pass(page, 1)
    assert stage.posts == ["/act/"]
    assert page.locator("form[data-once] button").is_disabled()


def test_a_page_that_the_browser_kept_has_its_buttons_back(page):
    page.evaluate(FORM)
    page.click("form[data-once] button")
    let_pass(page, 1)
    page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))")
    assert page.locator("form[data-once] button").is_enabled()


def test_a_text_is_copied_whole(browser, stage):
    button = (
        "<span id='it'>4711-ab</span><button type='button' data-copy data-copy-from='it' data-word-copied='Copied'>"
    )
    with opened(browser, stage, permissions=["clipboard-read", "clipboard-write"]) as page:
        page.evaluate("html => { document.querySelector('main').innerHTML = html; }", button + "Copy</button>")
        page.click("[data-copy]")
        page.wait_for_timeout(50)
        assert page.evaluate("navigator.clipboard.readText()") == "4711-ab"
        assert page.inner_text("[data-announce]") == "Copied"


# Without script ------------------------------------------------------------------------------------------------------


def test_without_script_no_control_is_offered_that_would_do_nothing(browser, stage):
    with opened(browser, stage, java_script_enabled=False) as page:
        for control in ("[data-theme-switch]", "[data-zone-switch]", "[data-keys-open]", "[data-live-pause]"):
            assert not [one for one in page.locator(control).all() if one.is_visible()]
        assert page.locator("[data-row-link]").first.is_visible()


@pytest.mark.parametrize("width", [320, 375, 600, 768, 896, 1024, 1280, 1920])
def test_the_page_never_scrolls_sideways(browser, width):
    long = row("a" * 200, queue="q" * 200, function="m" * 150 + "." + "f" * 150, error="e" * 400)
    with opened(browser, Stage(rows=[long, row("b")]), viewport={"width": width, "height": 700}) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        if page.locator("[data-menu]").is_visible():
            page.click("[data-menu] summary")
            assert page.evaluate("document.documentElement.scrollWidth") <= width
