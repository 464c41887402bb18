"""The theme and the zone of the times: chosen once, kept over pages and over visits of this browser."""

from __future__ import annotations

import re
import time

from playwright.sync_api import expect

from tests.support.pages import at

# The theme at the moment when there is something to paint.
NOTE_THE_FIRST_THEME = """
new MutationObserver((_changes, observer) => {
  if (!document.body) return;
  window.firstTheme = document.documentElement.dataset.bsTheme ?? "none yet";
  observer.disconnect();
}).observe(document, { childList: true, subtree: true });
"""


def background(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def press(page, name):
    page.get_by_role("button", name=re.compile(f"^{name}")).locator("visible=true").first.click()


def test_the_theme_follows_the_system_until_it_is_chosen_and_then_stays(open_tab, viewer):
    page = open_tab(viewer, "/", color_scheme="dark")
    dark = background(page)
    page.emulate_media(color_scheme="light")
    light = background(page)
    press(page, "Theme: system")
    press(page, "Theme: light")
    expect(page.get_by_role("button", name="Theme: dark").first).to_be_visible()
    assert (light != dark, background(page)) == (True, dark)
    page.goto("/failed/")
    assert background(page) == dark
    other = page.context.new_page()
    other.goto("/workers/")
    assert background(other) == dark


def test_the_page_is_never_painted_in_the_other_theme_first(open_tab, viewer):
    page = open_tab(viewer, "/", color_scheme="light")
    press(page, "Theme: system")
    press(page, "Theme: light")
    page.add_init_script(NOTE_THE_FIRST_THEME)
    page.route("**/boot.*.js", answer_slowly)
    page.reload()
    assert page.evaluate("firstTheme") == "dark"


def answer_slowly(route):
    time.sleep(0.3)
    route.continue_()


def test_times_are_utc_until_local_ones_are_chosen_and_then_stay_so(open_tab, viewer, real_rq):
    job = at("job", "orders", real_rq.fail("fx.boom", 4711))
    page = open_tab(viewer, job, timezone_id="Asia/Kathmandu")
    ended = page.get_by_role("region", name="Latest error").locator("time").first
    expect(ended).to_contain_text("UTC")
    utc = ended.inner_text()
    press(page, "Times: UTC")
    expect(ended).to_contain_text("GMT+5:45")
    assert minutes(ended.inner_text()) == (minutes(utc) + 5 * 60 + 45) % 1440
    page.goto("/failed/")
    times = page.locator("main time .time__absolute, header time .time__absolute").all_inner_texts()
    assert times and all("GMT+5:45" in text for text in times)
    press(page, "Times: local")
    page.goto(job)
    expect(ended).to_contain_text("UTC")


def minutes(text):
    hour, minute = re.search(r"(\d\d):(\d\d):\d\d", text).groups()
    return int(hour) * 60 + int(minute)


def test_a_time_can_be_copied_as_iso_8601_whatever_zone_is_shown(open_tab, viewer, real_rq):
    page = open_tab(viewer, at("job", "orders", real_rq.fail("fx.boom", 4711)), timezone_id="Asia/Kathmandu")
    press(page, "Times: UTC")
    titles = page.locator("main time").evaluate_all("all => all.map(one => one.title)")
    assert titles and all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", title) for title in titles)
