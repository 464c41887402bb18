"""P14: actions triggered from another site, and pages framed by one."""

from __future__ import annotations

import json
from itertools import product

import pytest
from django.conf import settings
from django.contrib.auth.models import Group
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import reverse
from guardian.models import GroupObjectPermission

from jobs.domain.ticks import Tick
from jobs.domain.verdicts import Verdict
from jobs.models import AuditEntry, JobType, Review
from jobs.urls import urlpatterns
from tests.conftest import PASSWORD
from tests.support.keyspace import snapshot
from tests.support.layered import on_record
from tests.support.pages import Page, at, without_tokens
from tests.support.real_rq import wait_until
from tests.support.reviews import fields as review_fields
from tests.support.reviews import review_of, take
from tests.support.standing_in import standing_in

pytestmark = pytest.mark.django_db(transaction=True)

EVIL = "http://evil.example"
VALUES = {
    "connection": "default",
    "queue": "orders",
    "state": "failed",
    "path": "fx.boom",
    "review_id": 14,
    "operation_id": "rq:default:p14-unknown",
    "batch": "00000000-0000-4000-8000-000000000001",
}
JOBS = {
    "job-retry": "p14",
    "job-enqueue": "p14-later",
    "job-cancel": "p14-later",
    "job-stop": "p14-runs",
    "job-delete": "p14",
    "job-remove-entry": "p14-ghost",
}
"""Every act on a job, with one that it can be carried out on."""
OPERATIONS = {"operation-retry": "p14:failed", "operation-cancel": "p14:queued"}
"""Every act on an operation, likewise."""
REVIEWS = ["review-take", "review-give-back", "review-resolve"]
ACTS = ["logout", *JOBS, *OPERATIONS, *REVIEWS, "job-type", "ticked", "access-give", "access-take"]
"""The names of all addresses that change something; a new one that is missing here fails the first test."""
ASKING = {"job-type", *JOBS, *OPERATIONS}
"""Those that have a page of their own, which GET opens."""
ERRORS = ["/nowhere/", "/failed/?after=x", "/jobs/default/payroll/p14/", "/static/nowhere.css", "/job-types/x/"]


@pytest.fixture
def rq_version():
    return "3.0"


@pytest.fixture
def jobs(lay_once, redis_client):
    """One that failed, one due later, an id without data, and one that counts as running; nothing moves by itself.

    One was killed, and its review is open. The worker of the last one is gone; somebody listens in its place.
    """
    lay_once(lay)
    with standing_in(redis_client, "packer", "p14-runs"):
        yield


def lay(rq, redis):
    rq.enqueue("fx.boom", 7, job_id="p14")
    rq.enqueue("fx.die", 7, job_id="p14-unknown")
    rq.burst()
    rq.enqueue("fx.ok", 8, job_id="p14-later", seconds=3600)
    redis.zadd("rq:failed:orders", {"p14-ghost": 9e9})
    rq.enqueue("fx.slow", 9, 60, job_id="p14-runs")
    worker = rq.start("orders", name="packer")
    worker.wait_for_horse()
    wait_until(lambda: redis.hget("rq:job:p14-runs", "status") == b"started", "the job runs")
    worker.kill_session()


@pytest.fixture
def browser(jobs, lead):
    """Signed in through the page, as somebody who may do all of it; its forms need their token as real ones do."""
    JobType.objects.create(path="fx.boom", idempotency="repeatable")
    browser = Client(HTTP_HOST="localhost", enforce_csrf_checks=True)
    token = Page(browser.get(at("login"))).form(at("login")).fields["csrfmiddlewaretoken"]
    browser.post(at("login"), {"username": "lena", "password": PASSWORD, "csrfmiddlewaretoken": token})
    on_record("p14:failed", "p14-operation", status="failed")
    on_record("p14:queued", "p14-waiting", status="queued")
    review = review_of("p14-unknown")
    take(review, lead)
    Review.objects.filter(pk=review.pk).update(id=VALUES["review_id"])
    assert Session.objects.count() == 1
    return browser


@pytest.fixture
def forms(browser, redis_client):
    """What each act needs to be carried out, the token included."""
    acts = {name: confirmed(browser, name) for name in (*JOBS, *OPERATIONS)}
    row = Tick("orders", "p14", acts["job-retry"]["seen"]).encode()
    grant = {"connection": "default", "queue": "orders", "permission": "view_queue"}
    grant["holder"] = f"group:{Group.objects.get(name='Viewers').pk}"
    fields = {
        "logout": {},
        **acts,
        **{name: {} for name in REVIEWS},
        "review-resolve": review_fields(Review.objects.get(), Verdict.ABANDON),
        "job-type": {**Page(browser.get(address_of("job-type"))).form("").fields, "idempotency": "unsafe"},
        "ticked": {"connection": "default", "verb": "retry_job", "row": row},
        "access-give": grant,
        "access-take": grant,
    }
    token = {"csrfmiddlewaretoken": acts["job-retry"]["csrfmiddlewaretoken"]}
    return {name: {**fields[name], **token} for name in ACTS}


def confirmed(browser, name):
    """What the page of an act would send."""
    address = address_of(name)
    return Page(browser.get(address)).form(address).fields | ({"typed": "boom"} if name == "job-delete" else {})


@pytest.fixture
def state(redis_client):
    """Everything that an act could change."""

    def read():
        types = list(JobType.objects.values_list("path", "idempotency"))
        types += Review.objects.values_list("version", "claimed_by", "verdict")
        grants = list(GroupObjectPermission.objects.values_list("group", "permission"))
        people = [session.get_decoded().get("_auth_user_id") for session in Session.objects.all()]
        return snapshot(redis_client), types, grants, people, AuditEntry.objects.count()

    return read


def address_of(name):
    pattern = next(one for one in urlpatterns if one.name == name)
    values = VALUES | {"job_id": JOBS.get(name, "p14")}
    values["operation_id"] = OPERATIONS.get(name, values["operation_id"])
    return reverse(f"jobs:{name}", kwargs={key: values[key] for key in pattern.pattern.converters})


def test_p14_every_address_that_changes_something_is_known_here(browser, state):
    """Whatever takes a POST with a valid token, the sign-in aside."""
    token = Page(browser.get(at("failed"))).form(at("logout")).fields["csrfmiddlewaretoken"]
    names = [one.name for one in urlpatterns if one.name not in ("login", "logout")]
    taken = [one for one in names if browser.post(address_of(one), {"csrfmiddlewaretoken": token}).status_code != 405]
    assert sorted([*taken, "logout"]) == sorted(ACTS)


@pytest.mark.parametrize("name", ACTS)
def test_p14_with_its_token_and_from_our_own_page_each_act_works(browser, forms, state, name):
    """Else the refusals below would prove nothing."""
    if name == "access-take":
        browser.post(address_of("access-give"), forms["access-give"], headers={"origin": "http://localhost"})
    before = state()
    answer = browser.post(address_of(name), forms[name], headers={"origin": "http://localhost"})
    assert answer.status_code == 302
    assert state() != before


def test_p14_get_and_head_change_nothing(browser, forms, state):
    before = state()
    for name, method, has_fields in product(ACTS, [browser.get, browser.head], [False, True]):
        answer = method(address_of(name), forms[name] if has_fields else {})
        assert answer.status_code == (200 if name in ASKING else 405)
        assert state() == before, name


def test_p14_no_other_method_changes_anything(browser, forms, state):
    before = state()
    for name, method in product(ACTS, [browser.put, browser.patch, browser.delete, browser.options]):
        answer = method(address_of(name))
        assert answer.status_code in ((200, 405) if method == browser.options else (403, 405))
        assert state() == before, name


@pytest.mark.parametrize("token", [{}, {"csrfmiddlewaretoken": ""}, {"csrfmiddlewaretoken": "x" * 64}])
def test_p14_a_post_without_its_token_is_refused(browser, forms, state, token):
    """The session's cookie alone, which is all that another site can make a browser send."""
    before = state()
    for name in ACTS:
        fields = {key: value for key, value in forms[name].items() if key != "csrfmiddlewaretoken"}
        assert browser.post(address_of(name), fields | token).status_code == 403
        assert state() == before, name


@pytest.mark.parametrize("origin", [EVIL, "http://localhost.evil.example", "http://localhost:9", "null"])
def test_p14_a_post_from_another_site_is_refused_even_with_the_token(browser, forms, state, origin):
    before = state()
    for name in ACTS:
        answer = browser.post(address_of(name), forms[name], headers={"origin": origin})
        assert answer.status_code == 403
        assert "Nothing was done." in Page(answer).text
        assert state() == before, name


@pytest.mark.parametrize("kind", ["text/plain", "application/json", "application/octet-stream"])
def test_p14_a_post_as_another_kind_of_text_is_refused(browser, forms, state, kind):
    """What another site may send without asking first; the token in such a body does not count."""
    before = state()
    for name in ACTS:
        plain = "&".join(f"{key}={value}" for key, value in forms[name].items())
        for body in [plain, json.dumps(forms[name])]:
            assert browser.post(address_of(name), body, content_type=kind).status_code == 403
        assert state() == before, name


def test_p14_nobody_is_signed_in_from_another_site(browser, state):
    """Else a victim would work in the attacker's account."""
    before, form = state(), {"username": "lena", "password": PASSWORD}
    for headers in ({}, {"origin": EVIL}):
        fresh = Client(HTTP_HOST="localhost", enforce_csrf_checks=True)
        token = Page(fresh.get(at("login"))).form(at("login")).fields
        answer = fresh.post(at("login"), form | (token if headers else {}), headers=headers)
        assert answer.status_code == 403
    assert state() == before


def test_p14_cookies_are_for_http_and_for_the_same_site_only(browser):
    kept = {settings.SESSION_COOKIE_NAME, settings.CSRF_COOKIE_NAME}
    assert set(browser.cookies) == kept
    for cookie in browser.cookies.values():
        assert cookie["httponly"] and cookie["samesite"] == "Lax" and not cookie["domain"]


def everything():
    """Each page and each kind of error, by GET and by a refused POST."""
    pages = [address_of(one.name) for one in urlpatterns]
    return product([*pages, *ERRORS], ["get", "head", "post", "options"])


def test_p14_no_page_can_be_framed_or_read_by_another_site(browser, forms):
    for address, method in everything():
        assert is_closed(getattr(browser, method)(address, headers={"origin": EVIL})), address


@pytest.mark.parametrize(
    ("name", "job_id", "changes", "status"),
    [
        ("job-retry", "p14", {"seen": "0-0"}, 409),
        ("job-delete", "p14", {"typed": "else"}, 400),
        ("job-cancel", "no-such-job", {}, 404),
    ],
)
def test_p14_no_answer_of_an_act_can_be_framed_or_read_by_another_site(browser, forms, name, job_id, changes, status):
    answer = browser.post(at(name, "orders", job_id), forms[name] | changes)
    assert answer.status_code == status and is_closed(answer)


def is_closed(answer):
    """No other site may frame it, embed it or read it."""
    closed = {"X-Frame-Options": "DENY", "Cross-Origin-Resource-Policy": "same-origin"}
    return (
        closed.items() <= dict(answer.headers).items()
        and "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
        and not [name for name in answer.headers if name.lower().startswith("access-control-")]
    )


def test_p14_a_refusal_shows_none_of_the_page_behind_it(browser, forms, frozen):
    """A refused POST to what exists and to what does not look alike."""
    answers = [browser.post(at("job-retry", "orders", one), headers={"origin": EVIL}) for one in ("p14", "no-such-job")]
    texts = [without_tokens(one.content.decode()).replace("p14", "ID").replace("no-such-job", "ID") for one in answers]
    assert texts[0] == texts[1]


def test_p14_a_form_of_ours_can_not_be_sent_elsewhere(browser):
    answer = browser.get(at("job", "orders", "p14"))
    assert "form-action 'self'" in answer.headers["Content-Security-Policy"]
    assert "base-uri 'none'" in answer.headers["Content-Security-Policy"]
