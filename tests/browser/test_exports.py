"""Somebody asks for an export, closes the tab, comes back and gets the file; what the pages show meanwhile."""

from __future__ import annotations

import csv
from datetime import datetime, timedelta
from decimal import Decimal

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from exports.csv_cells import original_text
from exports.models import Export, Order
from exports.writing import COLUMNS
from jobs.models import Operation
from tests.browser.hands import told
from tests.browser.test_accessibility import COLOURS, grave
from tests.browser.test_phone import PHONE, UNFOLD, scrolls_sideways, too_small
from tests.exports.conftest import exporter, make_orders, queues, run_jobs
from tests.exports.laid import lay_export, lay_mail, lay_ready

__all__ = ["exporter", "make_orders", "queues", "run_jobs"]

HERE = "/exports/"
MOST = ("list", "mail in doubt")
"""The pages that have all colours and kinds of things."""
ACCEPTED = "Accepted. It is made as soon as a worker is free; you may close this page."


@pytest.fixture(autouse=True)
def _folder(site, queues, settings):
    """Where the served site looks for the files."""
    settings.OPSBOARD_EXPORTS_DIR = site.exports


def ask_for(page, period, status="all"):
    page.get_by_label("Period").fill(period)
    page.get_by_label("Orders", exact=True).select_option(status)
    page.get_by_role("button", name="Ask for the export").click()


def row_of(page, export):
    return page.locator(f"tr[data-key='{export.pk}']")


def test_she_asks_closes_the_tab_comes_back_and_gets_every_order(open_tab, exporter, make_orders, run_jobs, tmp_path):
    make_orders(2500)
    Order.objects.filter(number="O-000007").update(
        customer='=HYPERLINK("x"), "Müller"', note="two\nlines", amount="-1.5"
    )
    page = open_tab(exporter, HERE)
    ask_for(page, "2025", "paid")
    expect(told(page, ACCEPTED)).to_be_visible()
    export = Export.objects.get()
    expect(row_of(page, export)).to_contain_text("accepted")
    expect(row_of(page, export)).not_to_contain_text("ready")
    expect(page.get_by_role("link", name="Download")).to_have_count(0)
    page.context.close()

    run_jobs()

    page = open_tab(exporter, HERE)
    expect(row_of(page, export)).to_contain_text("ready")
    page.get_by_role("link", name="Orders of 2025").click()
    expect(page.get_by_text("The file is ready.")).to_be_visible()
    with page.expect_download() as downloading:
        page.get_by_role("link", name="Download orders-2025-paid.csv").click()
    assert downloading.value.suggested_filename == "orders-2025-paid.csv"
    downloading.value.save_as(tmp_path / "got.csv")
    assert rows_in(tmp_path / "got.csv") == rows_in_the_database()
    wholly = (tmp_path / "got.csv").read_bytes()
    part = page.request.get(f"{HERE}{export.pk}/file/", headers={"range": "bytes=100-70099"})
    assert (part.status, part.body()) == (206, wholly[100:70_100])
    head = page.request.head(f"{HERE}{export.pk}/file/")
    assert (head.status, head.headers["content-length"], head.body()) == (200, str(len(wholly)), b"")


def test_a_file_that_is_gone_meanwhile_is_explained_in_the_tab(open_tab, exporter):
    export = lay_ready(exporter)
    page = open_tab(exporter, f"{HERE}{export.pk}/")
    Export.objects.update(expires_at=timezone.now())
    page.get_by_role("link", name="Download orders-2025.csv").click()
    expect(page.get_by_text("This file was kept until")).to_be_visible()


def rows_in(path):
    with path.open(encoding="utf-8-sig", newline="") as file:
        names, *rows = csv.reader(file)
    assert names == list(COLUMNS)
    return [
        (number, datetime.fromisoformat(placed_at), *map(original_text, texts), Decimal(amount), currency)
        for number, placed_at, *texts, amount, currency in rows
    ]


def rows_in_the_database():
    paid = Order.objects.filter(status="paid", placed_at__year=2025).order_by("placed_at", "id")
    found = list(paid.values_list(*COLUMNS))
    assert len(found) == 2500
    return found


def test_open_pages_say_how_far_it_is_and_offer_the_file_when_it_is_ready(open_tab, exporter, make_orders, run_jobs):
    make_orders(3)
    export = lay_export(exporter, "running", done=1, total=3)
    tabs = [open_tab(exporter, HERE), open_tab(exporter, f"{HERE}{export.pk}/")]
    for tab in tabs:
        expect(tab.get_by_text("1 of 3 rows")).to_be_visible()
    Operation.objects.filter(pk=export.operation_id).update(progress_done=2)
    for tab in tabs:
        tab.keyboard.press("r")
        expect(tab.get_by_text("2 of 3 rows")).to_be_visible()
    ready = {"rows": 3, "size": 9, "sha256": "ab" * 32, "ready_at": timezone.now()}
    Export.objects.filter(pk=export.pk).update(**ready, expires_at=timezone.now() + timedelta(days=7))
    Operation.objects.filter(pk=export.operation_id).update(status="completed")
    for tab in tabs:
        # By itself, this once.
        expect(tab.get_by_role("link", name="Download orders-2025.csv")).to_be_visible()
        expect(tab.locator("progress")).to_have_count(0)
    copy = tabs[1].get_by_role("button", name="Copy the SHA-256 of the file")
    expect(copy).to_be_visible()
    # What a script has shown is no news.
    tabs[1].evaluate("document.querySelector('[data-copy]').isTheSame = true")
    tabs[1].keyboard.press("r")
    tabs[1].wait_for_timeout(500)
    assert copy.evaluate("button => button.isTheSame")


def test_what_is_typed_survives_a_refresh_and_a_refusal(open_tab, exporter):
    page = open_tab(exporter, HERE)
    page.get_by_label("Period").fill("next year")
    export = lay_export(exporter)
    page.get_by_role("heading", name="Exports", exact=True).click()
    page.keyboard.press("r")
    page.get_by_role("button", name="1 new: show").click()
    expect(row_of(page, export)).to_be_visible()
    expect(page.get_by_label("Period")).to_have_value("next year")
    page.get_by_role("button", name="Ask for the export").click()
    expect(page.get_by_text("Give a year, a quarter or a month")).to_be_visible()
    expect(page.get_by_label("Period")).to_have_value("next year")
    expect(page.get_by_label("Period")).to_have_accessible_description(
        "Give a year, a quarter or a month, such as 2025, 2025-Q3, 2025-11."
    )


def test_keys_lead_there_and_into_an_export(open_tab, exporter, site):
    export = lay_export(exporter)
    page = open_tab(exporter, "/")
    page.keyboard.press("g")
    page.keyboard.press("e")
    expect(page).to_have_url(site.address + HERE)
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{site.address}{HERE}{export.pk}/")
    page.keyboard.press("Escape")
    expect(page).to_have_url(site.address + HERE)


def test_without_script_she_asks_waits_and_downloads(open_tab, exporter, make_orders, run_jobs):
    make_orders(3)
    page = open_tab(exporter, HERE, java_script_enabled=False)
    ask_for(page, "2025-01")
    expect(told(page, ACCEPTED)).to_be_visible()
    run_jobs()
    page.reload()
    page.get_by_role("link", name="Orders of 2025-01").click()
    needy = page.locator("[data-needs-script]")
    assert [one for one in needy.all() if one.is_visible()] == []
    with page.expect_download() as downloading:
        page.get_by_role("link", name="Download orders-2025-01.csv").click()
    assert downloading.value.path().stat().st_size == Export.objects.get().size


def test_no_page_of_the_cabinet_hinders_anybody_wide_or_narrow_in_either_theme(open_tab, exporter, make_orders):
    make_orders(3)
    pages, found = everything(exporter), {}
    wide = open_tab(exporter, viewport={"width": 1280, "height": 800}, color_scheme="light")
    narrow = open_tab(exporter, **PHONE)
    for name, path in pages.items():
        wide.goto(path)
        found[name, "light"] = grave(wide)
        wide.emulate_media(color_scheme="dark")
        found[name, "dark"] = grave(wide, COLOURS) if name in MOST else []
        wide.emulate_media(color_scheme="light")
        narrow.goto(path)
        found[name, "narrow"] = grave(narrow) if name in MOST else []
        found[name, "sideways"] = scrolls_sideways(narrow)
        narrow.locator("[data-menu]").evaluate_all(UNFOLD)
        found[name, "too small"] = too_small(narrow)
    for page in (wide, narrow):
        page.goto(HERE)
        ask_for(page, "2025-Q")
        expect(page.get_by_text("Give a year, a quarter or a month")).to_be_visible()
        found[page.viewport_size["width"], "refused"] = grave(page)
        found[page.viewport_size["width"], "refused, sideways"] = page is narrow and scrolls_sideways(page)
    assert {place: what for place, what in found.items() if what} == {}


def everything(exporter) -> dict[str, str]:
    """Every page of the cabinet, by what it shows."""
    mailed, doubtful = lay_ready(exporter, order_status="cancelled"), lay_ready(exporter)
    lay_mail(mailed, "completed", "completed")
    lay_mail(doubtful, "unknown", "unknown")
    laid = {
        "accepted": lay_export(exporter, "queued"),
        "running": lay_export(exporter, "running", done=12_000, total=40_000_000),
        "failed": lay_export(exporter, "failed", reason="There is no month 13: a year has months 01 to 12."),
        "cancelled": lay_export(exporter, "cancelled"),
        "expired": lay_ready(exporter, expires_at=timezone.now() - timedelta(days=2)),
        "mailed": mailed,
        "mail in doubt": doubtful,
    }
    return {"list": HERE, **{name: f"{HERE}{one.pk}/" for name, one in laid.items()}}
