"""A call that does not fit the function: what its pages say before and after that is on record."""

from __future__ import annotations

import pytest
from django.urls import reverse

from jobs.broker.deliveries import META
from jobs.models import Operation
from tests.safety import work
from tests.support.pages import Page, at

pytestmark = pytest.mark.django_db


@pytest.fixture
def refused(workshop) -> Operation:
    """Submitted by a web process that knows a parameter more than the worker."""
    operation = workshop.submitted()
    workshop.queue.empty()
    call = {"kwargs": {"order_id": 5, "colour": "blue"}, "meta": {META: operation.operation_id}}
    workshop.queue.enqueue_call("tests.safety.work.touch", job_id=operation.job_id, timeout=30, **call)
    workshop.work()
    operation.refresh_from_db()
    return operation


@pytest.fixture
def browser(operator, sign_in):
    return sign_in(operator)


def pages_of(browser, operation):
    places = reverse("jobs:operation", args=(operation.operation_id,)), at("job", "orders", operation.job_id)
    return [Page(browser.get(place)) for place in places]


def test_both_pages_say_that_nothing_ran_why_and_what_to_do(refused, browser):
    of_operation, of_job = pages_of(browser, refused)
    for page in (of_operation, of_job):
        assert "The stored arguments do not fit the function’s parameters in this release." in page.text
        assert "Deploy code that accepts the stored call, then retry." in page.text
    assert "signature_mismatch" in of_operation.text and "Attempts 0 of 3" in of_operation.text
    assert "never began" in of_job.text
    assert work.CALLS == []


def test_a_retry_is_offered_and_says_that_it_fails_alike_until_a_release_takes_it(refused, browser):
    for page in pages_of(browser, refused):
        assert "that fails the same way until a release takes the stored call (R14)" in page.text
        assert "Asks first." in page.text


def test_of_the_argument_that_is_no_id_no_page_says_the_value(refused, browser):
    for page in pages_of(browser, refused):
        assert "blue" not in page.text


@pytest.mark.parametrize("status", ["failed", "stopped", "finished"])
def test_until_it_is_known_why_a_job_ended_its_operation_does_not_seem_to_wait(workshop, browser, status):
    operation = workshop.submitted()
    workshop.client.hset(f"rq:job:{operation.job_id}", "status", status)
    (of_operation, _) = pages_of(browser, operation)
    assert "Its job has ended in RQ, and nothing of that is on record here" in of_operation.text
    assert "It waits in its queue" not in of_operation.text


def test_one_that_waits_is_said_to_wait(workshop, browser):
    (of_operation, _) = pages_of(browser, workshop.submitted())
    assert "It waits in its queue for a worker." in of_operation.text
