"""A lead reads the audit: at her desk, on her phone, and down to one entry."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from tests.browser.shop import HOSTILE, LONG_ID, UNBROKEN
from tests.browser.test_accessibility import COLOURS, grave
from tests.browser.test_phone import PHONE, scrolls_sideways, too_small
from tests.support.audit import entry


@pytest.fixture
def records(site, orders):
    """Entries of each state and of every length; two of one press."""
    now, batch = timezone.now(), uuid4()
    return {
        "done": entry(now, ago=5, outcome="Job job-7 is back on the queue orders.", job_type="shop.tasks.charge"),
        "open": entry(now, ago=60, verb="delete_job", status="intended", closed_at=None, deadline_at=now),
        "refused": entry(
            now, ago=4000, status="refused", decision_code="undeclared", outcome=HOSTILE, reason=f"{HOSTILE} {UNBROKEN}"
        ),
        "long": entry(now, ago=90000, subject=LONG_ID, job_type=f"fx.{UNBROKEN}", actor_name="o" * 150, batch=batch),
        "pressed": entry(now, ago=90001, verb="cancel_job", status="changed", batch=batch),
        "never": entry(now, ago=900000, status="unsettled", outcome="It can no longer be known."),
        "declared": entry(now - timedelta(days=99), verb="declare_job_type", subject=UNBROKEN, connection="", queue=""),
    }


@pytest.mark.parametrize("options", [{"viewport": {"width": 1280, "height": 800}}, PHONE], ids=["desk", "phone"])
def test_she_can_read_it_all_in_either_theme(open_tab, lead, records, options):
    page, width = open_tab(lead, **options), options["viewport"]["width"]
    for path in ("/audit/", f"/audit/?entry={records['long'].pk}", "/audit/?status=not_done"):
        page.goto(path)
        page.emulate_media(color_scheme="light")
        assert grave(page) == []
        page.emulate_media(color_scheme="dark")
        assert grave(page, COLOURS) == []
        assert page.evaluate("document.scrollingElement.scrollWidth") <= width
        assert width > 320 or too_small(page) == []


def test_on_a_phone_an_entry_is_a_card_with_all_of_its_words(open_tab, lead, records):
    page = open_tab(lead, "/audit/", **PHONE)
    card = page.locator(f"tr[data-key='{records['refused'].pk}']")
    for words in ("refused", "retry", "otto", "orders", "undeclared", "Reason given:"):
        expect(card.get_by_text(words).first).to_be_visible()
    for piece in page.locator("tbody td:not(:empty), tbody time, tbody .state").all():
        box = piece.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 320
    assert not scrolls_sideways(page)


def test_she_narrows_it_and_comes_back(open_tab, lead, records):
    page = open_tab(lead, "/")
    page.get_by_role("link", name="Audit").click()
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(len(records))
    search = page.get_by_role("search", name="Audit")
    search.get_by_label("State").select_option("refused")
    search.get_by_role("button", name="Show").click()
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("undeclared")
    search.get_by_role("link", name="Clear").click()
    expect(rows).to_have_count(len(records))


def test_she_follows_a_press_to_all_of_it_and_an_entry_to_its_own_address(open_tab, lead, records):
    page = open_tab(lead, "/audit/")
    page.get_by_role("link", name="all of this press").first.click()
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(2)
    rows.nth(1).locator("td").first.get_by_role("link").click()
    expect(rows).to_have_count(1)
    expect(page.get_by_text(str(records["pressed"].pk))).to_be_visible()
    page.get_by_role("link", name="Show all entries").click()
    expect(rows).to_have_count(len(records))
