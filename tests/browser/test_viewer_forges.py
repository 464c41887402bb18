"""A viewer who knows the addresses, sent from her own page with her own token: refused, on record, nothing changed."""

from __future__ import annotations

import pytest

from jobs.models import AuditEntry, JobType
from tests.support.keyspace import snapshot
from tests.support.pages import at

SEND = """async ([address, fields]) => {
  const token = document.querySelector("[name=csrfmiddlewaretoken]").value;
  const body = new URLSearchParams({ ...fields, csrfmiddlewaretoken: token });
  const answer = await fetch(address, { method: "POST", body, redirect: "manual" });
  return [answer.status, await answer.text()];
}"""
"""As typed into the console of the browser, on a page of ours."""


@pytest.fixture
def job_id(site, real_rq):
    JobType.objects.create(path="fx.boom", idempotency="repeatable")
    return real_rq.fail("fx.boom", 4711)


@pytest.fixture
def seen(job_id, redis_client):
    """What an operator's form would carry: the newest result's id."""
    return redis_client.xrevrange(f"rq:results:{job_id}", count=1)[0][0].decode()


@pytest.mark.parametrize(
    ("route", "verb", "confirmed"),
    [
        ("job-retry", "retry_job", ""),
        ("job-delete", "delete_job", "delete"),
        ("job-cancel", "cancel_job", "cancel"),
        ("job-stop", "stop_job", "stop"),
        ("job-enqueue", "enqueue_job", ""),
        ("job-remove-entry", "remove_entry", "remove_entry"),
    ],
)
def test_each_act_is_refused_names_the_right_and_is_on_record(
    open_tab, viewer, job_id, seen, redis_client, expect_complaint, route, verb, confirmed
):
    page = open_tab(viewer, at("job", "orders", job_id))
    before = snapshot(redis_client)
    expect_complaint("403 for ")
    fields = {"seen": seen, "confirmed": confirmed, "typed": "boom", "reason": "I can"}
    status, text = page.evaluate(SEND, [at(route, "orders", job_id), fields])
    assert status == 403 and "Nothing was done." in text
    assert snapshot(redis_client) == before
    entry = AuditEntry.objects.get()
    assert (entry.actor_name, entry.verb, entry.subject, entry.status) == ("vera", verb, job_id, "refused")


def test_in_a_queue_she_may_not_see_there_is_nothing_to_act_on(
    open_tab, viewer, real_rq, redis_client, expect_complaint
):
    hidden = real_rq.fail("fx.boom", 1, queue="payroll")
    page = open_tab(viewer, "/failed/")
    before = snapshot(redis_client)
    expect_complaint("404 for ")
    answers = [page.evaluate(SEND, [at("job-retry", "payroll", one), {"seen": "1-1"}]) for one in (hidden, "nobody")]
    assert [status for status, _text in answers] == [404, 404]
    assert hidden not in answers[0][1]
    assert snapshot(redis_client) == before
    assert {entry.status for entry in AuditEntry.objects.all()} == {"refused"}


def test_nor_can_she_declare_a_type_so_that_others_would_retry_it(open_tab, viewer, job_id, expect_complaint):
    page = open_tab(viewer, "/failed/")
    expect_complaint("404 for ")
    status, _text = page.evaluate(SEND, ["/job-types/fx.ok/", {"idempotency": "repeatable"}])
    assert status == 404 and not JobType.objects.filter(path="fx.ok").exists()
    assert (AuditEntry.objects.get().actor_name, AuditEntry.objects.get().status) == ("vera", "refused")


def test_without_the_token_of_her_page_not_even_that_is_heard(open_tab, viewer, job_id, seen, expect_complaint):
    page = open_tab(viewer, at("job", "orders", job_id))
    expect_complaint("403 for ")
    page.evaluate("document.querySelectorAll('[name=csrfmiddlewaretoken]').forEach(one => { one.value = 'x'; })")
    status, _text = page.evaluate(SEND, [at("job-retry", "orders", job_id), {"seen": seen}])
    assert status == 403 and not AuditEntry.objects.exists()
