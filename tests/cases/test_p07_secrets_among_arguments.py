"""P07: secrets among the arguments, in meta, results and in the errors that repeat them. Every surface is searched."""

from __future__ import annotations

from itertools import product

import pytest
from django.contrib.sessions.models import Session
from django.db import connection
from django.urls import reverse

from jobs.domain.verdicts import Verdict
from jobs.models import AuditEntry, JobType, Review
from tests.support.observer import watch
from tests.support.pages import Page, at, confirm, press, without_tokens
from tests.support.reviews import GIVEN

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def rq_version():
    """One is enough: tests/broker reads what both have written, and from there on it is the same."""
    return "3.0"


SECRETS = [f"CANARY{number}" for number in range(1, 9)]
PLACES = ["overview", "failed", "reviews", "queues", "workers", "lookup", "job-types", "observer", "audit", "access"]
STATES = ["queued", "started", "failed", "finished", "scheduled", "deferred", "canceled"]
JOBS = ["p07", "echo", "result", "waits", "later", "blocked"]
HEADERS = [{}, {"hx-request": "true"}]


@pytest.fixture
def secrets(lay_once, redis_client):
    """One job in each place where a list shows it: failed, finished, queued, scheduled and deferred."""
    lay_once(lay)
    description, meta = redis_client.hmget("rq:job:p07", "description", "meta")
    assert b"fx.boom(7, 'CANARY2', api_key='CANARY1'" in description and b"CANARY4" in meta
    return redis_client


def lay(rq, redis):
    card, token = {"api_key": "CANARY1", "card": {"no": "CANARY3"}}, {"token": "CANARY4"}
    rq.enqueue("fx.boom", 7, "CANARY2", kwargs=card, meta=token, job_id="p07")
    rq.enqueue("fx.missing_key", "CANARY5", meta=token, job_id="echo")
    rq.enqueue("fx.ok", "CANARY6", job_id="result", result_ttl=-1)
    rq.burst("orders")
    rq.enqueue("fx.boom", 7, "CANARY7", meta=token, job_id="waits")
    rq.enqueue("fx.boom", 7, "CANARY8", seconds=3600, meta=token, job_id="later")
    rq.enqueue("fx.boom", 7, "CANARY8", depends_on="p07", meta=token, job_id="blocked")


def addresses():
    """Every page that can be opened here."""
    yield from map(at, PLACES)
    yield from (at("queue-state", "orders", state) for state in STATES)
    yield from (at(name, "orders", job_id) for name, job_id in product(["job", "job-delete"], JOBS))
    yield from ["/job-types/fx.boom/", "/job-types/fx.missing_key/", "/healthz", "/login/", "/nowhere/"]


def told(answer):
    """All that reaches the reader: status, headers, body."""
    head = f"{answer.status_code} {answer.reason_phrase} {answer.headers!r} {answer.cookies.output()}"
    return f"{head}\n{answer.content.decode()}"


@pytest.mark.parametrize("who", ["viewer", "operator", "lead", "superuser"])
def test_p07_no_page_refresh_or_header_shows_one_to_anybody(secrets, request, sign_in, who):
    browser = sign_in(request.getfixturevalue(who))
    seen = [told(browser.get(address, headers=more)) for address, more in product(addresses(), HEADERS)]
    assert not [page for page in seen if "CANARY" in page.upper()]
    assert sum("p07" in page for page in seen) >= 6


def test_p07_the_page_shows_the_id_and_of_the_rest_that_there_is_a_value_of_some_kind(secrets, viewer, sign_in):
    text = Page(sign_in(viewer).get(at("job", "orders", "p07"))).text
    shown = text.partition("of the rest kind and size")[2]
    assert "#1 7 #2 text, 7 characters" in shown
    assert "api_key text, 7 characters card dict, 1 entry" in shown


def test_p07_an_error_that_repeats_an_argument_is_masked_and_still_read(secrets, viewer, sign_in):
    browser = sign_in(viewer)
    assert "KeyError: " in Page(browser.get(at("failed"))).text
    text = Page(browser.get(at("job", "orders", "echo"))).text
    assert "KeyError" in text and "[hidden" in text


def test_p07_what_was_an_id_when_it_was_recorded_is_shown_no_longer_than_it_is_one(secrets, viewer, sign_in):
    """Declared as an id by mistake, read by the observer, taken back: it is gone at once, from the message too."""
    JobType.objects.create(path="fx.missing_key", id_parameters=["#1"])
    JobType.objects.create(path="fx.boom", id_parameters=["#2", "api_key"])
    watch()
    browser = sign_in(viewer, watched=False)
    shown = browser.get(at("failed")).text
    assert "#2=CANARY2" in shown and "api_key=CANARY1" in shown and "KeyError: &#x27;CANARY5" in shown
    JobType.objects.update(id_parameters=["order_id"])
    assert "CANARY" not in browser.get(at("failed")).text
    JobType.objects.update(id_parameters=[])
    page = browser.get(at("failed"))
    assert "CANARY" not in page.text and "KeyError: " in Page(page).text


def test_p07_a_job_is_found_by_its_id(secrets, viewer, sign_in):
    answer = sign_in(viewer).get(at("lookup"), {"q": "p07"})
    assert answer.headers["Location"] == at("job", "orders", "p07")


def test_p07_no_job_is_found_by_a_hidden_value(secrets, superuser, sign_in, frozen):
    """What a search for one answers differs from any other search only in the words that were typed."""
    browser = sign_in(superuser)
    miss, *hits = [browser.get(at("lookup"), {"q": word}) for word in ["NOTHING", *SECRETS]]
    expected = without_tokens(miss.content.decode())
    for secret, hit in zip(SECRETS, hits, strict=True):
        assert hit.status_code == 200
        assert without_tokens(hit.content.decode()).replace(secret, "NOTHING") == expected


def test_p07_what_acts_say_leave_on_record_and_in_the_session_holds_none(secrets, lead, sign_in):
    browser = sign_in(lead)
    said = [told(answer) for answer in acts(browser)]
    assert "is back on the queue" in "".join(said) and "is deleted" in "".join(said)
    assert not [page for page in said if "CANARY" in page]
    assert AuditEntry.objects.count() == 6
    rows = list(every_value())
    assert "p07" in rows and "fx.boom" in rows
    assert not [row for row in rows if "CANARY" in row]


def test_p07_the_log_of_the_web_process_holds_none(secrets, lead, sign_in, caplog, capfd):
    browser = sign_in(lead)
    for address, secret in product(addresses(), ["", "?q=CANARY1"]):
        browser.get(address + secret)
    list(acts(browser))
    secrets.hset("rq:job:p07", "timeout", "CANARY1")
    browser.get(at("job", "orders", "p07"))
    written = caplog.text + "".join(capfd.readouterr())
    assert "/jobs/default/orders/p07/" in written
    assert "CANARY" not in written


def acts(browser):
    """Declared, retried, sent to a review, answered there, deleted: with every page that follows."""
    job, retry = at("job", "orders", "p07"), at("job-retry", "orders", "p07")
    yield press(browser, "/job-types/fx.boom/", "", idempotency="repeatable")
    yield press(browser, job, retry)
    yield browser.get(job)
    yield from reviewed(browser, "echo")
    result = at("job-delete", "orders", "result")
    yield confirm(browser, result, reason="no longer wanted")
    yield browser.get(at("failed"))
    yield browser.get(at("job", "orders", "result"))


def reviewed(browser, job_id):
    """Nobody knows whether its run acted, until somebody has looked and says that it did not."""
    yield press(browser, at("job", "orders", job_id), at("job-retry", "orders", job_id))
    review = f"/review/{Review.objects.get().pk}/"
    yield press(browser, review, f"{review}take/")
    yield browser.get(review)
    found = {f"did_not_happen-{name}": text for name, text in GIVEN[Verdict.DID_NOT_HAPPEN].items()}
    yield press(browser, review, f"{review}resolve/", verdict="did_not_happen", **found)
    operation = reverse("jobs:operation", args=(f"rq:default:{job_id}",))
    for address in (review, at("job", "orders", job_id), operation):
        answer = browser.get(address)
        assert answer.status_code == 200
        yield answer


def every_value():
    """Every value of every row that SQL holds, and what the sessions hold when they are unpacked."""
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names():
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
            yield from (str(value) for row in cursor.fetchall() for value in row)
    yield from (str(session.get_decoded()) for session in Session.objects.all())
