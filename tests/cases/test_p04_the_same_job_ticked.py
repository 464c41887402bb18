"""P04, "retry selected": the same id several times in one press, in two presses at once, and with a delete between."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connections as databases

from jobs.models import AuditEntry, JobType
from tests.support.pages import Page, at

pytestmark = pytest.mark.django_db(transaction=True)
PRESSES = 6


@pytest.fixture
def rq_version():
    return "3.0"


@pytest.fixture
def press_of(real_rq, sign_in):
    """What a person sends who has ticked the one failed job."""
    JobType.objects.create(path="fx.boom", idempotency="repeatable")
    real_rq.fail("fx.boom", 7, job_id="p04")

    def made(person, verb="retry_job", times=1):
        browser = sign_in(person)
        page = Page(browser.get(at("failed")))
        (row,) = [one.attributes["value"] for one in page.elements if one.attributes.get("name") == "row"]
        return browser, {**page.form(at("ticked")).fields, "verb": verb, "row": [row] * times}

    return made


def told(browser, answer):
    return Page(browser.get(answer.headers["Location"])).text


def test_p04_the_same_id_three_times_in_one_press_is_one_retry_and_one_success(press_of, operator, redis_client):
    browser, form = press_of(operator, times=3)
    assert "1 job: 1 done" in told(browser, browser.post(at("ticked"), form))
    assert redis_client.lrange("rq:queue:orders", 0, -1) == [b"p04"]
    assert list(AuditEntry.objects.values_list("status", flat=True)) == ["done"]


def test_p04_of_presses_at_the_same_moment_one_wins_and_the_rest_say_so(press_of, operator, superuser, redis_client):
    presses = [press_of(person, times=3) for person in (operator, superuser) for _tab in range(PRESSES // 2)]
    barrier = Barrier(PRESSES)

    def send(one):
        browser, form = one
        barrier.wait(30)
        try:
            return browser.post(at("ticked"), form)
        finally:
            databases.close_all()

    with ThreadPoolExecutor(PRESSES) as pool:
        answers = list(pool.map(send, presses))
    pages = [told(browser, answer) for (browser, _form), answer in zip(presses, answers, strict=True)]
    assert redis_client.lrange("rq:queue:orders", 0, -1) == [b"p04"]
    assert sum("1 job: 1 done" in page for page in pages) == 1
    assert AuditEntry.objects.filter(status="done").count() == 1
    assert AuditEntry.objects.count() == PRESSES


def test_p04_what_another_deleted_meanwhile_is_gone_and_does_not_come_back(press_of, operator, superuser, redis_client):
    browser, retry = press_of(operator)
    other, delete = press_of(superuser, "delete_job")
    asked = Page(other.post(at("ticked"), delete))
    (row,) = [one.attributes["value"] for one in asked.elements if one.attributes.get("name") == "row"]
    other.post(at("ticked"), {**delete, "row": row, "typed": "1"})
    assert not redis_client.exists("rq:job:p04")
    assert "1 job: 1 gone" in told(browser, browser.post(at("ticked"), retry))
    assert not redis_client.exists("rq:job:p04", "rq:queue:orders")
