"""An operation fails, an operator finds it in the list, has it run again, and answers what nobody knew of another."""

from __future__ import annotations

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from tests.browser.hands import told
from tests.browser.test_accessibility import grave
from tests.browser.test_phone import PHONE, scrolls_sideways, too_small
from tests.support.observer import watch


@pytest.fixture
def place(workshop):
    """The address of an operation's page, or of one of its acts."""
    return lambda operation, act="": reverse(f"jobs:operation{act}", args=(operation.operation_id,))


def test_from_the_list_to_its_page_to_its_next_run(site, workshop, operator, open_tab, place):
    operation = workshop.failed()
    watch()
    tab = open_tab(operator, "/failed/")
    tab.get_by_role("link", name=f"safe operation {operation.operation_id}").click()
    expect(tab).to_have_url(f"{site.address}{place(operation)}")
    tab.get_by_role("button", name=f"Retry operation {operation.operation_id}").click()
    expect(told(tab, "is back on the queue orders")).to_be_visible()
    assert workshop.queued() == [operation.job_id]


def test_what_nobody_knew_is_answered_and_the_operation_goes_on(workshop, operator, open_tab, place):
    operation = workshop.in_review()
    tab = open_tab(operator, place(operation))
    tab.get_by_role("link", name="Open the review").click()
    tab.get_by_role("button", name="Take the review").click()
    tab.get_by_label("It did not happen").check()
    for label, text in (
        ("Where you looked", "bank"),
        ("What you searched for", "5"),
        ("Which time you searched", "2 h"),
    ):
        tab.get_by_label(label).locator("visible=true").fill(text)
    tab.get_by_label("The search gave no result at all.").check()
    tab.get_by_role("button", name="Put it on record").click()
    expect(told(tab, "On record. It is done again")).to_be_visible()
    operation.refresh_from_db()
    assert (operation.status, operation.effects.get().status) == ("retry_wait", "released")


@pytest.mark.parametrize("width", ["wide", "phone"])
def test_no_page_of_an_operation_hinders_anybody(workshop, operator, open_tab, place, width):
    done, failed, unknown = workshop.act("keyed"), workshop.failed(), workshop.contradicted(6)
    page, found = open_tab(operator, **(PHONE if width == "phone" else {})), {}
    review = reverse("jobs:review", args=(unknown.reviews.get().pk,))
    for path in (place(done), place(failed), place(unknown), place(failed, "-retry"), review, "/observer/", "/"):
        page.goto(path)
        found[path, "hinders"] = grave(page)
        if width == "phone":
            found[path, "sideways"], found[path, "too small"] = scrolls_sideways(page), too_small(page)
    assert {place: what for place, what in found.items() if what} == {}
