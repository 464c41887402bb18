"""P04: a double click, and several operators at once, against the web process as it is shipped."""

from __future__ import annotations

import re
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest
from django.conf import settings as configured

from jobs.models import AuditEntry, JobType
from tests.browser.served import Site
from tests.support.pages import Page, at
from tests.support.web import Browser

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.parametrize("rq_version", ["3.0"])]

RIVAL = re.compile(r"Not done: (otto|root) (has just retried|is already retrying) this job\.")
QUEUE = "rq:queue:orders"


@pytest.fixture(scope="module")
def port(django_db_setup, django_db_blocker, valkey, tmp_path_factory):
    with django_db_blocker.unblock():
        site = Site(tmp_path_factory.mktemp("site"), valkey.url)
    with site.serving():
        yield urlsplit(site.address).port


@pytest.fixture
def failed(real_rq):
    """Fail jobs that are safe to repeat."""
    JobType.objects.create(path="fx.boom", idempotency="repeatable")

    def fail_all(*job_ids):
        for job_id in job_ids:
            real_rq.enqueue("fx.boom", 7, job_id=job_id)
        real_rq.burst()

    return fail_all


@pytest.fixture
def tab(port, sign_in):
    """A person's tab that shows the page on which this act is confirmed; returns what presses its button."""

    def open_tab(person, name, job_id, **typed):
        browser, address = Browser(), at(name, "orders", job_id)
        cookie = configured.SESSION_COOKIE_NAME
        browser.cookies[cookie] = sign_in(person).cookies[cookie].value
        form = browser.get(port, address).form(address, own="")
        return lambda: browser.post(port, address, {**form, **typed})

    return open_tab


def at_the_same_moment(*presses):
    """Press all of them at once; returns their answers in order."""
    start = threading.Barrier(len(presses))

    def press(button):
        start.wait()
        return button()

    with ThreadPoolExecutor(len(presses)) as threads:
        return list(threads.map(press, presses))


def records(verb):
    return Counter(AuditEntry.objects.filter(verb=verb).values_list("status", flat=True))


def test_p04_of_twenty_retries_at_the_same_moment_one_is_carried_out(failed, tab, operator, superuser, redis_client):
    failed("p04")
    people = [operator, superuser] * 10
    answers = at_the_same_moment(*[tab(person, "job-retry", "p04") for person in people])
    assert Counter(answer.status for answer in answers) == {302: 1, 409: 19}
    assert redis_client.lrange(QUEUE, 0, -1) == [b"p04"]
    assert records("retry_job")["done"] == 1
    assert records("retry_job").total() == 20 and not records("retry_job")["intended"]
    assert [answer for answer in answers if answer.status == 409 and not RIVAL.search(Page(answer.text).text)] == []


def test_p04_who_pressed_twice_is_told_that_he_has_just_retried_it(failed, tab, operator, redis_client):
    failed("p04")
    press = tab(operator, "job-retry", "p04")
    first, second = press(), press()
    assert (first.status, second.status) == (302, 409)
    assert "Not done: otto has just retried this job." in Page(second.text).text
    assert redis_client.lrange(QUEUE, 0, -1) == [b"p04"]


def test_p04_a_job_that_was_deleted_in_another_tab_is_not_brought_back(failed, tab, operator, redis_client):
    failed("p04")
    retry, delete = tab(operator, "job-retry", "p04"), tab(operator, "job-delete", "p04", typed="boom")
    assert delete().status == 302
    answer = retry()
    assert answer.status == 404
    assert "It was deleted by otto" in Page(answer.text).text
    assert not redis_client.exists("rq:job:p04", QUEUE)


def test_p04_a_job_that_was_retried_in_another_tab_is_not_deleted(failed, tab, operator, redis_client):
    failed("p04")
    retry, delete = tab(operator, "job-retry", "p04"), tab(operator, "job-delete", "p04", typed="boom")
    assert retry().status == 302
    answer = delete()
    assert answer.status == 409
    assert "Not done: otto has just retried this job." in Page(answer.text).text
    assert redis_client.lrange(QUEUE, 0, -1) == [b"p04"] and redis_client.exists("rq:job:p04")


def test_p04_of_a_retry_and_a_delete_at_the_same_moment_one_is_carried_out(
    failed, tab, operator, superuser, redis_client
):
    job_ids = [f"p04-{number}" for number in range(8)]
    failed(*job_ids)
    for job_id in job_ids:
        retry, delete = tab(operator, "job-retry", job_id), tab(superuser, "job-delete", job_id, typed="boom")
        retried, deleted = at_the_same_moment(retry, delete)
        assert [retried.status, deleted.status].count(302) == 1
        is_queued, exists = (
            job_id.encode() in redis_client.lrange(QUEUE, 0, -1),
            redis_client.exists(f"rq:job:{job_id}"),
        )
        assert (is_queued, exists) == ((True, 1) if retried.status == 302 else (False, 0))
    assert records("retry_job")["done"] + records("delete_job")["done"] == len(job_ids)
