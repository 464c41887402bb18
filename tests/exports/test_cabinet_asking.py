"""A wish for an export: accepted at once, once, by a browser's form or by a program, or refused with its remedy."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from exports.models import Export, Order
from jobs.models import Operation
from tests.exports.laid import lay_export, lay_ready
from tests.support.pages import Page, press

pytestmark = pytest.mark.django_db

HERE = "/exports/"
ACCEPTED = "Accepted. It is made as soon as a worker is free; you may close this page."
HOW = "Give a year, a quarter or a month, such as 2025, 2025-Q3, 2025-11."
NO_STATUS = "There is no such status. Choose open, paid, shipped, cancelled or refunded, or none for all orders."
TOO_MANY = "Not accepted: you have 3 exports going on, which is as many as may be. Ask again when one is done."
JSON = "application/json"


@pytest.fixture
def browser(exporter, sign_in):
    return sign_in(exporter, watched=False)


@pytest.fixture
def ask(browser):
    """What a program gets that sends this as JSON."""

    def post(wish):
        body = wish if isinstance(wish, bytes) else json.dumps(wish)
        # Of an empty body the test client would send no type.
        return browser.post(HERE, body, content_type=JSON, headers={"content-type": JSON})

    return post


# A browser ------------------------------------------------------------------------------------------------------------


def test_a_person_fills_the_form_and_sees_the_export_in_the_list(browser, exporter):
    answer = press(browser, HERE, HERE, period="2025-Q3", order_status="paid")
    assert (answer.status_code, answer.headers["Location"]) == (303, HERE)
    export = Export.objects.get()
    assert (export.owner, export.period, export.order_status) == (exporter, "2025-Q3", "paid")
    assert export.operation.status == "accepted"
    page = Page(browser.get(HERE))
    assert page.rows() == [str(export.pk)]
    assert ACCEPTED in page.text and "Orders of 2025-Q3 paid" in page.text
    assert ACCEPTED not in Page(browser.get(HERE)).text.partition("Your exports")[0]


def test_the_same_wish_again_adds_nothing_and_says_so(browser):
    press(browser, HERE, HERE, period="2025")
    answer = press(browser, HERE, HERE, period="2025")
    assert answer.status_code == 303
    page = Page(browser.get(HERE))
    assert "The same export is being made already: see below. Nothing was added." in page.text
    assert Export.objects.count() == Operation.objects.count() == 1


@pytest.mark.parametrize(
    ("period", "accepted"), [(" 2025 ", "2025"), ("2025-q3", "2025-Q3"), ("2025-13", "2025-13"), ("0000", "0000")]
)
def test_only_the_shape_of_a_period_is_asked_about(browser, period, accepted):
    assert press(browser, HERE, HERE, period=period).status_code == 303
    assert Export.objects.get().period == accepted


@pytest.mark.parametrize(
    "period",
    [
        "",
        "x",
        "last year",
        "2025-Q",
        "2025-1",
        "25",
        "../2025",
        "2025\n",
        "\uff12\uff10\uff12\uff15",
        "2025-Q33",
        "9" * 5000,
    ],
)
def test_what_is_no_period_is_refused_at_its_field_and_kept_there(browser, period):
    answer = press(browser, HERE, HERE, period=period.replace("\n", "\n2025"), order_status="paid")
    assert answer.status_code == 400
    page = Page(answer)
    field = next(one.attributes for one in page.elements if one.attributes.get("name") == "period")
    error = next(one.attributes for one in page.elements if one.attributes.get("id") == "period-error")
    assert HOW in page.text and error
    assert (field["aria-invalid"], field["aria-describedby"]) == ("true", "period-error")
    assert field["value"] == period.replace("\n", "\n2025")
    assert [one.attributes["value"] for one in page.elements if "selected" in one.attributes] == ["paid"]
    assert not Export.objects.exists()


def test_no_other_status_can_be_asked_for(browser):
    answer = press(browser, HERE, HERE, period="2025", order_status="lost")
    assert answer.status_code == 400
    assert NO_STATUS in Page(answer).text
    assert not Export.objects.exists()
    assert all(status in NO_STATUS for status in Order.Status.values)


def test_too_many_at_once_are_refused_and_what_was_typed_is_kept(browser, exporter):
    for period in ("2022", "2023", "2024"):
        lay_export(exporter, "running", period=period)
    answer = press(browser, HERE, HERE, period="2025", order_status="open")
    assert answer.status_code == 429
    page = Page(answer)
    assert TOO_MANY in page.text
    assert [one.attributes["value"] for one in page.elements if one.attributes.get("name") == "period"] == ["2025"]
    assert [one.attributes["value"] for one in page.elements if "selected" in one.attributes] == ["open"]
    assert Export.objects.count() == len(page.rows()) == 3


def test_the_exports_of_others_and_those_that_are_done_do_not_count(browser, exporter, superuser):
    for period in ("2022", "2023", "2024"):
        lay_export(superuser, "running", period=period)
        lay_export(exporter, "failed", period=period)
    assert press(browser, HERE, HERE, period="2022").status_code == 303


def test_what_has_expired_or_was_cancelled_can_be_asked_for_again_on_its_page(browser, exporter):
    old = lay_export(exporter, "cancelled", period="2024", order_status="paid")
    answer = press(browser, f"{HERE}{old.pk}/", HERE)
    assert answer.status_code == 303
    new = Export.objects.exclude(pk=old.pk).get()
    assert (new.period, new.order_status) == ("2024", "paid")


# A program ------------------------------------------------------------------------------------------------------------


def test_a_program_gets_202_with_where_to_look(ask, browser):
    answer = ask({"period": "2025", "order_status": "paid"})
    export = Export.objects.get()
    here = f"/exports/{export.pk}/"
    assert (answer.status_code, answer.headers["Location"]) == (202, here)
    facts = answer.json()
    assert (facts["id"], facts["status"], facts["url"], facts["file"]) == (export.pk, "accepted", here, None)
    assert browser.get(here, headers={"accept": JSON}).json() == facts
    assert "_messages" not in browser.session


def test_a_form_whose_sender_wants_json_gets_it_too(browser):
    answer = browser.post(HERE, {"period": "2025"}, headers={"accept": "application/json"})
    assert (answer.status_code, answer.json()["status"]) == (202, "accepted")


def test_the_same_wish_again_gives_the_same_id(ask):
    first, again = ask({"period": "2025"}), ask({"period": "2025", "order_status": ""})
    assert (again.status_code, again.json()["id"]) == (202, first.json()["id"])
    assert ask({"period": "2024"}).json()["id"] != first.json()["id"]


@pytest.mark.parametrize(
    ("wish", "fields"),
    [
        ({}, {"period": HOW}),
        ({"period": None}, {"period": HOW}),
        ({"period": ["2025"]}, {"period": HOW}),
        ({"period": {"year": 2025}}, {"period": HOW}),
        ({"period": "2025", "order_status": "lost"}, {"order_status": NO_STATUS}),
        ({"period": "x", "order_status": ["paid"]}, {"period": HOW, "order_status": NO_STATUS}),
        ({"period": "2025\0"}, {"period": "Null characters are not allowed."}),
    ],
)
def test_a_wrong_wish_names_the_field_and_the_remedy(ask, wish, fields):
    answer = ask(wish)
    assert answer.status_code == 400
    assert answer.json() == {"error": next(iter(fields.values())), "fields": fields}
    assert not Export.objects.exists()


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"", "The body of the request is not JSON."),
        (b"period=2025", "The body of the request is not JSON."),
        (b"{", "The body of the request is not JSON."),
        (b"\xff\xfe\xfa", "The body of the request is not JSON."),
        (b"[" * 100_000, "The body of the request is not JSON."),
        (b"[]", "The body of the request is JSON, but no object: send one with a “period”."),
        (b'"2025"', "The body of the request is JSON, but no object: send one with a “period”."),
        (b"null", "The body of the request is JSON, but no object: send one with a “period”."),
    ],
)
def test_a_body_that_is_no_object_is_refused_in_a_sentence(ask, body, sentence):
    answer = ask(body)
    assert (answer.status_code, answer.json()) == (400, {"error": sentence})


def test_a_program_that_asks_for_too_many_is_told_so(ask):
    assert [ask({"period": period}).status_code for period in ("2022", "2023", "2024", "2025")] == [202, 202, 202, 429]
    assert ask({"period": "2025"}).json() == {"error": TOO_MANY}
    assert Export.objects.count() == 3


# Who else -------------------------------------------------------------------------------------------------------------


def test_a_read_only_opsboard_takes_no_wish_and_offers_none(browser, ask, exporter, settings):
    settings.OPSBOARD_READ_ONLY = True
    cancelled = lay_export(exporter, "cancelled")
    assert browser.post(HERE, {"period": "2025"}).status_code == ask({"period": "2025"}).status_code == 403
    for address in (HERE, f"{HERE}{cancelled.pk}/"):
        assert HERE not in [form.action for form in Page(browser.get(address)).forms]
    assert Export.objects.count() == 1


@pytest.mark.parametrize("method", ["put", "patch", "delete"])
def test_nothing_else_can_be_done_to_the_list(browser, method):
    assert getattr(browser, method)(HERE).status_code == 405


def test_who_has_as_many_files_as_may_be_is_told_when_the_first_of_them_goes(ask, exporter, queues, settings):
    settings.OPSBOARD_EXPORTS_KEPT, settings.TIME_ZONE = 1, "UTC"
    lay_ready(exporter, expires_at=datetime(2999, 1, 2, 3, 4, 5, tzinfo=UTC))
    answer = ask({"period": "2024"})
    assert answer.status_code == 429
    assert answer.json() == {
        "error": "Not accepted: of your files as many are kept or being made as may be (1). The first of them goes at "
        "2999-01-02 03:04:05 UTC."
    }
