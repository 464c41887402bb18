"""P02: ghost entries. A registry names jobs that no longer exist, or of which hardly anything is left."""

from __future__ import annotations

import pytest

from jobs.models import AuditEntry, JobType
from tests.support.keyspace import snapshot
from tests.support.pages import Page, at, confirm, press

pytestmark = pytest.mark.django_db(transaction=True)

REAL = at("job", "orders", "p02real")
RETRY = at("job-retry", "orders", "p02real")


@pytest.fixture
def ghosts(lay_once):
    """One real failure; `ghost-1` is only listed, of `half-1` a heartbeat is left."""
    lay_once(lay)
    JobType.objects.create(path="fx.boom", idempotency="repeatable")


def lay(rq, redis):
    rq.fail("fx.boom", 7, job_id="p02real")
    redis.zadd("rq:failed:orders", {"ghost-1": 9999999999, "half-1": 9999999999})
    redis.hset("rq:job:half-1", "last_heartbeat", "2026-01-01T00:00:00.000000Z")


@pytest.fixture
def browser(ghosts, operator, sign_in):
    return sign_in(operator)


def row_of(page, job_id):
    """The words of one row of the failed list."""
    html = page.content.decode()
    return Page(html.partition(f'data-key="orders:{job_id}"')[2].partition("</tr>")[0]).text


def test_p02_the_real_job_is_shown_with_its_error(browser):
    assert "ValueError: boom 7" in row_of(browser.get(at("failed")), "p02real")


def test_p02_a_ghost_is_marked_as_gone(browser):
    assert "Its data is gone; only its id is still listed." in row_of(browser.get(at("failed")), "ghost-1")


def test_p02_a_half_hash_is_marked_and_hides_no_other(browser):
    assert "Most of its data is gone." in row_of(browser.get(at("failed")), "half-1")


@pytest.mark.parametrize(
    "address", [at("failed"), at("failed") + "?queue=orders", at("queue-state", "orders", "failed")]
)
def test_p02_the_count_and_the_rows_agree(browser, address):
    page = Page(browser.get(address))
    assert len(page.rows()) == 3
    assert "3 failed jobs" in page.text or "3 jobs" in page.text


@pytest.mark.parametrize("name", ["overview", "queues"])
def test_p02_the_overview_counts_what_the_list_shows(browser, name):
    html = browser.get(at(name)).content.decode()
    figure = html.partition(f'href="{at("queue-state", "orders", "failed")}">')[2].partition("</a>")[0]
    assert figure.startswith("3<")


def test_p02_a_ghost_by_its_address_is_a_404_that_says_so_with_a_way_back(browser):
    answer = browser.get(at("job", "orders", "ghost-1"))
    assert answer.status_code == 404
    assert "still listed" in Page(answer).text
    assert at("failed") in Page(answer).links


def test_p02_half_a_hash_by_its_address_shows_the_little_that_is_known(browser):
    answer = browser.get(at("job", "orders", "half-1"))
    assert answer.status_code == 200
    assert "Most of its data is gone from Redis, its state with it." in Page(answer).text
    assert "2026-01-01 00:00:00" in Page(answer).text


def test_p02_a_click_on_a_job_that_has_just_gone_is_a_404_with_a_way_back(browser, redis_client):
    assert REAL in Page(browser.get(at("failed"))).links
    redis_client.delete("rq:job:p02real")
    answer = browser.get(REAL)
    assert answer.status_code == 404
    assert at("failed") in Page(answer).links


def test_p02_the_retry_button_of_a_job_that_has_just_gone_says_so_and_retries_nothing(browser, redis_client):
    form = Page(browser.get(REAL)).form(RETRY)
    redis_client.delete("rq:job:p02real")
    before = snapshot(redis_client)
    answer = browser.post(RETRY, form.fields)
    assert answer.status_code == 409
    assert "Not done: the job is gone; somebody deleted it, or its time ran out." in Page(answer).text
    assert snapshot(redis_client) == before


def test_p02_the_retry_button_of_a_job_of_which_nothing_is_left_is_a_404_with_a_way_back(browser, redis_client):
    form = Page(browser.get(REAL)).form(RETRY)
    redis_client.delete("rq:job:p02real", "rq:results:p02real")
    redis_client.zrem("rq:failed:orders", "p02real")
    before = snapshot(redis_client)
    answer = browser.post(RETRY, form.fields)
    assert answer.status_code == 404
    assert at("failed") in Page(answer).links
    assert snapshot(redis_client) == before


@pytest.mark.parametrize(("seen", "status"), [("gone", "refused"), ("-", "changed")])
@pytest.mark.parametrize("job_id", ["ghost-1", "half-1"])
def test_p02_retry_of_a_ghost_counts_as_left_alone_and_never_as_retried(browser, redis_client, job_id, seen, status):
    before = snapshot(redis_client)
    answer = browser.post(at("job-retry", "orders", job_id), {"seen": seen})
    entry = AuditEntry.objects.get()
    assert (answer.status_code, entry.status, entry.subject) == (409, status, job_id)
    assert "is back on the queue" not in Page(browser.get(at("failed"))).text
    assert snapshot(redis_client) == before


@pytest.mark.parametrize(
    ("seen", "sentence"),
    [
        ("gone", "Its data is gone from Redis: there is nothing left to act on."),
        ("-", "Not done: the job is gone; somebody deleted it, or its time ran out."),
    ],
)
def test_p02_retry_of_a_ghost_says_that_it_is_one(browser, seen, sentence):
    answer = browser.post(at("job-retry", "orders", "ghost-1"), {"seen": seen})
    assert sentence in Page(answer).text


def test_p02_a_ghosts_entry_is_removed_from_the_page_that_names_it(browser, redis_client):
    address = at("job-remove-entry", "orders", "ghost-1")
    assert address in Page(browser.get(at("job", "orders", "ghost-1"))).links
    before = redis_client.zrange("rq:failed:orders", 0, -1)
    answer = confirm(browser, address)
    assert (answer.status_code, answer.headers["Location"]) == (302, at("queue-state", "orders", "failed"))
    assert redis_client.zrange("rq:failed:orders", 0, -1) == [one for one in before if one != b"ghost-1"]
    assert sorted(Page(browser.get(answer.headers["Location"])).rows()) == ["half-1", "p02real"]


def test_p02_half_a_hash_is_removed_with_the_little_that_is_left(browser, redis_client):
    address = at("job-remove-entry", "orders", "half-1")
    assert address in Page(browser.get(at("job", "orders", "half-1"))).links
    assert confirm(browser, address).status_code == 302
    assert not redis_client.exists("rq:job:half-1") and redis_client.zscore("rq:failed:orders", "half-1") is None


def test_p02_no_entry_of_a_real_job_is_removed(browser, redis_client):
    address, before = at("job-remove-entry", "orders", "p02real"), snapshot(redis_client)
    assert "Its data is there: it is a job, and can be deleted as one." in Page(browser.get(address)).text
    form = Page(browser.get(REAL)).form(RETRY).fields | {"confirmed": "remove_entry"}
    assert browser.post(address, form).status_code == 409
    assert snapshot(redis_client) == before


def test_p02_the_real_job_beside_the_ghosts_can_still_be_retried(browser, redis_client):
    press(browser, REAL, RETRY)
    assert redis_client.lrange("rq:queue:orders", 0, -1) == [b"p02real"]
