"""P16: the session ends between looking and clicking."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone
from guardian.models import GroupObjectPermission

from jobs.domain.verdicts import Verdict
from jobs.models import AuditEntry, JobType, Resolution
from tests.conftest import PASSWORD
from tests.support.keyspace import snapshot
from tests.support.observer import watch
from tests.support.pages import Page, at
from tests.support.reviews import fields, plain_review, take

pytestmark = pytest.mark.django_db

SORRY = (
    "Nothing was done. You were signed out before your click arrived, and what you typed was not kept. "
    "Please choose again."
)
PAGE = "http://localhost/access/?page=1"


@pytest.fixture
def browser(superuser, orders):
    """Signed in, on the page Access, with forms that need their token as real ones do."""
    browser = Client(HTTP_HOST="localhost", enforce_csrf_checks=True)
    sign_in(browser, "/login/", "root")
    return browser


def sign_in(browser, address, name):
    token = token_of(browser.get(address))
    lost = {"lost": "1"} if "lost" in address else {}
    return browser.post(address, {"username": name, "password": PASSWORD, "csrfmiddlewaretoken": token, **lost})


def token_of(answer):
    return answer.text.partition('name="csrfmiddlewaretoken" value="')[2].partition('"')[0]


def give(browser, token, **options):
    holder = f"group:{Group.objects.get(name='Viewers').pk}"
    form = {"connection": "default", "queue": "orders", "holder": holder, "permission": "view_queue"}
    return browser.post("/access/give/", {**form, "csrfmiddlewaretoken": token}, headers={"referer": PAGE}, **options)


def session_cookie(browser):
    return next(name for name in browser.cookies if "session" in name)


def test_p16_the_click_leads_to_the_sign_in_and_back_to_the_page_with_nothing_done(browser):
    token = token_of(browser.get("/access/"))
    Session.objects.all().delete()
    login = give(browser, token).headers["Location"]
    assert login == "/login/?next=%2Faccess%2F%3Fpage%3D1&lost=1"
    assert SORRY in browser.get(login).text
    back = sign_in(browser, login, "root")
    assert (back.status_code, back.headers["Location"]) == (302, "/access/?page=1")
    page = browser.get(back.headers["Location"])
    assert page.status_code == 200
    assert SORRY in page.text
    assert not GroupObjectPermission.objects.exists()


def test_p16_who_signs_in_as_somebody_else_gets_no_act_of_the_first(browser, viewer):
    token = token_of(browser.get("/access/"))
    Session.objects.all().delete()
    back = sign_in(browser, give(browser, token).headers["Location"], "vera")
    assert browser.get(back.headers["Location"]).status_code == 404
    assert not GroupObjectPermission.objects.exists()


@pytest.mark.parametrize("value", ["xxx", "", "\x01", "x" * 5000, "ü"])
def test_p16_a_broken_session_cookie_is_signed_out(browser, value):
    browser.cookies[session_cookie(browser)] = value
    assert browser.get("/access/").status_code == 302
    assert give(browser, "any").status_code == 302
    assert browser.get("/login/").status_code == 200


def test_p16_a_damaged_session_is_signed_out(browser):
    Session.objects.update(session_data="garbage")
    assert browser.get("/access/").status_code == 302


def test_p16_a_token_from_before_the_sign_in_says_that_nothing_was_done(superuser, orders):
    browser = Client(HTTP_HOST="localhost", enforce_csrf_checks=True)
    before = token_of(browser.get("/login/"))
    sign_in(browser, "/login/", "root")
    answer = give(browser, before)
    assert answer.status_code == 403
    assert "Nothing was done." in answer.text
    assert 'href="/access/?page=1"' in answer.text
    assert not GroupObjectPermission.objects.exists()


def test_p16_a_click_that_lost_even_its_token_is_asked_to_sign_in(browser):
    browser.cookies.clear()
    assert give(browser, "").headers["Location"].startswith("/login/?next=%2Faccess%2F")


@pytest.mark.parametrize("method", ["get", "post"])
def test_p16_a_part_that_refreshes_itself_says_signed_out_instead_of_a_form(browser, method):
    Session.objects.all().delete()
    headers = {"hx-request": "true", "hx-current-url": PAGE}
    answer = getattr(browser, method)("/access/", headers=headers)
    assert answer.status_code == 401
    assert "igned out" in answer.text
    assert "/login/?next=%2Faccess%2F%3Fpage%3D1" in answer.text
    assert "<form" not in answer.text
    assert not [name for name in answer.headers if name.lower().startswith("hx-")]


def test_p16_no_answer_of_the_way_is_405_or_500(browser):
    token = token_of(browser.get("/access/"))
    Session.objects.all().delete()
    login = give(browser, token).headers["Location"]
    seen = [browser.get(login), browser.get("/access/give/"), sign_in(browser, "/login/?next=/access/give/", "root")]
    assert [answer.status_code for answer in seen] == [200, 302, 302]
    assert seen[-1].headers["Location"] == "/access/"


# Three ticked jobs ----------------------------------------------------------------------------------------------------

LIST = at("failed") + "?connection=default&queue=orders"


@pytest.fixture
def jobs(real_rq):
    """Three failed jobs that could be retried."""
    JobType.objects.create(path="fx.boom", idempotency="repeatable")
    return [real_rq.fail("fx.boom", number) for number in range(3)]


@pytest.fixture
def ticking(operator, jobs):
    """Otto's browser, and what it sends when he has ticked all three and presses Retry."""
    browser = Client(HTTP_HOST="localhost", enforce_csrf_checks=True)
    sign_in(browser, "/login/", "otto")
    watch()
    page = Page(browser.get(LIST))
    rows = [one.attributes["value"] for one in page.elements if one.attributes.get("name") == "row"]
    assert len(rows) == 3
    return browser, {**page.form(at("ticked")).fields, "verb": "retry_job", "row": rows}


def retry_ticked(browser, form):
    return browser.post(at("ticked"), form, headers={"referer": f"http://localhost{LIST}"})


@pytest.mark.parametrize("rq_version", ["3.0"])
@pytest.mark.parametrize("who", ["otto", "vera"])
def test_p16_ticked_jobs_stay_and_whoever_signs_in_then_is_led_back_to_the_list(ticking, viewer, redis_client, who):
    browser, form = ticking
    before = snapshot(redis_client)
    Session.objects.all().delete()
    login = retry_ticked(browser, form).headers["Location"]
    back = sign_in(browser, login, who)
    assert (back.status_code, back.headers["Location"]) == (302, LIST)
    page = browser.get(LIST)
    assert page.status_code == 200 and SORRY in page.text
    assert snapshot(redis_client) == before and not AuditEntry.objects.exists()
    assert (at("ticked") in [one.action for one in Page(page).forms]) == (who == "otto")


@pytest.mark.parametrize("rq_version", ["3.0"])
def test_p16_the_token_from_before_signs_nothing_after(ticking, redis_client):
    browser, form = ticking
    before = snapshot(redis_client)
    Session.objects.all().delete()
    sign_in(browser, "/login/", "otto")
    answer = retry_ticked(browser, form)
    assert answer.status_code == 403 and "Nothing was done." in answer.text
    assert LIST in Page(answer).links
    assert browser.get(at("ticked")).status_code == 405
    assert snapshot(redis_client) == before and not AuditEntry.objects.exists()


# One act --------------------------------------------------------------------------------------------------------------

JOB = at("job", "orders", "p16")
RETRY, DELETE = at("job-retry", "orders", "p16"), at("job-delete", "orders", "p16")
ACTING = [
    pytest.param(JOB, RETRY, {}, id="retry from the job's page"),
    pytest.param(DELETE, DELETE, {"typed": "boom", "reason": "not wanted"}, id="delete from its own page"),
]
"""The page that one looks at, where its button leads, and what is typed."""


@pytest.fixture
def at_work(operator, real_rq):
    """Otto's browser, before the page of a job that could be retried."""
    JobType.objects.create(path="fx.boom", idempotency="repeatable")
    real_rq.fail("fx.boom", 7, job_id="p16")
    browser = Client(HTTP_HOST="localhost", enforce_csrf_checks=True)
    sign_in(browser, "/login/", "otto")
    return browser


def click(browser, page, action, form):
    return browser.post(action, form, headers={"referer": f"http://localhost{page}"})


@pytest.mark.parametrize("rq_version", ["3.0"])
@pytest.mark.parametrize(("page", "action", "typed"), ACTING)
@pytest.mark.parametrize("who", ["otto", "vera"])
def test_p16_one_act_leads_to_the_sign_in_and_back_to_the_job_with_nothing_done(
    at_work, viewer, redis_client, page, action, typed, who
):
    form = Page(at_work.get(page)).form(action).fields | typed
    before = snapshot(redis_client)
    Session.objects.all().delete()
    login = click(at_work, page, action, form).headers["Location"]
    back = sign_in(at_work, login, who)
    assert (back.status_code, back.headers["Location"]) == (302, JOB)
    found = at_work.get(JOB)
    assert found.status_code == 200 and SORRY in found.text
    assert snapshot(redis_client) == before and not AuditEntry.objects.exists()
    offered = {*Page(found).links, *(one.action for one in Page(found).forms)}
    assert ({RETRY, DELETE} <= offered) is (who == "otto") and (who == "otto" or not {RETRY, DELETE} & offered)


@pytest.mark.parametrize("rq_version", ["3.0"])
@pytest.mark.parametrize(("page", "action", "typed"), ACTING)
def test_p16_the_token_of_an_earlier_session_carries_out_no_act(at_work, redis_client, page, action, typed):
    form = Page(at_work.get(page)).form(action).fields | typed
    before = snapshot(redis_client)
    Session.objects.all().delete()
    sign_in(at_work, "/login/", "otto")
    answer = click(at_work, page, action, form)
    assert answer.status_code == 403 and "Nothing was done." in answer.text
    assert snapshot(redis_client) == before and not AuditEntry.objects.exists()


# A verdict ------------------------------------------------------------------------------------------------------------


def test_p16_a_verdict_that_came_too_late_is_not_kept_and_the_page_it_leads_back_to_says_so(operator):
    review = plain_review(1, timezone.now())
    take(review, operator)
    browser = Client(HTTP_HOST="localhost", enforce_csrf_checks=True)
    sign_in(browser, "/login/", "otto")
    here = f"/review/{review.pk}/"
    form = fields(review, Verdict.ABANDON, reason="a long story")
    token = token_of(browser.get(here))
    Session.objects.all().delete()
    lost = browser.post(f"{here}resolve/", {**form, "csrfmiddlewaretoken": token})
    login = lost.headers["Location"]
    assert login == f"/login/?next=%2Freview%2F{review.pk}%2F&lost=1"
    back = sign_in(browser, login, "otto")
    assert back.headers["Location"] == here
    page = browser.get(here)
    assert page.status_code == 200 and SORRY in page.text
    assert "a long story" not in page.text
    assert not Resolution.objects.exists()
    review.refresh_from_db()
    assert review.closed_at is None and review.version == 2
