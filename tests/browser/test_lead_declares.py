"""A lead declares a job type, and from then on its failed jobs can be retried by who may."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from jobs.models import AuditEntry, JobType
from tests.browser.hands import retry_button, told
from tests.browser.test_accessibility import grave
from tests.browser.test_phone import PHONE, scrolls_sideways, too_small
from tests.support.pages import at


def test_from_the_page_of_a_job_she_declares_its_type_and_the_operator_retries(
    open_tab, lead, operator, real_rq, redis_client
):
    job = at("job", "orders", real_rq.fail("fx.boom_once", 4711))
    page = open_tab(lead, job)
    page.get_by_role("link", name="Declare this job type").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("fx.boom_once")
    page.get_by_role("radio", name=re.compile("^repeatable")).check()
    page.get_by_label("Why").fill("agreed with the shop")
    page.get_by_role("button", name="Declare").click()
    expect(page.get_by_text("declared by lena").first).to_be_visible()
    his = open_tab(operator, job)
    retry_button(his).click()
    expect(told(his, "is back on the queue orders")).to_be_visible()
    real_rq.burst()
    assert redis_client.get("boom_once:4711") == b"2"
    assert JobType.objects.get().idempotency == "repeatable"
    verbs = list(AuditEntry.objects.order_by("created_at").values_list("actor_name", "verb", "status"))
    assert verbs == [("lena", "declare_job_type", "done"), ("otto", "retry_job", "done")]


def test_where_a_declaration_would_change_nothing_it_is_not_offered_beside_the_reason(open_tab, lead, real_rq):
    page = open_tab(lead, at("job", "orders", real_rq.enqueue("fx.ok", 4711)))
    expect(page.get_by_text("It waits in its queue.").first).to_be_visible()
    expect(page.get_by_role("link", name="Declare this job type")).to_have_count(0)
    expect(page.get_by_role("link", name="Declaration")).to_be_visible()


def test_each_class_says_what_it_means_for_a_retry(open_tab, lead):
    page = open_tab(lead, "/job-types/fx.boom/")
    for promise in ("repeatable", "keyed", "checkable", "unsafe"):
        label = page.get_by_role("radio", name=re.compile(f"^{promise}"))
        expect(label).to_be_visible()
    expect(page.get_by_text("A failed job can be retried with one press")).to_be_visible()


def test_keyed_without_its_hours_is_sent_back_with_the_reason_at_the_field(open_tab, lead):
    page = open_tab(lead, "/job-types/fx.boom/")
    page.get_by_role("radio", name=re.compile("^keyed")).check()
    page.get_by_role("button", name="Declare").click()
    expect(page.get_by_label("A repeated key is recognised for (hours)")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_role("radio", name=re.compile("^keyed"))).to_be_checked()
    assert not JobType.objects.exists()


def test_an_operator_is_not_offered_the_declaration(open_tab, operator, real_rq):
    page = open_tab(operator, at("job", "orders", real_rq.fail("fx.boom", 4711)))
    expect(page.get_by_role("link", name=re.compile("[Dd]ecl"))).to_have_count(0)
    assert page.goto("/job-types/").status == 404


def test_what_failed_and_nobody_declared_is_on_the_list_and_leads_to_its_declaration(open_tab, lead, real_rq):
    real_rq.fail("fx.boom", 4711)
    page = open_tab(lead, "/job-types/")
    row = page.get_by_role("table", name="Job types that nobody has declared").get_by_role("row", name="fx.boom")
    expect(row).to_contain_text("1 of 1")
    row.get_by_role("link", name="Declare fx.boom").click()
    page.get_by_role("radio", name=re.compile("^unsafe")).check()
    page.get_by_role("button", name="Declare").click()
    expect(
        told(page, "Declared. It holds for every retry from now on; what is in review is answered there.")
    ).to_be_visible()
    page.get_by_role("link", name="Job types").last.click()
    expect(page.get_by_role("table", name="Declared job types").get_by_role("row", name="fx.boom")).to_be_visible()


def test_two_leads_at_once_the_second_reads_what_the_first_declared_and_keeps_what_she_typed(open_tab, lead, superuser):
    hers, his = (open_tab(person, "/job-types/fx.boom/", **PHONE) for person in (lead, superuser))
    his.get_by_role("radio", name=re.compile("^unsafe")).check()
    his.get_by_role("button", name="Declare").click()
    expect(told(his, "Declared.")).to_be_visible()
    hers.get_by_role("radio", name=re.compile("^repeatable")).check()
    hers.get_by_label("Runbook").fill("Look at the bank first.\nThen ask Ina.")
    hers.get_by_role("button", name="Declare").click()
    expect(hers.get_by_role("alert").filter(has_text="root declared it while you were typing")).to_be_visible()
    expect(hers.get_by_role("region", name="Declared now")).to_contain_text("unsafe")
    expect(hers.get_by_label("Runbook")).to_have_value("Look at the bank first.\nThen ask Ina.")
    assert (grave(hers), too_small(hers), scrolls_sideways(hers)) == ([], [], False)
    assert JobType.objects.get().idempotency == "unsafe"
    hers.get_by_role("button", name="Declare").click()
    expect(told(hers, "Declared.")).to_be_visible()
    assert JobType.objects.get().idempotency == "repeatable"


def test_whoever_sees_a_job_reads_the_runbook_of_its_type(open_tab, viewer, real_rq):
    JobType.objects.create(
        path="fx.boom", runbook_text="Look at the bank first.\n  Then ask Ina.", runbook_url="https://wiki.example/boom"
    )
    page = open_tab(viewer, at("job", "orders", real_rq.fail("fx.boom", 4711)))
    runbook = page.get_by_role("region", name="Runbook")
    expect(runbook.get_by_text("Look at the bank first.")).to_be_visible()
    link = runbook.get_by_role("link", name="Runbook at wiki.example")
    expect(link).to_have_attribute("href", "https://wiki.example/boom")
    expect(link).to_have_attribute("rel", "noopener noreferrer")
