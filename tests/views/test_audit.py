"""/audit/: what people did, for who may read it, as far as they may see."""

from __future__ import annotations

import re
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from guardian.shortcuts import assign_perm

from jobs.models import AuditEntry
from tests.support.audit import entries, entry
from tests.support.pages import Page, at

pytestmark = pytest.mark.django_db
HERE = at("audit")


@pytest.fixture
def browser(redis_client, lead, sign_in):
    """The lead of orders: reads the audit, declares job types, gives access."""
    return sign_in(lead)


@pytest.fixture
def reader(redis_client, viewer, sign_in):
    """A viewer of orders who may read the audit, and nothing else."""
    assign_perm("opsboard_jobs.view_audit", viewer)
    return sign_in(viewer)


def row(answer, one):
    html = answer.content.decode().partition(f'data-key="{one.pk}"')[2].partition("</tr>")[0]
    return Page(f"<tr {html}").text


def options(answer):
    return [one.attributes["value"] for one in Page(answer).elements if one.tag == "option"]


@pytest.mark.parametrize("who", ["viewer", "operator", "pia", "outsider"])
def test_to_who_may_not_read_it_it_does_not_exist(request, sign_in, who):
    browser = sign_in(request.getfixturevalue(who))
    for address in (HERE, f"{HERE}?status=done", f"{HERE}?after=x"):
        answer, nowhere = browser.get(address), browser.get("/nowhere/")
        assert answer.status_code == nowhere.status_code == 404
        assert answer.content == nowhere.content
    assert HERE not in Page(browser.get(at("overview"))).links


def test_the_navigation_leads_there_for_who_may(browser):
    assert HERE in Page(browser.get(at("overview"))).links


def test_a_row_says_who_did_what_when_to_what_and_what_became_of_it(browser):
    now = timezone.now()
    one = entry(
        now,
        ago=180,
        job_type="shop.tasks.charge",
        decision_code="repeatable",
        reason="asked by a customer",
        outcome="Job job-7 is back on the queue orders.",
    )
    answer = browser.get(HERE)
    text = row(answer, one)
    for words in ("3 min ago", "done", "retry", "otto", "job-7", "charge", "orders", "repeatable"):
        assert words in text
    assert "Reason given: asked by a customer" in text and "is back on the queue" in text
    assert at("job", "orders", "job-7") in Page(answer).links


def test_an_open_entry_says_that_it_is_not_known_yet(browser):
    one = entry(timezone.now(), status="intended", closed_at=None)
    assert row(browser.get(HERE), one).count("ot known yet") == 2


def test_a_declaration_leads_to_its_job_type_and_only_for_who_declares(browser, reader):
    one = entry(timezone.now(), verb="declare_job_type", subject="fx.boom", connection="", queue="")
    assert "/job-types/fx.boom/" in Page(browser.get(HERE)).links
    assert str(one.pk) not in reader.get(HERE).text


def test_what_people_typed_stays_text(browser):
    bold = "<b>bold</b>"
    entry(timezone.now(), subject=bold, actor_name=bold, reason=bold, outcome=bold, decision_code=bold, job_type=bold)
    answer = browser.get(HERE, {"person": bold})
    assert bold not in answer.text and Page(answer).text.count(bold) >= 5


def test_each_entry_has_an_address_of_its_own(browser):
    one, other = entry(timezone.now(), seen="1-1"), entry(timezone.now(), ago=1)
    assert f"{HERE}?entry={one.pk}" in Page(browser.get(HERE)).links
    answer = browser.get(HERE, {"entry": str(one.pk)})
    assert Page(answer).rows() == [str(one.pk)] and str(other.pk) not in answer.text
    assert str(one.pk) in Page(answer).text and "1-1" in Page(answer).text


def test_an_entry_that_is_hidden_and_one_that_is_not_there_are_not_found(browser, payroll):
    hidden = entry(timezone.now(), queue="payroll")
    for pk in (hidden.pk, uuid4()):
        answer, nowhere = browser.get(HERE, {"entry": str(pk)}), browser.get("/nowhere/")
        assert answer.status_code == 404 and answer.content == nowhere.content


@pytest.mark.parametrize(
    "query",
    [{"person": "otto"}, {"queue": "default:orders"}, {"job": "job-7"}, {"verb": "delete_job"}, {"status": "refused"}],
)
def test_filters_stand_in_the_address_and_narrow(browser, query):
    now = timezone.now()
    wanted = entry(now, verb="delete_job", status="refused", subject="job-7")
    entry(now, actor_name="olga", subject="other", verb="declare_job_type", queue="", connection="")
    answer = browser.get(HERE, query)
    assert Page(answer).rows() == [str(wanted.pk)]
    assert "Clear" in Page(answer).text
    (value,) = query.values()
    assert f'value="{value}"' in answer.text


def test_a_page_that_is_turned_stays_narrowed(browser):
    made = entries(timezone.now(), 60, status="refused")
    entries(timezone.now(), 60)
    first = Page(browser.get(HERE, {"status": "refused", "person": "otto"}))
    older = next(one.attributes["href"] for one in first.elements if one.attributes.get("rel") == "next")
    assert "status=refused" in older and "person=otto" in older
    second = browser.get(HERE + older)
    assert Page(second).rows() == [str(one.pk) for one in made[50:]]
    newer = next(one.attributes["href"] for one in Page(second).elements if one.attributes.get("rel") == "prev")
    assert Page(browser.get(HERE + newer)).rows() == first.rows()


def test_a_press_leads_to_all_of_it(browser):
    batch = uuid4()
    made = [entry(timezone.now(), ago=ago, batch=batch, subject=f"job-{ago}") for ago in range(3)]
    entry(timezone.now())
    assert f"{HERE}?batch={batch}" in Page(browser.get(HERE)).links
    assert Page(browser.get(HERE, {"batch": str(batch)})).rows() == [str(one.pk) for one in made]


@pytest.mark.parametrize("name", ["after", "before", "entry", "batch", "verb", "status"])
@pytest.mark.parametrize("value", ["x", "-", "\0", "🦆", "1-1", "a" * 5000, "٣-" + "0" * 32])
def test_what_no_address_of_ours_says_is_a_bad_request(browser, name, value):
    assert browser.get(HERE, {name: value}).status_code == 400


@pytest.mark.parametrize("name", ["person", "job"])
@pytest.mark.parametrize("value", ["\0", "🦆", "a" * 5000, "' OR 1=1 --"])
def test_a_name_may_be_anything_and_finds_nothing_that_is_not_it(browser, name, value):
    one = entry(timezone.now())
    answer = browser.get(HERE, {name: value})
    assert answer.status_code == 200
    assert (str(one.pk) in answer.text) == (value == "\0")


@pytest.mark.parametrize(
    "queue", ["default:payroll", "default:nowhere", "nowhere:orders", "orders", ":orders", "default:\0"]
)
def test_a_queue_that_one_may_not_see_is_not_found(browser, payroll, queue):
    assert browser.get(HERE, {"queue": queue}).status_code == 404


def test_a_superuser_reads_of_queues_without_a_record(redis_client, superuser, sign_in):
    one = entry(timezone.now(), queue="new:one")
    answer = sign_in(superuser).get(HERE, {"queue": "default:new:one"})
    assert Page(answer).rows() == [str(one.pk)] and "default:new:one" in options(answer)


def test_nothing_yet_a_filter_that_hides_all_and_a_place_after_all_are_told_apart(browser):
    assert "Nobody has done anything yet" in Page(browser.get(HERE)).text
    one = entry(timezone.now())
    hidden = browser.get(HERE, {"status": "refused"})
    assert "No entry that you may read matches" in Page(hidden).text
    assert Page(hidden).links.count(HERE) >= 2
    beyond = browser.get(HERE, {"after": f"1-{one.pk.hex}"})
    assert "Nothing further" in Page(beyond).text and "Back to the newest" in Page(beyond).text


def test_p13_nothing_of_payroll_reaches_who_may_not_see_it(browser, payroll, sign_in, superuser):
    now, batch = timezone.now(), uuid4()
    hidden = {"queue": "payroll", "subject": "pay-1", "job_type": "fx_salary.CANARY", "batch": batch}
    entries(now, 7776, actor_name="pia", **hidden)
    entry(now, actor_name="otto", status="refused", reason="salary", outcome="No right in payroll.", **hidden)
    entry(now, verb="grant_access", actor_name="root", queue="payroll", subject="user pia: view_queue")
    shown = entry(now, batch=batch)
    leak = re.compile(r"payroll|pay-\d|canary|salary|\bpia\b|\broot\b|777[678]")
    answers = [browser.get(HERE + query) for query in ("", "?status=refused", "?verb=grant_access", f"?batch={batch}")]
    for name in ("pia", "root"):
        # The page names the second at which it was made.
        found, nobody = (
            re.sub(r"\d\d:\d\d:\d\d", "", Page(browser.get(HERE, {"person": person})).text)
            for person in (name, "nobody")
        )
        assert found == nobody
    for answer in answers:
        assert answer.status_code == 200
        assert set(leak.findall(answer.text.lower())) == set()
        assert set(Page(answer).rows()) <= {str(shown.pk)}
    assert set(leak.findall(sign_in(superuser).get(HERE).text.lower())) >= {"payroll", "pay-1", "canary", "pia"}


def cost(browser):
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert browser.get(HERE).status_code == 200
    return len(queries)


@pytest.mark.parametrize("who", ["lead", "superuser"])
def test_fifty_rows_cost_as_many_queries_as_one(redis_client, request, sign_in, who):
    browser, now = sign_in(request.getfixturevalue(who)), timezone.now()
    entry(now, verb="declare_job_type", subject="fx.boom", connection="", queue="")
    one = cost(browser)
    entries(now - timedelta(hours=1), 100)
    assert cost(browser) == one <= 12


def test_reading_closes_and_changes_nothing(browser):
    entry(timezone.now() - timedelta(days=1), status="intended", closed_at=None)
    before = list(AuditEntry.objects.values())
    browser.get(HERE)
    assert list(AuditEntry.objects.values()) == before
