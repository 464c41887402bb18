"""A page that refreshes itself: seldom enough, and never under the reader's hands."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import quote

import pytest

from tests.browser.stage import CSP, NOW, Stage, let_pass, opened, refresh, row

REMEMBER = "localStorage.setItem('opsboard.{}', '{}')"
PLACES = "[scrollY, ...[...document.querySelectorAll('tbody tr')].map(row => row.getBoundingClientRect().top)]"
HIDDEN = "Object.defineProperty(document, 'hidden', {get: () => true})"


@pytest.fixture
def stage():
    return Stage()


@pytest.fixture
def page(browser, stage):
    with opened(browser, stage) as tab:
        yield tab


def keys(page):
    return page.eval_on_selector_all("tbody tr", "rows => rows.map(row => row.dataset.key.split(':')[1])")


def cell(page, job_id, number):
    return page.locator(f"tr[data-key='orders:{job_id}'] > td").nth(number)


def test_the_pages_here_are_under_the_policy_of_the_product(settings):
    directives = settings.CONTENT_SECURITY_POLICY["DIRECTIVES"]
    assert {f"{name} {' '.join(values)}" for name, values in directives.items()} == set(CSP.split("; "))


# How often -----------------------------------------------------------------------------------------------------------


def test_it_asks_every_five_seconds(page, stage):
    let_pass(page, 21)
    assert stage.refreshes == 4


@pytest.mark.parametrize("wish", ["0.01", "-7", "1e-9"])
def test_it_never_asks_more_often_than_every_two_seconds(page, stage, wish):
    page.evaluate(REMEMBER.format("seconds", wish))
    let_pass(page, 10)
    assert stage.refreshes == 5


@pytest.mark.parametrize("wish", ["nonsense", "NaN", ""])
def test_a_wish_that_is_no_number_is_not_one(page, stage, wish):
    page.evaluate(REMEMBER.format("seconds", wish))
    let_pass(page, 10)
    assert stage.refreshes == 2


def test_it_does_not_ask_while_nobody_looks(page, stage):
    page.evaluate(HIDDEN)
    let_pass(page, 30)
    assert stage.refreshes == 0


def test_pausing_holds_over_pages_until_it_is_resumed(page, stage):
    page.click("[data-live-pause]")
    let_pass(page, 20)
    page.reload()
    let_pass(page, 20)
    assert stage.refreshes == 0
    assert "updates paused" in page.inner_text("[data-live-status]")
    page.click("[data-live-pause]")
    let_pass(page, 6)
    assert stage.refreshes >= 1


def test_it_stops_after_an_hour_and_says_so(page, stage):
    page.clock.fast_forward(timedelta(hours=1, seconds=1).total_seconds() * 1000)
    refresh(page)
    asked = stage.refreshes
    let_pass(page, 60)
    assert stage.refreshes == asked
    assert "updates stopped after an hour" in page.inner_text("[data-live-status]")


# What changes --------------------------------------------------------------------------------------------------------


def test_a_state_changes_in_place_and_nothing_else_is_touched(page, stage):
    page.evaluate("window.kept = document.querySelector('tbody tr').children[2]")
    stage.rows = [row("a"), row("b", state="running"), row("c")]
    refresh(page)
    assert cell(page, "b", 1).inner_text().strip() == "running"
    assert page.locator("tr.is-changed").count() == 1
    assert page.evaluate("kept.isConnected")


def test_a_row_that_only_grew_older_is_not_touched(page, stage):
    page.evaluate("window.kept = document.querySelector('tbody tr').children[0].firstElementChild")
    stage.now = NOW + timedelta(minutes=2)
    refresh(page)
    assert page.evaluate("kept.isConnected") and page.locator("tr.is-changed").count() == 0


def test_new_rows_are_announced_and_shown_when_asked_for(page, stage):
    stage.rows = [row("new1"), row("new2"), *stage.rows]
    refresh(page)
    assert keys(page) == ["a", "b", "c"]
    assert page.inner_text("[data-new-rows]") == "2 new: show"
    page.click("[data-new-rows] button")
    assert keys(page) == ["new1", "new2", "a", "b", "c"]
    assert page.locator("[data-new-rows]").is_hidden()


def test_the_first_failure_is_announced_on_an_empty_page(browser):
    stage = Stage(rows=[])
    with opened(browser, stage) as page:
        assert "Nothing has failed" in page.inner_text("main")
        stage.rows = [row("a")]
        refresh(page)
        page.click("[data-new-rows] button")
        assert keys(page) == ["a"] and page.locator("tbody tr").is_visible()
        assert "Nothing has failed" not in page.inner_text("main")


def test_a_row_that_left_the_list_stays_where_it_was_and_shows_it(page, stage):
    stage.rows = [row("a"), row("c")]
    refresh(page)
    assert keys(page) == ["a", "b", "c"]
    assert page.locator("tr.is-gone").get_attribute("data-key") == "orders:b"


def test_rows_pushed_off_the_end_of_a_full_page_have_not_left_the_list(browser):
    stage = Stage(rows=[row(f"old{number}") for number in range(50)])
    with opened(browser, stage) as page:
        stage.rows = [row("new"), *stage.rows[:49]]
        refresh(page)
        assert page.locator("tr.is-gone").count() == 0


def test_the_header_says_how_old_the_data_is(page, stage):
    stage.now = NOW + timedelta(seconds=35)
    refresh(page)
    assert "as of 14:02:46 UTC" in page.inner_text(".header__status")


@pytest.mark.parametrize(
    "text", ["<img src=x onerror=alert(1)>", "</td><script>alert(1)</script>", "javascript:alert(1)"]
)
def test_text_stays_text_in_what_a_refresh_brings(page, stage, text):
    page.on("dialog", lambda dialog: pytest.fail("a script ran"))
    stage.rows = [row("a", error=text, note=text), row("n", queue=text, function=text)]
    refresh(page)
    page.click("[data-new-rows] button")
    assert text in cell(page, "a", 3).inner_text()
    assert page.locator("main img, main script").count() == 0


# What is not touched -------------------------------------------------------------------------------------------------


def test_a_cell_that_has_the_focus_is_left_alone(page, stage):
    page.locator("[data-row-link]").first.focus()
    stage.rows = [row("a", ids=(), state="running"), row("b"), row("c")]
    refresh(page)
    assert page.evaluate("document.activeElement.matches('[data-row-link]')")
    assert cell(page, "a", 1).inner_text().strip() == "running"


def test_selected_text_is_left_alone(page, stage):
    page.evaluate("getSelection().selectAllChildren(document.querySelector('tbody tr').children[3])")
    stage.rows = [row("a", error="another one"), row("b"), row("c")]
    refresh(page)
    assert page.evaluate("String(getSelection())").strip() == "ValueError: a"


def test_nothing_moves_when_the_store_falls_silent(page, stage):
    before = page.evaluate(PLACES)
    stage.answer = lambda route: route.abort()
    for _ in range(3):
        refresh(page)
    assert page.inner_text("[data-stale]") and page.evaluate(PLACES) == before


def test_nothing_moves_when_something_new_comes(browser):
    stage = Stage(rows=[row(f"r{number}") for number in range(50)])
    with opened(browser, stage) as page:
        page.evaluate("scrollTo(0, 600)")
        before = page.evaluate(PLACES)
        stage.rows = [row("new1"), *(row(f"r{number}", state="running") for number in range(50))]
        refresh(page)
        assert page.evaluate(PLACES) == before


# When nobody answers -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (lambda route: route.abort(), "opsboard does not answer"),
        (lambda route: route.fulfill(status=500), "opsboard does not answer"),
        (lambda route: route.fulfill(status=503), "the job store does not answer"),
    ],
)
def test_after_three_misses_old_data_stays_and_is_called_old(page, stage, answer, sentence):
    stage.answer = answer
    refresh(page)
    refresh(page)
    assert page.inner_text("[data-stale]") == ""
    refresh(page)
    assert page.inner_text("[data-stale]").startswith("Not updated since 14:02:11 UTC: " + sentence)
    assert keys(page) == ["a", "b", "c"]


def test_the_first_answer_takes_the_warning_away(page, stage):
    stage.answer = lambda route: route.abort()
    for _ in range(3):
        refresh(page)
    stage.answer = None
    refresh(page)
    assert page.inner_text("[data-stale]") == "" and page.locator(".is-stale").count() == 0


def test_it_asks_less_often_while_nobody_answers(page, stage):
    stage.answer = lambda route: route.abort()
    let_pass(page, 60)
    assert 3 <= stage.refreshes <= 5


def test_signed_out_it_stops_and_offers_the_way_back(page, stage):
    stage.answer = lambda route: route.fulfill(status=401, content_type="text/html", body="<p data-signed-out>Bye</p>")
    let_pass(page, 30)
    assert stage.refreshes == 1
    assert page.inner_text("[data-stale]").startswith("You are signed out.")
    assert page.get_attribute("[data-stale] a", "href") == f"/login/?next={quote('/failed/', safe='')}"
    assert keys(page) == ["a", "b", "c"]
