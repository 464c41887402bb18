"""What people declared about job types."""

from __future__ import annotations

import pytest

from jobs.broker import connections
from jobs.models import AuditEntry, JobType
from tests.support.pages import Page, at, press

pytestmark = pytest.mark.django_db
LIST, HERE = at("job-types"), "/job-types/fx.boom/"
WHOLE = {"idempotency": "keyed", "remembered_for_hours": "24", "id_parameters": " order_id, #2 ", "reason": "see 42"}
RUNBOOK = {"runbook_text": "Ask the bank.\r\n  Then tell Ina.", "runbook_url": "https://wiki.example/boom?a=1&b=2"}


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
    assert (
        "Declared. It holds for every retry from now on; what is in review is answered there." in text
        and "declared by lena" in text
    )
    found = JobType.objects.get()
    assert (found.path, found.idempotency, found.declared_by) == ("fx.boom", "keyed", lead)
    assert (found.remembered_for_seconds, found.id_parameters) == (24 * 3600, ["order_id", "#2"])


def test_its_page_shows_how_it_was_declared_before_the_newest_first(browser, lead):
    press(browser, HERE, "", **WHOLE)
    press(browser, HERE, "", idempotency="unsafe", reason="not so")
    text = Page(browser.get(HERE)).text
    assert text.index("Run again: was keyed, is unsafe.") < text.index("Run again: was undeclared, is keyed.")
    assert text.index("Reason given: not so") < text.index("Reason given: see 42")


def test_it_holds_for_the_next_retry(browser, shop, browser_of):
    job, retry = at("job", "orders", "4711"), at("job-retry", "orders", "4711")
    assert "Review before retry" in Page(browser.get(job)).text
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
        ({"runbook_text": "x" * 4001}, "The runbook has 4001 characters; 4000 are kept."),
        ({"runbook_url": "javascript:alert(1)"}, "Give an address of http or https"),
        ({"runbook_url": "https://me:pw@wiki.example/"}, "Give an address of http or https"),
        ({"runbook_url": "https://wiki.example/" + "a" * 500}, "at most 500 characters"),
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


@pytest.mark.parametrize("fields", [WHOLE, {}])
def test_who_tries_to_declare_without_the_right_is_on_record(shop, browser_of, fields):
    browser_of("operator").post(HERE, fields)
    entry = AuditEntry.objects.get()
    assert (entry.actor_name, entry.verb, entry.status, entry.subject) == (
        *("otto", "declare_job_type"),
        *("refused", "fx.boom"),
    )


def test_the_list_shows_every_declared_type_and_leads_to_it(browser, lead):
    JobType.objects.create(path="shop.charge", idempotency="unsafe", id_parameters=["order_id"], declared_by=lead)
    JobType.objects.create(path="shop.mail", idempotency="keyed", remembered_for_seconds=86400, runbook_text="Look.")
    page = Page(browser.get(LIST))
    assert page.rows()[-2:] == ["shop.charge", "shop.mail"]
    assert "shop.charge unsafe order_id no lena" in page.text and "shop.mail keyed 1 d – yes unknown" in page.text
    assert "/job-types/shop.charge/" in page.links


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
        "Example: writing a report to a file of the same name.",
        "Example: a card payment whose key the bank remembers for 24 hours.",
        "Example: a parcel that the carrier finds by our order number.",
        "Example: an e-mail to a customer.",
        "Counts as unsafe",
    ):
        assert words in text


# Two people at once ---------------------------------------------------------------------------------------------------


@pytest.fixture
def other(browser_of):
    return browser_of("superuser")


def shown(page, name):
    """What a page's form holds in an input of this name."""
    return next(one.attributes["value"] for one in page.elements if one.attributes.get("name") == name)


def test_who_comes_second_is_told_what_the_first_declared_and_keeps_what_was_typed(browser, other):
    stale = Page(browser.get(HERE)).form("").fields
    press(other, HERE, "", idempotency="unsafe", id_parameters="customer_id")
    answer = browser.post(HERE, {**stale, **WHOLE, "runbook_text": "typed for an hour"})
    page = Page(answer)
    assert answer.status_code == 409
    assert "Not saved: root declared it while you were typing." in page.text
    assert "Run again unsafe" in page.text and "Ids customer_id" in page.text
    assert "typed for an hour" in page.text and shown(page, "id_parameters") == WHOLE["id_parameters"]
    assert JobType.objects.get().idempotency == "unsafe"


def test_having_read_that_a_second_press_declares(browser, other):
    stale = Page(browser.get(HERE)).form("").fields
    press(other, HERE, "", idempotency="unsafe")
    told = Page(browser.post(HERE, {**stale, **WHOLE})).form("").fields
    assert browser.post(HERE, {**told, **WHOLE}).status_code == 302
    assert JobType.objects.get().idempotency == "keyed"


def test_a_mistake_in_the_form_hides_no_conflict(browser, other):
    stale = Page(browser.get(HERE)).form("").fields
    press(other, HERE, "", idempotency="unsafe")
    wrong = browser.post(HERE, {**stale, **WHOLE, "remembered_for_hours": ""})
    assert wrong.status_code == 400
    assert browser.post(HERE, {**Page(wrong).form("").fields, **WHOLE}).status_code == 409


# Runbooks -------------------------------------------------------------------------------------------------------------


def test_a_runbook_is_shown_line_by_line_with_its_link_and_where_it_leads(browser):
    press(browser, HERE, "", idempotency="unsafe", **RUNBOOK)
    found, answer = JobType.objects.get(), browser.get(HERE)
    assert found.runbook_text == "Ask the bank.\n  Then tell Ina."
    page = Page(answer)
    (link,) = [one.attributes for one in page.elements if one.attributes.get("href") == RUNBOOK["runbook_url"]]
    assert set(link["rel"].split()) == {"noopener", "noreferrer"} and "Runbook at wiki.example" in page.text
    assert '<p class="runbook" dir="auto">Ask the bank.\n  Then tell Ina.</p>' in answer.content.decode()


def test_the_form_gives_back_every_line_as_it_was_written(browser):
    """Browsers drop the first line end of a text area; and 4000 characters are 4000 however lines end."""
    text = "\r\n" + "ab\r\n" * 1333
    press(browser, HERE, "", idempotency="unsafe", runbook_text=text.strip())
    JobType.objects.update(runbook_text="\n\nfirst line")
    assert ">\n\n\nfirst line</textarea>" in browser.get(HERE).content.decode()


@pytest.mark.parametrize("url", ["javascript:alert(1)", "https://user:pw@wiki.example/", "data:text/html,x"])
def test_a_link_that_came_there_otherwise_than_through_the_form_is_not_offered(browser, url):
    JobType.objects.create(path="fx.boom", runbook_url=url)
    assert url not in Page(browser.get(HERE)).links


def test_a_runbook_is_text_and_nothing_else(browser):
    press(browser, HERE, "", idempotency="unsafe", runbook_text="<script>x</script><b>bold</b>")
    page = Page(browser.get(HERE))
    assert "<script>x</script><b>bold</b>" in page.text
    assert not [one for one in page.elements if one.tag == "b"]


# What nobody has declared ---------------------------------------------------------------------------------------------


def test_what_the_newest_failed_jobs_call_is_listed_with_how_many_do(browser):
    page = Page(browser.get(LIST))
    assert page.rows() == ["fx.boom", "fx.declined", "fx.die"]
    assert "fx.boom undeclared 1 of 3 none on record Declare fx.boom" in page.text
    assert "among the 3 newest failed jobs" in page.text and HERE in page.links


def test_what_is_declared_is_not_listed_twice(browser):
    JobType.objects.create(path="fx.boom", idempotency="unsafe")
    assert Page(browser.get(LIST)).rows() == ["fx.declined", "fx.die", "fx.boom"]


def test_what_fails_more_often_stands_first(browser, shop):
    for number in range(4):
        shop.copy("rq:job:4713", f"rq:job:more-{number}")
        shop.zadd("rq:failed:orders", {f"more-{number}": 9e9})
    page = Page(browser.get(LIST))
    assert page.rows()[0] == "fx.die" and "fx.die undeclared 5 of 7" in page.text


def test_a_superuser_sees_what_failed_in_queues_that_nobody_has_put_on_record(shop, browser_of):
    assert "fx.boom undeclared 2 of 4" in Page(browser_of("superuser").get(LIST)).text


def test_a_job_that_is_listed_under_another_queue_stays_hidden_with_its_own(browser, shop):
    shop.hset("rq:job:4712", "origin", "payroll")
    page = Page(browser.get(LIST))
    assert page.rows() == ["fx.boom", "fx.die"] and "1 of 2" in page.text


def test_a_type_on_whose_jobs_somebody_acted_is_listed_though_none_is_failed_now(browser, operator, now):
    def act(path, queue, at):
        return AuditEntry.objects.create(
            actor=operator, actor_name="otto", verb="retry_job", job_type=path, created_at=at,
            connection="default", queue=queue, subject="7",
        )  # fmt: skip

    act("shop.gone", "orders", now)
    act("payroll.hidden", "payroll", now)
    act("", "orders", now)
    page = Page(browser.get(LIST))
    assert page.rows() == ["fx.boom", "fx.declined", "fx.die", "shop.gone"]
    assert "shop.gone undeclared none 2026-03-14 15:09:26 UTC" in page.text


def test_a_name_that_is_no_path_is_listed_and_cannot_be_declared(browser, operator, now):
    AuditEntry.objects.create(
        actor=operator, actor_name="otto", verb="retry_job", job_type="lambda()", created_at=now,
        connection="default", queue="orders", subject="7",
    )  # fmt: skip
    page = Page(browser.get(LIST))
    assert "lambda() undeclared none" in page.text and "no dotted path" in page.text
    assert not [link for link in page.links if "lambda" in link]


def test_a_silent_store_is_named_and_takes_nothing_else_away(shop, browser_of, settings):
    settings.OPSBOARD_CONNECTIONS = {
        **settings.OPSBOARD_CONNECTIONS,
        "reports": {"url": "redis://:secret@127.0.0.1:1/0"},
    }
    connections.reset()
    JobType.objects.create(path="fx.boom", idempotency="unsafe")
    answer = browser_of("superuser").get(LIST)
    page = Page(answer)
    assert answer.status_code == 200
    assert "The job store “reports” does not answer: no connection." in page.text and "secret" not in page.text
    assert page.rows() == ["fx.declined", "fx.die", "fx.boom"]
