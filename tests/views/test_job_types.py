"""What people declared about job types."""

from __future__ import annotations

import pytest

from jobs.models import AuditEntry, JobType
from tests.support.pages import Page, at, press

pytestmark = pytest.mark.django_db
LIST, HERE = at("job-types"), "/job-types/fx.boom/"
WHOLE = {"idempotency": "keyed", "remembered_for_hours": "24", "id_parameters": " order_id, #2 ", "reason": "see 42"}


@pytest.fixture
def browser(shop, browser_of):
    return browser_of("lead")


@pytest.mark.parametrize("method", ["post", "put", "delete"])
def test_the_list_takes_no_other_method_than_get(browser, method):
    assert getattr(browser, method)(LIST).status_code == 405


@pytest.mark.parametrize("method", ["put", "patch", "delete"])
def test_a_type_takes_no_other_method_than_get_and_post(browser, method):
    assert getattr(browser, method)(HERE).status_code == 405


@pytest.mark.parametrize("who", ["outsider", "viewer", "operator", "pia"])
def test_to_who_may_not_declare_neither_page_exists(shop, browser_of, who):
    browser = browser_of(who)
    JobType.objects.create(path="fx.boom", idempotency="unsafe")
    assert browser.get(LIST).status_code == browser.get(HERE).status_code == 404
    assert browser.get(LIST, {"path": "fx.boom"}).status_code == 404


def test_a_declaration_is_kept_and_the_page_says_so(browser, lead):
    answer = press(browser, HERE, "", **WHOLE)
    assert (answer.status_code, answer.headers["Location"]) == (302, HERE)
    text = Page(browser.get(HERE)).text
    assert "Declared. It holds for every retry from now on." in text and "declared by lena" in text
    found = JobType.objects.get()
    assert (found.path, found.idempotency, found.declared_by) == ("fx.boom", "keyed", lead)
    assert (found.remembered_for_seconds, found.id_parameters) == (24 * 3600, ["order_id", "#2"])


def test_it_is_on_record_with_what_was_and_what_is(browser, lead):
    press(browser, HERE, "", **WHOLE)
    press(browser, HERE, "", idempotency="unsafe", reason="not so")
    outcomes = list(AuditEntry.objects.values_list("actor_name", "verb", "status", "subject", "outcome", "reason"))
    first = "Was undeclared. Is keyed for 86400 s; ids: order_id, #2."
    second = "Was keyed for 86400 s; ids: order_id, #2. Is unsafe; ids: none named."
    common = ("lena", "declare_job_type", "done", "fx.boom")
    assert outcomes == [(*common, second, "not so"), (*common, first, "see 42")]
    text = Page(browser.get(HERE)).text
    assert text.index("Reason given: not so") < text.index("Reason given: see 42")


def test_it_holds_for_the_next_retry(browser, shop, browser_of):
    job, retry = at("job", "orders", "4711"), at("job-retry", "orders", "4711")
    assert retry not in [form.action for form in Page(browser.get(job)).forms]
    press(browser, HERE, "", idempotency="repeatable")
    press(browser, job, retry)
    assert shop.lrange("rq:queue:orders", -1, -1) == [b"4711"]


def test_what_is_declared_an_id_is_shown_and_nothing_else_is(browser, shop):
    job = at("job", "orders", "4712")
    assert "#1 8" in Page(browser.get(job)).text
    press(browser, "/job-types/fx.declined/", "", idempotency="unsafe", id_parameters="order_id")
    assert "#1 number" in Page(browser.get(job)).text and "#1 8" not in Page(browser.get(job)).text


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"idempotency": ""}, "This field is required."),
        ({"idempotency": "certain"}, "Select a valid choice."),
        ({"remembered_for_hours": ""}, "Say for how many hours the other side recognises a repeated key."),
        ({"remembered_for_hours": "0"}, "greater than or equal to 1"),
        ({"remembered_for_hours": "9999999"}, "less than or equal to 8784"),
        ({"remembered_for_hours": "soon"}, "Enter a whole number."),
        ({"id_parameters": "order id"}, "“order id” is no argument"),
        ({"id_parameters": "#0"}, "“#0” is no argument"),
        ({"id_parameters": "a," * 300}, "at most 500 characters"),
        ({"reason": "\0"}, None),
    ],
)
def test_a_form_that_says_too_little_or_too_much_is_refused_and_kept_on_the_page(browser, change, sentence):
    answer = browser.post(HERE, {**WHOLE, **change})
    assert answer.status_code == 400
    assert sentence is None or sentence in Page(answer).text
    assert not JobType.objects.exists() and not AuditEntry.objects.exists()


@pytest.mark.parametrize("who", ["viewer", "operator"])
@pytest.mark.parametrize("fields", [WHOLE, {}])
def test_who_may_not_declare_changes_nothing(shop, browser_of, who, fields):
    assert browser_of(who).post(HERE, fields).status_code == 404
    assert not JobType.objects.exists()


def test_who_tries_to_declare_without_the_right_is_on_record(shop, browser_of):
    browser_of("operator").post(HERE, WHOLE)
    entry = AuditEntry.objects.get()
    assert (entry.actor_name, entry.verb, entry.status, entry.subject) == (
        *("otto", "declare_job_type"),
        *("refused", "fx.boom"),
    )


def test_the_list_shows_every_declared_type_and_leads_to_it(browser, lead):
    JobType.objects.create(path="shop.charge", idempotency="unsafe", id_parameters=["order_id"], declared_by=lead)
    JobType.objects.create(path="shop.mail", idempotency="keyed")
    page = Page(browser.get(LIST))
    assert page.rows() == ["shop.charge", "shop.mail"]
    assert "shop.charge unsafe order_id lena" in page.text and "/job-types/shop.charge/" in page.links


def test_no_type_at_all_says_what_follows(browser):
    assert "No job type is declared yet, so nothing can be retried here." in Page(browser.get(LIST)).text


def test_a_path_leads_to_its_page_declared_or_not(browser):
    answer = browser.get(LIST, {"path": " shop.tasks.send "})
    assert answer.headers["Location"] == "/job-types/shop.tasks.send/"
    assert "Nobody has said whether it may be run twice" in Page(browser.get(answer.headers["Location"])).text


@pytest.mark.parametrize("path", ["", "send", "a..b", "a.b.", "1.b", "a b.c", "../x", "<b>.x", "a.b()", "x." * 300])
def test_what_is_no_path_is_said_to_be_none(browser, path):
    answer = browser.get(LIST, {"path": path})
    assert answer.status_code == 200
    assert [one for one in Page(answer).elements if one.attributes.get("id") == "path-error"]


@pytest.mark.parametrize("path", ["send", "a..b", "1.b"])
def test_an_address_that_names_no_path_is_not_found(browser, path):
    assert browser.get(f"/job-types/{path}/").status_code == 404
    assert browser.post(f"/job-types/{path}/", WHOLE).status_code == 404


def test_each_promise_is_explained(browser):
    text = Page(browser.get(HERE)).text
    for words in (
        "with one press",
        "the other side recognises a repeat",
        "can be asked",
        "Never retried here.",
        "Counts as unsafe",
    ):
        assert words in text
