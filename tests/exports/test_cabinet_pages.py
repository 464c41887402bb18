"""What its owner reads of an export, on the list and on its page, in each state that it can be in."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from exports.models import Export, Order
from jobs.models import Operation
from jobs.selectors.paging import PAGE_SIZE
from tests.exports.laid import lay_export, lay_mail, lay_ready
from tests.support.pages import Page

pytestmark = pytest.mark.django_db

HERE = "/exports/"
MONTH = "There is no month 13: a year has months 01 to 12."
LOOKING = "It failed, and we are looking into it. You need not ask again."
STATES = {
    "accepted": ("accepted", "Accepted. It is made as soon as a worker is free; you may close this page."),
    "queued": ("accepted", "Accepted. It is made as soon as a worker is free; you may close this page."),
    "running": ("running", "It is being made; you may close this page."),
    "retry_wait": ("running", "Its worker was stopped; it goes on by itself."),
    "failed": ("failed", MONTH),
    "unknown": ("failed", MONTH),
    "cancelled": ("failed", "It was cancelled. Ask for it again if you still need it."),
}
LOOKS = {"accepted": "waiting", "running": "running", "ready": "done", "failed": "failed", "expired": "skipped"}

READY = {
    "rows": 1,
    "size": 1,
    "sha256": "a",
    "ready_at": datetime(2026, 1, 1, tzinfo=UTC),
    "expires_at": datetime(2999, 1, 1, tzinfo=UTC),
}


@pytest.fixture(autouse=True)
def _folder(settings, tmp_path):
    settings.OPSBOARD_EXPORTS_DIR = tmp_path / "exports"


@pytest.fixture
def browser(exporter, sign_in):
    return sign_in(exporter, watched=False)


@pytest.fixture
def facts_of(browser):
    """What a program reads at the address of an export."""
    return lambda export: browser.get(address_of(export), headers={"accept": "application/json"}).json()


def address_of(export: Export) -> str:
    return f"/exports/{export.pk}/"


def file_of(export: Export) -> str:
    return f"{address_of(export)}file/"


def looks(page: Page) -> list[str]:
    """The badges of a page, by their colour."""
    classes = [one.attributes.get("class", "").split() for one in page.elements]
    return [names[1].removeprefix("state--") for names in classes if names[:1] == ["state"]]


@pytest.mark.parametrize(("status", "word", "sentence"), [(status, *says) for status, says in STATES.items()])
def test_each_state_has_its_word_its_colour_and_its_sentence(browser, exporter, facts_of, status, word, sentence):
    export = lay_export(exporter, status, reason=MONTH)
    for address in (HERE, address_of(export)):
        page = Page(browser.get(address))
        assert sentence in page.text
        assert looks(page) == [LOOKS[word]]
        assert file_of(export) not in page.links
    facts = facts_of(export)
    assert (facts["status"], facts["sentence"], facts["file"]) == (word, sentence, None)


@pytest.mark.parametrize(
    ("status", "last_error", "sentence"),
    [
        ("retry_wait", "transient", "An attempt to make it did not succeed; the next one follows by itself."),
        ("queued", "lost", "An attempt to make it did not succeed; the next one follows by itself."),
        ("queued", "", "It goes on as soon as a worker is free; you may close this page."),
    ],
)
def test_between_two_attempts_it_says_how_it_goes_on(browser, exporter, status, last_error, sentence):
    """An attempt that failed is told apart from one that was stopped (above)."""
    export = lay_export(exporter, status)
    Operation.objects.filter(pk=export.operation.pk).update(last_error=last_error, fence=1)
    for address in (HERE, address_of(export)):
        page = Page(browser.get(address))
        assert (looks(page), sentence in page.text) == (["running"], True)


def test_what_is_ready_can_be_downloaded_and_says_what_it_is(browser, exporter, facts_of):
    export = lay_ready(exporter, order_status="paid")
    for address in (HERE, address_of(export)):
        page = Page(browser.get(address))
        assert file_of(export) in page.links
        assert looks(page) == ["done"]
        assert "5 000" in page.text and "83.9 kB" in page.text
    page = Page(browser.get(address_of(export)))
    assert "Download orders-2025-paid.csv" in page.text and export.sha256 in page.text
    facts = facts_of(export)
    wanted = {"status": "ready", "rows": 5000, "size": export.size, "sha256": export.sha256, "file": file_of(export)}
    assert {name: facts[name] for name in wanted} == wanted


def test_what_has_expired_says_so_and_leads_to_no_file(browser, exporter, facts_of):
    export = lay_ready(exporter, expires_at=timezone.now() - timedelta(hours=1))
    for address in (HERE, address_of(export)):
        page = Page(browser.get(address))
        assert "The time of its file is over: it is kept no longer." in page.text
        assert looks(page) == ["skipped"]
        assert file_of(export) not in page.links
    assert (facts_of(export)["status"], facts_of(export)["file"]) == ("expired", None)


@pytest.mark.parametrize(
    ("status", "columns", "is_offered"),
    [
        ("cancelled", {}, True),
        ("completed", READY | {"expires_at": datetime(2025, 1, 1, tzinfo=UTC)}, True),
        ("completed", READY, False),
        # The attempt that made it ready ended like this all the same.
        ("cancelled", READY, False),
        ("failed", {"reason": MONTH}, False),
        ("failed", {}, False),
        ("unknown", {}, False),
        ("running", {}, False),
    ],
)
def test_asking_again_is_offered_where_it_makes_sense(browser, exporter, status, columns, is_offered):
    export = lay_export(exporter, status, **columns)
    actions = [form.action for form in Page(browser.get(address_of(export))).forms]
    assert (HERE in actions) is is_offered


def test_how_far_it_is_stands_there_in_words(browser, exporter, facts_of):
    export = lay_export(exporter, "running", done=12_000, total=40_000)
    for address in (HERE, address_of(export)):
        page = Page(browser.get(address))
        assert "12 000 of 40 000 rows" in page.text
        bar = next(one.attributes for one in page.elements if one.tag == "progress")
        assert (bar["value"], bar["max"], bar["aria-label"]) == ("12000", "40000", "Rows written")
    assert facts_of(export)["progress"] == {"done": 12_000, "total": 40_000}


@pytest.mark.parametrize(
    ("status", "columns"),
    [
        ("running", {}),
        ("running", {"done": 0, "total": 0}),
        # What an attempt before has left.
        ("retry_wait", {"done": 12_000, "total": 40_000}),
        ("failed", {"done": 12_000, "total": 40_000}),
        ("queued", {"done": 12_000, "total": 40_000}),
    ],
)
def test_a_bar_stands_only_where_it_means_something(browser, exporter, facts_of, status, columns):
    export = lay_export(exporter, status, **columns)
    for address in (HERE, address_of(export)):
        assert "progress" not in [one.tag for one in Page(browser.get(address)).elements]
    assert facts_of(export)["progress"] is None


@pytest.mark.parametrize("state", [*STATES, "completed"])
def test_no_seconds_are_promised(browser, exporter, state):
    export = lay_export(exporter, state, **(READY if state == "completed" else {}))
    text = Page(browser.get(address_of(export))).text.partition("Requested")[0].partition("kept until")[0]
    assert "second" not in text and "minute" not in text and "soon" not in text.replace("as soon as a worker", "")


@pytest.mark.parametrize(
    ("status", "effect", "word", "sentence"),
    [
        ("completed", "completed", "sent", "sent 1 min ago"),
        ("queued", "", "on_its_way", "on its way"),
        ("retry_wait", "released", "on_its_way", "on its way"),
        ("failed", "released", "failed", "could not be sent The file is ready all the same."),
        ("unknown", "unknown", "unknown", "Nobody knows whether it was sent; a person looks into it."),
    ],
)
def test_what_is_known_of_its_mail(browser, exporter, facts_of, status, effect, word, sentence):
    export = lay_ready(exporter)
    lay_mail(export, status, effect)
    assert sentence in Page(browser.get(address_of(export))).text
    mail = facts_of(export)["mail"]
    assert (mail["status"], mail["sent_at"] is not None) == (word, word == "sent")


def test_who_has_no_address_is_told_that_no_mail_comes(browser, exporter, facts_of):
    export = lay_ready(exporter)
    assert "none: no address of yours is known" in Page(browser.get(address_of(export))).text
    assert facts_of(export)["mail"] == {"status": "none", "sent_at": None}


@pytest.mark.parametrize(("status", "is_live"), [("running", True), ("failed", False)])
def test_a_page_refreshes_itself_as_long_as_something_is_to_come(browser, exporter, status, is_live):
    export = lay_export(exporter, status)
    assert has_poll(browser, export) is is_live


@pytest.mark.parametrize(("mail", "is_live"), [("queued", True), ("completed", False), ("unknown", False)])
def test_a_page_waits_for_the_mail_too(browser, exporter, mail, is_live):
    export = lay_ready(exporter)
    lay_mail(export, mail, "completed" if mail == "completed" else "")
    assert has_poll(browser, export) is is_live


def has_poll(browser, export: Export) -> bool:
    return any("data-poll" in one.attributes for one in Page(browser.get(address_of(export))).elements)


@pytest.mark.parametrize("address", [HERE, "{}"])
def test_a_refresh_gets_the_changing_part_alone(browser, exporter, address):
    address = address.format(address_of(lay_export(exporter, "running")))
    whole, part = browser.get(address), browser.get(address, headers={"hx-request": "true"})
    assert "<html" in whole.text and "<html" not in part.text
    assert part.text.strip() and "running" in part.text
    pieces = {one.attributes["data-live"] for one in Page(part).elements if "data-live" in one.attributes}
    assert pieces == {one.attributes["data-live"] for one in Page(whole).elements if "data-live" in one.attributes}


def test_a_reason_stays_text(browser, exporter):
    hostile = '<img src=x onerror=alert(1)> "2025" & more'
    export = lay_export(exporter, "failed", reason=hostile)
    for address in (HERE, address_of(export)):
        page = Page(browser.get(address))
        assert hostile in page.text
        assert "img" not in [one.tag for one in page.elements]


# The list -------------------------------------------------------------------------------------------------------------


def test_an_empty_list_says_what_to_do(browser):
    page = Page(browser.get(HERE))
    assert "You have not asked for an export yet" in page.text and "Give a period above." in page.text
    table = next(one for one in page.elements if one.tag == "table")
    assert "hidden" in table.attributes


def test_the_newest_is_first_and_a_long_list_has_pages(browser, exporter):
    start = datetime(2026, 1, 1, tzinfo=UTC)
    # Many of one moment, so that their place is told by more than their time.
    laid = [
        lay_export(exporter, "failed", requested_at=start + timedelta(hours=n // 20)) for n in range(2 * PAGE_SIZE + 5)
    ]
    wanted = [str(one.pk) for one in reversed(laid)]
    address, seen, way = HERE, [], []
    while address:
        page = Page(browser.get(address))
        seen += page.rows()
        way.append(page.rows())
        address = next((HERE + link for link in page.links if link.startswith("?after=")), "")
    assert seen == wanted and [len(rows) for rows in way] == [PAGE_SIZE, PAGE_SIZE, 5]
    back = next(HERE + link for link in page.links if link.startswith("?before="))
    assert Page(browser.get(back)).rows() == way[1]


@pytest.mark.parametrize("place", ["x", "1-", "-1", "1" * 30 + "-1", "1-1'"])
def test_an_address_that_names_no_place_is_a_bad_request(browser, place):
    assert browser.get(HERE, {"after": place}).status_code == 400
    assert browser.get(HERE, {"before": place}).status_code == 400


def test_a_program_gets_the_list_too(browser, exporter):
    laid = [lay_export(exporter, "failed") for _number in range(PAGE_SIZE + 1)]
    first = browser.get(HERE, headers={"accept": "application/json"}).json()
    assert [one["id"] for one in first["exports"]] == [one.pk for one in reversed(laid)][:PAGE_SIZE]
    rest = browser.get(first["next"], headers={"accept": "application/json"}).json()
    assert ([one["id"] for one in rest["exports"]], rest["next"]) == ([laid[0].pk], None)


def test_the_list_costs_no_more_queries_for_more_exports(browser, exporter, django_assert_max_num_queries):
    for _number in range(20):
        lay_mail(lay_ready(exporter), "completed", "completed")
    with django_assert_max_num_queries(14):
        assert len(Page(browser.get(HERE)).rows()) == 20


def test_a_refresh_reads_no_orders(browser, exporter):
    lay_export(exporter)
    with CaptureQueriesContext(connection) as queries:
        browser.get(HERE, headers={"hx-request": "true"})
    assert queries and not [one["sql"] for one in queries if "exports_order" in one["sql"]]


def test_the_periods_that_have_orders_are_offered(browser, make_orders):
    assert offered(browser) == []
    make_orders(24 * 40)
    assert offered(browser) == ["2025", "2025-Q1", "2025-02", "2025-01"]


def test_no_more_than_two_years_of_months_are_offered(browser, make_orders):
    make_orders(1)
    Order.objects.create(number="O", placed_at=datetime(2031, 7, 2, tzinfo=UTC), customer="c", amount=1, status="open")
    periods = offered(browser)
    assert len(periods) == 3 + 9 + 24
    assert (periods[0], periods[3], periods[12], periods[-1]) == ("2031", "2031-Q3", "2031-07", "2029-08")


def offered(browser) -> list[str]:
    page = Page(browser.get(HERE))
    return [
        one.attributes["value"] for one in page.elements if one.tag == "option" and one.attributes["value"][:2] == "20"
    ]


# Times (P24) ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("zone", "first", "second"),
    [("Europe/Berlin", "02:30:00 CEST", "02:30:00 CET"), ("Asia/Kolkata", "06:00:00 IST", "07:00:00 IST")],
)
def test_p24_every_time_has_its_zone_and_two_of_one_hour_differ(
    browser, exporter, facts_of, settings, zone, first, second
):
    settings.TIME_ZONE = zone
    times = [datetime(2025, 10, 26, hour, 30, tzinfo=UTC) for hour in (0, 1)]
    columns = {"ready_at": times[0], "expires_at": times[1], "requested_at": times[0] - timedelta(hours=5)}
    export = lay_ready(exporter, **columns)
    text = Page(browser.get(address_of(export))).text
    assert f"2025-10-26 {first}" in text and f"2025-10-26 {second}" in text
    assert f"kept until 2025-10-26 {second}" in browser.get(file_of(export)).text
    facts = facts_of(export)
    read = [datetime.fromisoformat(facts[name]) for name in ("ready_at", "expires_at")]
    assert read == times and all(one.utcoffset() for one in read)


def test_p24_a_time_ahead_is_never_negative(browser, exporter):
    export = lay_export(exporter, "queued", requested_at=timezone.now() + timedelta(minutes=10))
    text = Page(browser.get(address_of(export))).text
    assert "clock is ahead by" in text and "-" not in text.partition("Requested")[2].partition("ahead")[0]


@pytest.mark.parametrize(("has_server", "is_said"), [(True, False), (False, True)])
def test_a_mail_that_went_into_a_folder_says_so(browser, exporter, settings, has_server, is_said):
    settings.OPSBOARD_HAS_MAIL_SERVER = has_server
    export = lay_ready(exporter)
    lay_mail(export, "completed", "completed")
    text = Page(browser.get(address_of(export))).text
    assert "sent" in text
    assert ("into a folder of the server: it knows no mail server" in text) == is_said
