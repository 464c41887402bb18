"""P03: old failed entries of jobs that have finished, or that wait in their queue again. Each by itself."""

from __future__ import annotations

import pytest

from jobs.models import AuditEntry, JobType
from tests.support.acts import read
from tests.support.keyspace import snapshot
from tests.support.pages import Page, at, confirm

pytestmark = pytest.mark.django_db(transaction=True)

FINISHED, QUEUED = "p03a", "p03b"
LENGTH = {FINISHED: 0, QUEUED: 1}
"""How often each may stand in the queue afterwards."""


@pytest.fixture
def stale(lay_once):
    """p03a ran to its end and p03b waits, and both are still listed as failed."""
    lay_once(lay)
    JobType.objects.create(path="fx.ok", idempotency="repeatable")


def lay(rq, redis):
    rq.enqueue("fx.ok", 1, job_id=FINISHED, result_ttl=-1)
    rq.burst()
    rq.enqueue("fx.ok", 2, job_id=QUEUED)
    redis.zadd("rq:failed:orders", {FINISHED: 9999999999, QUEUED: 9999999999})


@pytest.fixture
def browser(stale, operator, sign_in):
    return sign_in(operator)


def is_queued_as_often_as_it_should_be(redis_client, job_id):
    return len(redis_client.lpos("rq:queue:orders", job_id, count=0)) == LENGTH[job_id]


@pytest.mark.parametrize(
    ("address", "prefix"), [(at("failed"), "orders:"), (at("queue-state", "orders", "failed"), "")]
)
def test_p03_the_rows_show_the_present_state(browser, address, prefix):
    html = browser.get(address).text
    assert "done, filed as failed" in row(html, prefix + FINISHED)
    assert "queued" in row(html, prefix + QUEUED)


def row(html, key):
    """The words of one row of a list."""
    return Page(html.partition(f'data-key="{key}"')[2].partition("</tr>")[0]).text


@pytest.mark.parametrize(
    ("job_id", "state", "code", "sentence"),
    [
        (
            FINISHED,
            "It finished, and is filed as failed all the same.",
            "already_completed",
            "It finished: running it again would do its work twice.",
        ),
        (QUEUED, "It waits in its queue.", "already_queued", "It is already queued and will run."),
    ],
)
def test_p03_retry_is_refused_with_the_present_state_and_nothing_moves(
    browser, redis_client, job_id, state, code, sentence
):
    page, address = Page(browser.get(at("job", "orders", job_id))), at("job-retry", "orders", job_id)
    assert state in page.text and address not in [form.action for form in page.forms]
    before = snapshot(redis_client)
    assert f"It can’t be done now. {sentence}" in Page(browser.get(address)).text
    answer = browser.post(address, {"seen": read(job_id).seen})
    assert answer.status_code == 409 and sentence in Page(answer).text
    assert snapshot(redis_client) == before and is_queued_as_often_as_it_should_be(redis_client, job_id)
    assert (AuditEntry.objects.get().status, AuditEntry.objects.get().decision_code) == ("refused", code)


@pytest.mark.parametrize("job_id", [FINISHED, QUEUED])
def test_p03_a_button_from_when_it_had_failed_is_refused_too(real_rq, redis_client, operator, sign_in, job_id):
    """The page was opened while it lay there failed; since then it ran to its end, or was queued, by RQ's own tools."""
    JobType.objects.create(path="fx.boom_once", idempotency="repeatable")
    real_rq.fail("fx.boom_once", 3, job_id=job_id)
    browser, address = sign_in(operator), at("job-retry", "orders", job_id)
    form = Page(browser.get(at("job", "orders", job_id))).form(address).fields
    real_rq.evaluate(f"rq.job.Job.fetch({job_id!r}, connection=connection).requeue() and None")
    if job_id == FINISHED:
        real_rq.burst()
    redis_client.zadd("rq:failed:orders", {job_id: 9999999999})
    before = snapshot(redis_client)
    answer = browser.post(address, form)
    assert answer.status_code == 409 and "Not done: the job changed since you looked." in Page(answer).text
    assert snapshot(redis_client) == before and is_queued_as_often_as_it_should_be(redis_client, job_id)


@pytest.mark.parametrize("job_id", [FINISHED, QUEUED])
def test_p03_deleting_it_takes_the_stale_entry_away_too(browser, redis_client, job_id):
    assert confirm(browser, at("job-delete", "orders", job_id)).status_code == 302
    assert redis_client.zscore("rq:failed:orders", job_id) is None
    assert redis_client.lpos("rq:queue:orders", job_id) is None


def test_p03_cancelling_the_one_that_waits_takes_its_stale_entry_away_too(browser, redis_client):
    assert confirm(browser, at("job-cancel", "orders", QUEUED)).status_code == 302
    assert redis_client.zscore("rq:failed:orders", QUEUED) is None
    assert redis_client.llen("rq:queue:orders") == 0
