"""P13: leaks about queues that one may not see. Every address of the dashboard is walked, by whatever leads there."""

from __future__ import annotations

import re
from itertools import product

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from jobs.broker.cursors import Cursor
from jobs.broker.keys import STATES
from jobs.domain.words import ACT_SLUGS
from jobs.models import AuditEntry, FailedJob, JobType, Review
from jobs.selectors.failure_index import Place
from jobs.urls import urlpatterns
from tests.support.acts import read
from tests.support.failures import failure, failures
from tests.support.keyspace import snapshot
from tests.support.observer import watch
from tests.support.pages import Page, at, without_tokens
from tests.support.real_rq import wait_until
from tests.support.reviews import review_of
from tests.support.standing_in import standing_in

pytestmark = pytest.mark.django_db(transaction=True)

GHOSTS = [f"pay-ghost-{number}" for number in range(1110)]
HIDDEN = re.compile(r"payroll|pay-\d|pay-ghost|canary|salary|(?<!\d)111[012](?!\d)")
"""Names, ids, function and counts of payroll; the last of these is a sum with what vera sees."""
CHOICES = {
    "connection": ["default", "nowhere"],
    "queue": ["orders", "payroll", "no-such-queue"],
    "job_id": ["dep-1", "pay-1", "pay-2", "no-such-job"],
    "state": STATES,
    "path": ["fx.ok", "fx_salary.CANARY_run", "no.such.path"],
    "review_id": [1300, 1301, 99_999_999],
    "operation_id": ["rq:default:dep-1", "rq:default:pay-1", "rq:default:pay-2", "rq:default:no-such-job", "pay-1"],
    "batch": ["00000000-0000-4000-8000-000000000001"],
}
QUERIES = [
    "",
    "?queue=orders",
    "?show=all",
    "?queue=payroll",
    "?connection=default",
    "?connection=nowhere",
    "?q=CANARY",
    "?q=pay",
]
ACTS = [f"job-{word}" for word in ACT_SLUGS.values()]
OPEN = {at("login"), at("healthz"), at("logout")}
HEADERS = [{}, {"hx-request": "true"}]
REVIEWS = ["review-take", "review-give-back", "review-resolve"]


@pytest.fixture
def rq_version():
    return "3.0"


@pytest.fixture
def rights(lay_once, redis_client, orders, payroll):
    """One failed, one running, one scheduled and many only listed in payroll; one in orders waits for payroll."""
    lay_once(lay)
    # As the observer has them: reading thousands anew in every test takes its time.
    ghost = {"job_type": "", "error_class": "", "finding": "gone", "seen": "gone", "score": repr(9e9)}
    failures(*(failure("payroll", job_id=one, **ghost) for one in GHOSTS))
    JobType.objects.create(path="fx_salary.CANARY_run", idempotency="repeatable")
    with standing_in(redis_client, "both", "pay-2", "payroll"):
        for pk, job_id, queue in ((1300, "dep-1", "orders"), (1301, "pay-2", "payroll")):
            Review.objects.filter(pk=review_of(job_id, queue).pk).update(id=pk, due_at=timezone.now())
        yield


def lay(rq, redis):
    rq.enqueue("fx_salary.CANARY_run", 1, queue="payroll", job_id="pay-1")
    rq.burst("payroll")
    rq.enqueue("fx.ok", 1, job_id="dep-1", depends_on="pay-1")
    rq.enqueue("fx_salary.CANARY_run", 1, queue="payroll", job_id="pay-3", seconds=3600)
    for state in ("failed", "finished", "scheduled", "deferred", "canceled"):
        redis.zadd(f"rq:{state}:payroll", dict.fromkeys(GHOSTS, 9e9))
    redis.zadd("rq:failed:payroll", {"pay-1": 9.9e9})
    redis.zadd("rq:failed:orders", {"half-1": 9999999999})
    redis.hset("rq:job:half-1", "status", "failed")
    worker = rq.start("orders", "payroll", name="both")
    rq.enqueue("fx.slow", 1, 60, queue="payroll", job_id="pay-2")
    worker.wait_for_horse()
    wait_until(lambda: redis.hget("rq:job:pay-2", "status") == b"started", "payroll runs a job")
    wait_until(lambda: redis.zcard("rq:wip:payroll"), "the run has its lease")
    worker.kill_session()
    redis.rpush("rq:queue:payroll", *GHOSTS)


def addresses():
    """Every pattern of the dashboard's addresses, with every choice for what stands in it, and with queries."""
    for pattern in urlpatterns:
        names = list(pattern.pattern.converters)
        for values in product(*(CHOICES[name] for name in names)):
            address = reverse(f"jobs:{pattern.name}", kwargs=dict(zip(names, values, strict=True)))
            yield from (address + query for query in (QUERIES if not names else [""]))
    yield from ("/metrics", "/audit/", "/exports/", "/api/jobs/pay-1/", "/review/?show=closed", "/review/?overdue=1")


def told(answer, address):
    """All that reaches the reader, without what he typed himself; numbers without what groups their digits."""
    typed = address.partition("?q=")[2]
    body = answer.content.decode().replace(f'value="{typed}"', "").replace(f">{typed}<", "><") if typed else ""
    body = without_tokens(body or answer.content.decode())
    return re.sub(r"(?<=\d)[,\N{NARROW NO-BREAK SPACE}](?=\d)", "", f"{answer.headers!r} {body}").lower()


def leaks(browser, address, headers):
    return set(HIDDEN.findall(told(browser.get(address, headers=headers), address)))


@pytest.mark.parametrize("who", ["viewer", "lead", "outsider"])
def test_p13_no_name_count_id_or_function_of_payroll_anywhere(rights, request, sign_in, who):
    browser = sign_in(request.getfixturevalue(who))
    walked = list(product(addresses(), HEADERS))
    found = {address: words for address, headers in walked if (words := leaks(browser, address, headers))}
    allowed = {at("job-types"), "/job-types/fx_salary.CANARY_run/"} if who == "lead" else set()
    assert {address for address in found if address.partition("?")[0] not in allowed} == set()


def test_p13_the_same_walk_finds_it_all_as_somebody_who_may_see_payroll(rights, pia, superuser, sign_in):
    found = {word for address in addresses() for word in leaks(sign_in(pia), address, {})}
    assert {"payroll", "pay-1", "pay-2", "pay-3", "pay-ghost", "canary", "1111"} <= found


def test_p13_totals_count_only_what_one_sees(rights, viewer, superuser, sign_in):
    page = Page(sign_in(viewer).get(at("overview")))
    assert page.rows() == ["orders"]
    assert "1 job has failed." in page.text and "1 queue read." in page.text
    text = told(sign_in(superuser).get(at("failed")), "")
    assert "1112" in text, re.findall(r"\d+ failed", text)


@pytest.mark.parametrize("show", ["open", "all"])
def test_p13_no_type_error_or_finding_of_it_can_be_chosen_and_none_can_be_asked_for(rights, viewer, sign_in, show):
    watch()
    FailedJob.objects.filter(queue="payroll").update(finding="stopped", error_class="CanaryError")
    browser = sign_in(viewer, watched=False)
    page = Page(browser.get(at("failed"), {"show": show}))
    options = {one.attributes["value"] for one in page.elements if one.tag == "option"}
    assert "orders" in options
    assert not options & {"payroll", "fx_salary.CANARY_run", "CanaryError", "stopped", "gone"}
    for asked in ({"type": "fx_salary.CANARY_run"}, {"error": "CanaryError"}, {"finding": "stopped"}):
        page = Page(browser.get(at("failed"), {"show": show, **asked}))
        assert not page.rows() and "Without it there" in page.text


def test_p13_the_choices_of_the_filter_name_only_what_one_sees(rights, viewer, sign_in):
    for name, wanted in (("failed", "orders"), ("reviews", "default:orders")):
        page = Page(sign_in(viewer).get(at(name)))
        options = [one.attributes["value"] for one in page.elements if one.tag == "option"]
        assert wanted in options and "payroll" not in " ".join(options)


def test_p13_a_worker_on_both_is_shown_without_the_other_queue_and_its_job(rights, viewer, superuser, sign_in):
    text = Page(sign_in(viewer).get(at("workers"))).text
    assert "both" in text and "orders" in text and "pay" not in text
    assert "pay-2" in Page(sign_in(superuser).get(at("workers"))).text


def test_p13_a_worker_of_payroll_alone_is_not_shown(rights, real_rq, viewer, sign_in):
    real_rq.start("payroll", name="other-one")
    assert "other-one" not in Page(sign_in(viewer).get(at("workers"))).text


def test_p13_what_a_job_waits_for_is_not_named(rights, viewer, superuser, sign_in):
    address = at("job", "orders", "dep-1")
    text = Page(sign_in(viewer).get(address)).text
    assert "It waits for other jobs to finish." in text and "pay-1" not in text
    assert "pay-1" in Page(sign_in(superuser).get(address)).text


def test_p13_a_forged_place_in_the_list_shows_nothing_more(rights, viewer, sign_in):
    browser = sign_in(viewer)
    watch()
    hidden = FailedJob.objects.get(job_id="pay-1")
    places = {
        at("failed"): Place(hidden.failed_at, hidden.pk).encode(),
        at("queue-state", "orders", "failed"): Cursor(score=1e12, queue="payroll", member=b"pay-1", rank=0).encode(),
    }
    for way in ("after", "before"):
        for address, place in places.items():
            answer = browser.get(address, {way: place})
            assert answer.status_code == 200
            assert set(Page(answer).rows()) <= {"orders:half-1", "half-1"}


@pytest.mark.parametrize("who", ["viewer", "operator", "outsider"])
def test_p13_a_hidden_job_and_none_give_the_same_answer(rights, request, sign_in, frozen, who):
    browser = sign_in(request.getfixturevalue(who))
    names, queues = ["job", *ACTS], ["orders", "payroll", "no-such-queue"]
    for name, queue, ask in product(names, queues, [browser.get, browser.post]):
        hidden, none = (same(ask(at(name, queue, job_id)), job_id) for job_id in ("pay-1", "no-such-job"))
        assert hidden == none, (name, queue)
        assert hidden[0] in (403, 404, 405)


def test_p13_a_hidden_queue_and_none_give_the_same_answer(rights, viewer, sign_in, frozen):
    browser = sign_in(viewer)
    for address in ("/queues/default/QUEUE/failed/", "/jobs/default/QUEUE/pay-1/", "/failed/?queue=QUEUE"):
        hidden, none = (same(browser.get(address.replace("QUEUE", name)), name) for name in ("payroll", "nowhere"))
        assert hidden == none and hidden[0] == 404


def test_p13_a_search_for_it_answers_as_for_nothing(rights, viewer, sign_in, frozen):
    browser = sign_in(viewer)
    failures(failure("payroll", job_id="pay-9"))
    plain = ("rq:default:pay-1", "rq:default:pay-2", "rq:default:pay-9")
    for word in ("pay-1", "pay-2", "pay-9", *plain, "CANARY", "fx_salary.CANARY_run"):
        hidden, none = (same(browser.get(at("lookup"), {"q": one}), one) for one in (word, "no-such-job"))
        assert hidden == none and hidden[0] == 200


TARGETS = {
    "job-retry": "pay-1",
    "job-enqueue": "pay-3",
    "job-cancel": "pay-3",
    "job-stop": "pay-2",
    "job-delete": "pay-1",
    "job-remove-entry": "pay-ghost-1",
}
"""For each act a job of payroll that it could be carried out on."""
CONFIRMED = {"job-cancel": "cancel", "job-stop": "stop", "job-delete": "delete", "job-remove-entry": "remove_entry"}


def wanted(name):
    """What somebody who may see payroll would send."""
    seen = read(TARGETS[name], "payroll").seen
    return {"seen": seen, "confirmed": CONFIRMED.get(name, ""), "typed": "CANARY_run"}


@pytest.mark.parametrize("who", ["viewer", "operator", "lead", "outsider"])
def test_p13_a_post_changes_nothing_is_a_404_and_is_on_record(rights, request, sign_in, redis_client, who):
    browser, before = sign_in(request.getfixturevalue(who)), at_rest(redis_client)
    for name in ACTS:
        for job_id in dict.fromkeys(("pay-1", TARGETS[name])):
            hidden, nowhere = (browser.post(at(name, queue, job_id), wanted(name)) for queue in ("payroll", "nowhere"))
            assert hidden.status_code == nowhere.status_code == 404, name
            assert hidden.content == nowhere.content and hidden.headers == nowhere.headers, name
        assert at_rest(redis_client) == before, name
    tried = set(AuditEntry.objects.values_list("verb", "status", "queue"))
    assert tried == {(verb, "refused", queue) for verb in ACT_SLUGS for queue in ("payroll", "nowhere")}


@pytest.mark.parametrize("who", ["viewer", "operator", "outsider"])
def test_p13_a_hidden_review_and_none_give_the_same_answer(rights, request, sign_in, frozen, who):
    browser = sign_in(request.getfixturevalue(who))
    for name, ask in product(["review", *REVIEWS], [browser.get, browser.post]):
        hidden, none = (ask(reverse(f"jobs:{name}", args=(pk,)), {"verdict": "abandon"}) for pk in (1301, 99_999_999))
        assert (hidden.status_code, hidden.content) == (none.status_code, none.content), name
        assert hidden.status_code == (405 if (name == "review") == (ask == browser.post) else 404)
    for ask in (browser.get, browser.post):
        hidden, none = (ask(reverse("jobs:operation", args=(f"rq:default:{one}",))) for one in ("pay-2", "no-such-job"))
        assert (hidden.status_code, hidden.content) == (none.status_code, none.content)
    tried = set(AuditEntry.objects.values_list("verb", "status", "queue"))
    assert tried == {(verb, "refused", "payroll") for verb in ("claim_review", "release_review", "resolve_review")}


def test_p13_a_post_signed_out_changes_nothing_and_leads_to_the_sign_in(rights, client, redis_client):
    before = at_rest(redis_client)
    for name in ACTS:
        answers = [client.post(at(name, queue, "pay-1"), wanted(name)) for queue in ("payroll", "nowhere")]
        hidden, nowhere = (answer.headers["Location"] for answer in answers)
        assert hidden.startswith("/login/?next=") and hidden.replace("payroll", "nowhere") == nowhere
    assert at_rest(redis_client) == before and not AuditEntry.objects.exists()


@pytest.mark.parametrize("name", ACTS)
def test_p13_the_same_post_is_obeyed_from_somebody_who_may(rights, pia, sign_in, redis_client, name):
    """Else the refusals above would prove nothing."""
    before = at_rest(redis_client)
    assert sign_in(pia).post(at(name, "payroll", TARGETS[name]), wanted(name)).status_code == 302
    assert at_rest(redis_client) != before
    assert AuditEntry.objects.get().status == "done"


def test_p13_who_may_see_nothing_gets_a_page_that_explains(rights, outsider, sign_in):
    browser = sign_in(outsider)
    for name in ("overview", "failed", "reviews", "queues", "workers"):
        answer = browser.get(at(name))
        assert answer.status_code == 200
        page = Page(answer)
        assert "You may see no queue yet" in page.text and "Ask somebody who manages access" in page.text
        assert not page.rows()


def test_p13_signed_out_there_is_the_sign_in_page_only(rights, client):
    for address in addresses():
        answer = client.get(address)
        known = address.partition("?")[0] in OPEN
        assert known or answer.status_code == 404 or answer.headers["Location"].startswith("/login/?next="), address
        assert not leaks(client, address, {"hx-request": "true"}) or "next=" in told(answer, address)
    assert "otto" not in Page(client.get(at("login"))).text


def test_p13_a_wrong_name_at_the_sign_in_says_the_same_as_a_wrong_password(rights, viewer):
    forms = [{"username": name, "password": "not this one"} for name in ("vera", "nobody")]
    known, unknown = (Page(Client(HTTP_HOST="localhost").post(at("login"), form)).text for form in forms)
    assert known == unknown


def same(answer, word):
    """An answer without the word that was asked for, in any of its spellings, and without tokens."""
    escaped = at("lookup") + word
    body = without_tokens(answer.content.decode()).replace(escaped, "").replace(word, "WORD")
    return answer.status_code, body, answer.headers.get("Location", "").replace(word, "WORD")


def at_rest(redis_client):
    """The keyspace without what a running worker keeps writing."""
    moving = (b"rq:worker", b"rq:wip", b"rq:execution", b"rq:job:pay-2")
    return {key: value for key, value in snapshot(redis_client).items() if not key.startswith(moving)}
