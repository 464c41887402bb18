"""P03, "retry selected": old failed entries of jobs that have finished, or that wait in their queue again."""

from __future__ import annotations

import pytest

from jobs.models import AuditEntry, JobType
from tests.support.keyspace import snapshot
from tests.support.pages import Page, at

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def stale(real_rq, redis_client):
    """p03a ran to its end and p03b waits, and both are still listed as failed."""
    JobType.objects.create(path="fx.ok", idempotency="repeatable")
    real_rq.enqueue("fx.ok", 1, job_id="p03a", result_ttl=-1)
    real_rq.burst()
    real_rq.enqueue("fx.ok", 2, job_id="p03b")
    redis_client.zadd("rq:failed:orders", {"p03a": 9999999999, "p03b": 9999999999})


def test_p03_both_are_refused_with_their_present_state_and_nothing_moves(stale, operator, sign_in, redis_client):
    browser, before = sign_in(operator), snapshot(redis_client)
    page = Page(browser.get(at("failed")))
    rows = [one.attributes["value"] for one in page.elements if one.attributes.get("name") == "row"]
    assert len(rows) == 2
    answer = browser.post(at("ticked"), {**page.form(at("ticked")).fields, "verb": "retry_job", "row": rows})
    told = Page(browser.get(answer.headers["Location"])).text
    assert "2 jobs: 2 refused" in told
    assert "It finished" in told and "already queued" in told
    assert snapshot(redis_client) == before
    assert redis_client.lrange("rq:queue:orders", 0, -1) == [b"p03b"]
    codes = dict(AuditEntry.objects.values_list("subject", "decision_code"))
    assert codes == {"p03a": "already_completed", "p03b": "already_queued"}
