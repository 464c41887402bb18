"""P06: HTML, templates and script in everything that a job, a worker, a person or an address can carry."""

from __future__ import annotations

import re
from itertools import product
from urllib.parse import quote

import pytest
from django.conf import settings
from django.contrib.auth.models import Group, User
from django.urls import reverse
from guardian.shortcuts import assign_perm

from jobs.domain.verdicts import Verdict
from jobs.models import AuditEntry, JobType, Operation, Queue, Review
from tests.conftest import ACTS, MODEL_WIDE, PASSWORD
from tests.support.pages import Page, at, confirm
from tests.support.reviews import GIVEN, fields, review_of, take

pytestmark = pytest.mark.django_db(transaction=True)

TEXTS = [
    '"><img src=x onerror=alert(1)>',
    "<script>alert(1)</script>",
    "</title><svg onload=alert(1)>",
    "{{7*7}}",
    "${7*7}",
    "javascript:alert(1)",
]
SCRIPT = TEXTS[1]
IMAGE = TEXTS[0]
FRAGMENT = {"hx-request": "true"}
PLACES = ("overview", "failed", "reviews", "queues", "workers", "lookup", "job-types", "access")
NAMES = (["q", "sort", "page", "view", "path", "shown", "next"], ["after"], ["before"], ["queue"], ["connection"])
STATES = ("queued", "started", "failed", "finished", "scheduled", "deferred", "canceled")
ADDRESSES = {"href", "src", "action", "formaction", "hx-get", "hx-post", "xlink:href"}
NEVER = {"img", "iframe", "object", "embed", "base", "style", "svg", "b"}


@pytest.fixture
def rq_version():
    return "3.0"


@pytest.fixture
def hostile(lay_once, db):
    """Each text as queue, description, meta, message, argument's name, function, job id and worker."""
    lay_once(lay)
    JobType.objects.create(path="fx.say", idempotency="repeatable", id_parameters=["#1", "#2"])


def lay(rq, redis):
    for number, text in enumerate(TEXTS):
        rq.enqueue("fx.say", 1, text, job_id=f"say-{number}", description=text, meta={text: text})
        rq.enqueue("fx.say", 1, text, queue=text, job_id=f"far-{number}")
    rq.enqueue("fx.<b>x</b>", 1, job_id="function")
    rq.enqueue("fx.boom", 1, kwargs=dict.fromkeys(TEXTS, 2), job_id="names")
    rq.burst("orders", *TEXTS)
    for text in TEXTS:
        redis.copy("rq:job:say-1", f"rq:job:{text}")
        redis.copy("rq:results:say-1", f"rq:results:{text}")
        redis.zadd("rq:failed:orders", {text: 9999999999})
        redis.zadd("rq:deferred:orders", {text: 1})
        redis.rpush("rq:queue:orders", text)
        worker = {"queues": f"orders,{text}", "birth": "2026-01-01T00:00:00.000000Z", "state": "busy"}
        redis.hset(f"rq:worker:{text}", mapping={**worker, "hostname": text, "version": text, "pid": text})
        redis.hset(f"rq:worker:{text}", "current_job", text)
        redis.sadd("rq:workers", f"rq:worker:{text}")


@pytest.fixture
def browser(hostile, orders, sign_in):
    """Of somebody whose own name, groups and former acts carry the texts as well."""
    person = User.objects.create_user(SCRIPT, password=PASSWORD)
    for queue in [orders, *(Queue.objects.create(connection="default", name=text) for text in TEXTS)]:
        for right in ("view_queue", *ACTS):
            assign_perm(f"opsboard_jobs.{right}", person, queue)
    for right in MODEL_WIDE:
        assign_perm(f"opsboard_jobs.{right}", person)
    for text in TEXTS:
        person.groups.add(Group.objects.create(name=text))
    return sign_in(person)


def inert(answer):
    """Fails unless the page runs nothing but its own scripts; returns it parsed."""
    policy = answer.headers["Content-Security-Policy"]
    assert "script-src 'self';" in f"{policy};" and "unsafe" not in policy
    html, page = answer.content.decode(), Page(answer)
    assert not [text for text in TEXTS if "<" in text and text in html]
    assert not NEVER & {element.tag for element in page.elements}
    for element in page.elements:
        assert not [name for name in element.attributes if name.startswith(("on", "hx-on", "style"))], element
        assert all(is_local(element.attributes[name]) for name in ADDRESSES & set(element.attributes)), element
        assert element.tag != "script" or element.attributes["src"].startswith("/static/")
    assert not re.search(r"<script[^>]*>[^<]", html)
    return page


def is_local(address):
    return address == "" or (address.startswith(("/", "?", "#")) and not address.startswith("//"))


def attributes_of(page):
    return {value for element in page.elements for value in element.attributes.values()}


@pytest.mark.parametrize("headers", [{}, FRAGMENT], ids=["page", "refresh"])
def test_p06_lists_show_every_text_as_text_also_after_a_refresh(browser, headers):
    page = inert(browser.get(at("failed"), headers=headers))
    for text in TEXTS:
        assert f"ValueError: {text}" in page.text
        assert f"{text}:far-{TEXTS.index(text)}" in attributes_of(page)
    assert "fx.<b>x</b>" in attributes_of(page) and "<b>x</b>" in page.text


@pytest.mark.parametrize("headers", [{}, FRAGMENT], ids=["page", "refresh"])
def test_p06_each_state_of_a_queue_with_such_a_name_is_inert(browser, headers):
    for queue, state in product(["orders", *TEXTS], STATES):
        page = inert(browser.get(at("queue-state", queue, state), headers=headers))
        assert headers or (queue in page.text and page.title.startswith(queue))


@pytest.mark.parametrize("headers", [{}, FRAGMENT], ids=["page", "refresh"])
@pytest.mark.parametrize("place", ["overview", "queues", "workers"])
def test_p06_queues_and_workers_show_every_text_as_text(browser, place, headers):
    page = inert(browser.get(at(place), headers=headers))
    assert all(text in page.text for text in TEXTS)


def test_p06_a_job_page_shows_message_arguments_and_id_as_text(browser):
    for number, text in enumerate(TEXTS):
        page = inert(browser.get(at("job", "orders", f"say-{number}")))
        assert page.text.count(text) >= 3
    for text in TEXTS:
        page = inert(browser.get(at("job", "orders", text)))
        assert text in page.text and text in page.title


@pytest.mark.parametrize("headers", [{}, FRAGMENT], ids=["page", "refresh"])
def test_p06_a_job_of_a_queue_with_such_a_name_is_inert_and_so_is_its_refresh(browser, headers):
    for number, text in enumerate(TEXTS):
        page = inert(browser.get(at("job", text, f"far-{number}"), {"shown": text}, headers=headers))
        assert headers or text in page.text


def test_p06_a_function_and_arguments_with_such_names_are_text(browser):
    page = inert(browser.get(at("job", "orders", "function")))
    assert "fx.<b>x</b>" in page.text and "fx.<b>x</b>" in page.title
    assert inert(browser.get(at("job", "orders", "names"))).text.count("argument") >= len(TEXTS)


def test_p06_the_confirmation_and_the_job_that_is_gone_show_texts_as_text(browser):
    for number, text in enumerate(TEXTS):
        address = at("job-delete", text, f"far-{number}")
        assert text in inert(browser.get(address)).text
        assert inert(confirm(browser, address, reason=text)) is not None
        gone = browser.get(at("job", text, f"far-{number}"))
        assert gone.status_code == 404
        assert f"far-{number} is deleted" in inert(gone).text and f"Reason given: {text}" in inert(gone).text


def test_p06_a_refused_act_and_the_record_of_it_show_texts_as_text(browser):
    for text in TEXTS:
        answer = browser.post(at("job-retry", "orders", text), {"seen": text, "reason": text})
        assert answer.status_code == 409 and text in inert(answer).text
        page = inert(browser.get(at("job", "orders", text)))
        assert f"Reason given: {text}" in page.text and f"by {SCRIPT}" in page.text
    assert set(AuditEntry.objects.values_list("reason", flat=True)) == set(TEXTS)


def test_p06_a_review_its_answer_and_its_operation_show_texts_as_text(browser):
    """As the job's id and type, its queue and error, and as whatever a person types."""
    person = User.objects.get(username=SCRIPT)
    for number, text in enumerate(TEXTS):
        Review.objects.filter(pk=review_of(text).pk).update(sentence=text, opened_by_name=text)
        review = review_of(f"far-{number}", text)
        Operation.objects.filter(pk=review.operation_id).update(job_type=text)
        take(review, person)
        here, typed = f"/review/{review.pk}/", dict.fromkeys(GIVEN[Verdict.HAPPENED], text)
        page = inert(browser.get(here))
        assert text in page.text and text in page.title + page.text
        answer = browser.post(f"{here}resolve/", fields(review, Verdict.HAPPENED, **typed))
        assert answer.status_code == 400 and text in attributes_of(inert(answer))
        typed |= {"observed_at": "2026-01-01T00:00", "link": text, "quote": text}
        stale = browser.post(f"{here}resolve/", fields(review, Verdict.HAPPENED, **typed) | {"version": "1"})
        assert stale.status_code == 409 and text in inert(stale).text
        assert browser.post(f"{here}resolve/", fields(review, Verdict.HAPPENED, **typed)).status_code == 302
        assert inert(browser.get(here)).text.count(text) >= 4
        page = inert(browser.get(reverse("jobs:operation", args=(f"rq:default:far-{number}",))))
        assert page.text.count(text) >= 2
    for query in ("", "?show=closed"):
        page = inert(browser.get(at("reviews") + query))
        assert all(text in page.text for text in TEXTS)


def test_p06_job_types_show_what_was_typed_as_text(browser):
    for text in TEXTS:
        page = inert(browser.get(at("job-types"), {"path": text}))
        assert text in attributes_of(page)
        assert inert(browser.get(at("job-types") + quote(text, safe="") + "/")).text
        wrong = {"idempotency": text, "id_parameters": text, "remembered_for_hours": text, "reason": text}
        page = inert(browser.post("/job-types/fx.boom/", wrong))
        assert text in page.text


def test_p06_a_declaration_and_its_history_show_texts_as_text(browser):
    browser.post("/job-types/fx.boom/", {"idempotency": "unsafe", "reason": IMAGE})
    page = inert(browser.get("/job-types/fx.boom/"))
    assert IMAGE in page.text and SCRIPT in page.text


def test_p06_the_access_page_shows_queues_groups_and_accounts_as_text(browser):
    page = inert(browser.get(at("access")))
    assert all(page.text.count(text) >= 3 for text in TEXTS)
    group = f"group:{Group.objects.get(name=IMAGE).pk}"
    form = {"connection": "default", "queue": SCRIPT, "holder": group, "permission": "view_queue", "page": "1"}
    browser.post(at("access-give"), form)
    assert f"Given to {IMAGE} in default:{SCRIPT}" in inert(browser.get(at("access"))).text


def test_p06_the_search_box_shows_what_was_typed_as_text(browser, redis_client):
    for text in TEXTS:
        redis_client.delete(f"rq:job:{text}")
        redis_client.zrem("rq:failed:orders", text)
        page = inert(browser.get(at("lookup"), {"q": text}))
        assert text in page.text and text in attributes_of(page)


def test_p06_no_value_in_an_address_becomes_html(browser):
    for place, names, text in product(PLACES, NAMES, TEXTS):
        answer = browser.get(at(place), dict.fromkeys(names, text))
        assert answer.status_code in (200, 302, 400, 404), (place, names, text)
        if answer.status_code != 302:
            inert(answer)


def test_p06_no_address_becomes_html_on_an_error_page(browser, client):
    for text in map(quote, TEXTS):
        paths = [
            f"/{text}/",
            f"/jobs/default/orders/{text}/",
            f"/queues/default/orders/{text}/",
            f"/failed/?after={text}",
        ]
        for path in paths:
            answer = browser.get(path)
            assert answer.status_code in (400, 404)
            inert(answer)
            inert(browser.get(path, headers=FRAGMENT))


def test_p06_the_way_back_from_a_refusal_is_never_script(browser, orders, viewer, sign_in):
    stranger = sign_in(viewer)
    for text in TEXTS:
        address = at("job-retry", "orders", "say-0")
        answer = stranger.post(address, headers={"referer": f"http://localhost/lookup/?q={text}"})
        assert answer.status_code == 403
        inert(answer)


def test_p06_the_sign_in_shows_name_and_next_as_text(client):
    for text in TEXTS:
        page = inert(client.get(at("login"), {"next": text, "lost": text, "signed_out": text}))
        assert page.form(at("login"))
        page = inert(client.post(at("login"), {"username": text, "password": text, "next": text}))
        assert text in attributes_of(page)


def test_p06_a_description_or_meta_is_not_shown_at_all(browser, real_rq):
    real_rq.fail("fx.boom", 1, job_id="quiet", description="D3SCRIBED", meta={"key": "M3TA"})
    for address in (at("failed"), at("job", "orders", "quiet")):
        html = browser.get(address).content.decode()
        assert "D3SCRIBED" not in html and "M3TA" not in html


def test_p06_our_scripts_make_no_html_out_of_text():
    folder = settings.BASE_DIR / "static/js"
    sinks = r"(?:inner|outer)HTML\s*\+?=|insertAdjacentHTML|document\.write|\beval\(|new Function|ContextualFragment"
    found = {path.name: re.findall(sinks, path.read_text()) for path in sorted(folder.glob("*.js"))}
    assert len(found) >= 5 and not any(found.values())
