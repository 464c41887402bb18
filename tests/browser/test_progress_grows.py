"""Somebody looks on while a long job runs: its number grows in place, on any width and for any reader."""

from __future__ import annotations

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from jobs.models import Operation
from tests.browser.test_accessibility import grave
from tests.browser.test_phone import PHONE, scrolls_sideways
from tests.support.pages import at


@pytest.mark.parametrize("width", ["wide", "phone"])
def test_the_number_grows_while_one_looks_on(workshop, viewer, open_tab, width):
    operation = workshop.running(done=12_000, total=40_000_000_000)
    places = reverse("jobs:operation", args=(operation.operation_id,)), at("job", "orders", operation.job_id)
    for place in places:
        Operation.objects.update(progress_done=12_000)
        tab = open_tab(viewer, place, **(PHONE if width == "phone" else {}))
        bar = tab.get_by_role("progressbar", name="How far it is")
        expect(bar).to_have_attribute("value", "12000")
        expect(tab.get_by_text("12\u202f000 of 40\u202f000\u202f000\u202f000, 0 %")).to_be_visible()
        tab.evaluate("window.isTheSamePage = true")
        assert tab.locator("[data-poll]:has(progress)").count() == 1
        Operation.objects.update(progress_done=30_000_000_000)
        # What the page does every five seconds.
        tab.evaluate("document.dispatchEvent(new Event('opsboard:refresh'))")
        expect(bar).to_have_attribute("value", "30000000000")
        expect(tab.get_by_text("75 %")).to_be_visible()
        assert tab.evaluate("window.isTheSamePage")
        assert grave(tab) == []
        assert width == "wide" or not scrolls_sideways(tab)
