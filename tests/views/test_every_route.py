"""Every address of the product, asked for by everybody, in every way that a browser has."""

from __future__ import annotations

from datetime import timedelta
from itertools import product

import pytest
from django.contrib.auth.models import Group
from django.db import connection
from django.utils import timezone
from guardian.models import GroupObjectPermission, UserObjectPermission
from guardian.shortcuts import assign_perm

from jobs.domain.ticks import Tick
from jobs.domain.verdicts import Verdict
from jobs.domain.words import ACT_SLUGS
from jobs.models import AuditEntry, JobType, Operation, Review
from tests.access.routes import every_address
from tests.conftest import PASSWORD
from tests.exports.laid import CONTENT, lay_ready
from tests.support.acts import read
from tests.support.keyspace import snapshot
from tests.support.layered import on_record
from tests.support.pages import Page, at
from tests.support.reviews import fields as review_fields
from tests.support.reviews import review_of
from tests.views.conftest import ROLES

pytestmark = pytest.mark.django_db

# What each gets. "read": by GET, and by HEAD. "bare": by a POST without its token. "post": by a POST with all it needs.
# Orders is what viewer, operator and lead may see; pia may see another queue only. A lead may also declare job types
# and give rights. To who may not see something it does not exist. The exports are those of the superuser, to others
# none exists; tests/cases/test_p21_somebody_elses_export.py has those who may ask for some of their own.
TABLE = """
route        way   signed_out  outsider  viewer  operator  pia  lead  superuser
login        read         200       302     302       302  302   302        302
login        bare         403       403     403       403  403   403        403
login        post         302       302     302       302  302   302        302
logout       read         405       405     405       405  405   405        405
logout       bare         403       403     403       403  403   403        403
logout       post         302       302     302       302  302   302        302
healthz      read         200       200     200       200  200   200        200
healthz      bare         403       403     403       403  403   403        403
healthz      post         405       405     405       405  405   405        405
overview     read         302       200     200       200  200   200        200
overview     bare         302       403     403       403  403   403        403
overview     post         302       405     405       405  405   405        405
failed       read         302       200     200       200  200   200        200
failed       bare         302       403     403       403  403   403        403
failed       post         302       405     405       405  405   405        405
queues       read         302       200     200       200  200   200        200
queues       bare         302       403     403       403  403   403        403
queues       post         302       405     405       405  405   405        405
queue-state  read         302       404     200       200  404   200        200
queue-state  bare         302       403     403       403  403   403        403
queue-state  post         302       405     405       405  405   405        405
job          read         302       404     200       200  404   200        200
job          bare         302       403     403       403  403   403        403
job          post         302       405     405       405  405   405        405
job-retry    read         302       404     403       200  404   200        200
job-retry    bare         302       403     403       403  403   403        403
job-retry    post         302       404     403       302  404   302        302
job-enqueue  read         302       404     403       200  404   200        200
job-enqueue  bare         302       403     403       403  403   403        403
job-enqueue  post         302       404     403       302  404   302        302
job-cancel   read         302       404     403       200  404   200        200
job-cancel   bare         302       403     403       403  403   403        403
job-cancel   post         302       404     403       302  404   302        302
job-stop     read         302       404     403       200  404   200        200
job-stop     bare         302       403     403       403  403   403        403
job-stop     post         302       404     403       302  404   302        302
job-delete   read         302       404     403       200  404   200        200
job-delete   bare         302       403     403       403  403   403        403
job-delete   post         302       404     403       302  404   302        302
job-remove-entry read     302       404     403       200  404   200        200
job-remove-entry bare     302       403     403       403  403   403        403
job-remove-entry post     302       404     403       302  404   302        302
ticked       read         302       405     405       405  405   405        405
ticked       bare         302       403     403       403  403   403        403
ticked       post         302       404     403       302  404   302        302
ticked-result read        302       404     404       404  404   404        404
ticked-result bare        302       403     403       403  403   403        403
ticked-result post        302       405     405       405  405   405        405
reviews      read      302       200     200       200  200   200        200
reviews      bare      302       403     403       403  403   403        403
reviews      post      302       405     405       405  405   405        405
review       read      302       404     200       200  404   200        200
review       bare      302       403     403       403  403   403        403
review       post      302       405     405       405  405   405        405
operation    read      302       404     200       200  404   200        200
operation    bare      302       403     403       403  403   403        403
operation    post      302       405     405       405  405   405        405
operation-retry  read  302       404     403       200  404   200        200
operation-retry  bare  302       403     403       403  403   403        403
operation-retry  post  302       404     403       302  404   302        302
operation-cancel read  302       404     403       200  404   200        200
operation-cancel bare  302       403     403       403  403   403        403
operation-cancel post  302       404     403       302  404   302        302
review-take  read      302       405     405       405  405   405        405
review-take  bare      302       403     403       403  403   403        403
review-take  post      302       404     403       302  404   302        302
review-give-back read      302       405     405       405  405   405        405
review-give-back bare      302       403     403       403  403   403        403
review-give-back post      302       404     403       302  404   302        302
review-resolve read      302       405     405       405  405   405        405
review-resolve bare      302       403     403       403  403   403        403
review-resolve post      302       404     403       302  404   302        302
workers      read         302       200     200       200  200   200        200
workers      bare         302       403     403       403  403   403        403
workers      post         302       405     405       405  405   405        405
lookup       read         302       200     200       200  200   200        200
lookup       bare         302       403     403       403  403   403        403
lookup       post         302       405     405       405  405   405        405
observer     read         302       200     200       200  200   200        200
observer     bare         302       403     403       403  403   403        403
observer     post         302       405     405       405  405   405        405
job-types    read         302       404     404       404  404   200        200
job-types    bare         302       403     403       403  403   403        403
job-types    post         302       405     405       405  405   405        405
job-type     read         302       404     404       404  404   200        200
job-type     bare         302       403     403       403  403   403        403
job-type     post         302       404     404       404  404   302        302
audit        read         302       404     404       404  404   200        200
audit        bare         302       403     403       403  403   403        403
audit        post         302       405     405       405  405   405        405
access       read         302       404     404       404  404   200        200
access       bare         302       403     403       403  403   403        403
access       post         302       405     405       405  405   405        405
access-give  read         302       405     405       405  405   405        405
access-give  bare         302       403     403       403  403   403        403
access-give  post         302       404     404       404  404   302        302
access-take  read         302       405     405       405  405   405        405
access-take  bare         302       403     403       403  403   403        403
access-take  post         302       404     404       404  404   302        302
start        read         302       302     302       302  302   302        302
start        bare         302       403     403       403  403   403        403
start        post         302       405     405       405  405   405        405
exports      read         302       404     404       404  404   404        200
exports      bare         302       403     403       403  403   403        403
exports      post         302       404     404       404  404   404        303
export       read         302       404     404       404  404   404        200
export       bare         302       403     403       403  403   403        403
export       post         302       405     405       405  405   405        405
file         read         302       404     404       404  404   404        200
file         bare         302       403     403       403  403   403        403
file         post         302       405     405       405  405   405        405
"""
HEAD, *ROWS = [line.split() for line in TABLE.strip().splitlines()]
ANSWERS = {
    (route, way, who): int(status)
    for route, way, *statuses in ROWS
    for who, status in zip(HEAD[2:], statuses, strict=True)
}
ROUTES = list(dict.fromkeys(row[0] for row in ROWS))
ACTS = {
    **{f"job-{word}": verb for verb, word in ACT_SLUGS.items()},
    "operation-retry": "retry_job",
    "operation-cancel": "cancel_job",
    "review-take": "claim_review",
    "review-give-back": "release_review",
    "review-resolve": "resolve_review",
    "ticked": "retry_job",
    "job-type": "declare_job_type",
    "access-give": "grant_access",
    "access-take": "revoke_access",
}
"""The addresses that change something for others, and what the record calls it."""
OWN = {"exports"}
"""Where one asks for something of one's own: that is its record, and the audit has no entry of it."""
JOBS = {"job-enqueue": "later-1", "job-cancel": "next-1", "job-stop": "slow-1", "job-remove-entry": "ghost"}
"""Of the acts that can't be carried out on the failed one, the job on which they can."""
PEOPLE = {"outsider": "nina", "viewer": "vera", "operator": "otto", "pia": "pia", "lead": "lena", "superuser": "root"}
GRANTS = [UserObjectPermission, GroupObjectPermission]
NOWHERE = "/nowhere/"


def everybody(test):
    """Each route, for each role; on another database than SQLite for one, since who gets what is no question of it."""
    roles = ROLES if connection.vendor == "sqlite" else ("superuser",)
    return pytest.mark.parametrize("who", roles)(pytest.mark.parametrize("route", ROUTES)(test))


@pytest.fixture(autouse=True)
def _place(shop, orders, payroll):
    """The shop, with a job that may be retried, an id without data, a worker that listens, and a group that may see.

    And with the review of the one that was killed, at the address that is asked for, and an operation that failed and
    one that waits.
    """
    on_record("pay:5", "lay-5", status="failed")
    on_record("pay:6", "lay-6", status="queued")
    Review.objects.filter(pk=review_of("4713").pk).update(id=4711)
    shop.zadd("rq:failed:orders", {"ghost": 9e9})
    JobType.objects.create(path="fx.boom", idempotency="repeatable")
    assign_perm("view_queue", Group.objects.get(name="Viewers"), orders)
    with shop.pubsub() as ear:
        ear.subscribe("rq:pubsub:packer")
        assert ear.get_message(timeout=10)
        yield


@pytest.fixture
def _held(request, route, who):
    """Who gives the review back or answers it has taken it before."""
    if route in ("review-give-back", "review-resolve") and who in ("operator", "lead", "superuser"):
        person, until = request.getfixturevalue(who), timezone.now() + timedelta(hours=1)
        Review.objects.update(claimed_by=person, claimed_by_name=person.username, claimed_until=until)


@pytest.fixture
def _export(request, route, who, settings, tmp_path):
    """The one who may ask for exports has one, with its file."""
    settings.OPSBOARD_EXPORTS_DIR = tmp_path / "exports"
    if route in ("export", "file") and who == "superuser":
        lay_ready(request.getfixturevalue(who), id=4711)


@pytest.fixture
def fields(shop, viewer, route):
    """What the act at this address needs to be carried out; other addresses get the fields of a retry."""
    group = f"group:{Group.objects.get(name='Viewers').pk}"
    place = {"connection": "default", "queue": "orders", "holder": group}
    seen = {"seen": read(JOBS.get(route, "4711")).seen}
    return {
        **dict.fromkeys(ROUTES, seen),
        "operation-retry": {"seen": "0"},
        "operation-cancel": {"seen": "0", "confirmed": "cancel"},
        "job-cancel": {**seen, "confirmed": "cancel"},
        "job-stop": {**seen, "confirmed": "stop"},
        "job-delete": {**seen, "confirmed": "delete", "typed": "boom"},
        "job-remove-entry": {**seen, "confirmed": "remove_entry"},
        "ticked": {"connection": "default", "verb": "retry_job", "row": Tick("orders", "4711", seen["seen"]).encode()},
        "review-resolve": review_fields(Review.objects.get(), Verdict.ABANDON),
        "login": {"username": "vera", "password": PASSWORD},
        "exports": {"period": "2025"},
        "job-type": {"idempotency": "unsafe"},
        "access-give": {**place, "permission": "retry_job"},
        "access-take": {**place, "permission": "view_queue"},
    }[route]


def state(shop):
    """Everything that an act could change."""
    grants = [list(kind.objects.values_list("permission", "object_pk", "pk")) for kind in GRANTS]
    types = list(JobType.objects.values_list("path", "idempotency"))
    types += Review.objects.values_list("version", "claimed_by", "verdict")
    types += Operation.objects.values_list("status", "version")
    return snapshot(shop), grants, types, AuditEntry.objects.count()


def token_of(browser):
    """From the page that is open to everybody: its sign-in form, or the form that signs out."""
    page = Page(browser.get(at("lookup"), follow=True))
    return {"csrfmiddlewaretoken": next(form.fields["csrfmiddlewaretoken"] for form in page.forms if form.fields)}


def test_every_address_stands_in_the_table_with_every_way_and_role():
    """A new route fails here until somebody has said who gets what."""
    assert {route for route, _way, _who in ANSWERS} == set(every_address())
    assert set(ANSWERS) == set(product(every_address(), ["read", "bare", "post"], ROLES))


@pytest.mark.usefixtures("_export")
@everybody
def test_looking_and_a_post_without_its_token_are_answered_as_the_table_says_and_change_nothing(
    browser_of, shop, fields, route, who
):
    browser, address = browser_of(who, strict=True), every_address()[route]
    before, session = state(shop), dict(browser.session)
    answers = [browser.get(address), browser.head(address), browser.post(address, fields)]
    read, bare = (ANSWERS[route, way, who] for way in ("read", "bare"))
    assert [answer.status_code for answer in answers] == [read, read, bare]
    assert read != 404 or answers[0].content == browser.get(NOWHERE).content
    assert not answers[0].streaming or answers[0].getvalue() == CONTENT.encode()
    assert state(shop) == before
    assert dict(browser.session) == session


@pytest.mark.usefixtures("_held", "_export")
@everybody
def test_a_post_with_its_token_is_answered_as_the_table_says_and_on_record(browser_of, shop, fields, route, who):
    browser, before = browser_of(who, strict=True), state(shop)
    answer = browser.post(every_address()[route], fields | token_of(browser))
    assert answer.status_code == ANSWERS[route, "post", who]
    assert answer.status_code != 404 or answer.content == browser.get(NOWHERE).content
    after, is_done = state(shop), answer.status_code in (302, 303)
    if route in OWN:
        assert (after[2] != before[2], after[3]) == (is_done and who != "signed_out", before[3])
    elif route not in ACTS or who == "signed_out":
        assert after == before
    else:
        assert (after[:3] != before[:3]) == is_done
        entry = AuditEntry.objects.get()
        assert (entry.actor_name, entry.verb) == (PEOPLE[who], ACTS[route])
        assert entry.status == ("done" if is_done else "refused")


@pytest.mark.parametrize("who", ["outsider", "pia"])
@pytest.mark.parametrize("route", ["queue-state", "job", *(f"job-{word}" for word in ACT_SLUGS.values())])
def test_a_hidden_queue_is_answered_like_one_that_is_not_there(browser_of, fields, route, who):
    browser, hidden = browser_of(who), every_address()[route]
    for ask in (browser.get, lambda address: browser.post(address, fields)):
        there, nowhere = (ask(hidden.replace("orders", name)) for name in ("orders", "nowhere"))
        assert there.status_code == nowhere.status_code in (404, 405)
        assert there.content == nowhere.content
        assert there.headers == nowhere.headers


def test_who_is_signed_out_is_led_to_the_sign_in_and_back(browser_of):
    for name in (one for one in ROUTES if ANSWERS[one, "read", "signed_out"] == 302):
        place = browser_of("signed_out").get(every_address()[name]).headers["Location"]
        assert place.startswith("/login/?next=%2F"), name
