"""The page of an operation of the job-safety layer: attempts, effects and deliveries, and what may be done with it."""

from __future__ import annotations

import pytest
from django.urls import reverse

from tests.support.keyspace import snapshot
from tests.support.pages import Page, at

pytestmark = pytest.mark.django_db


def address(operation, act=""):
    name = f"jobs:operation-{act}" if act else "jobs:operation"
    return reverse(name, args=(operation.operation_id,))


def opened(browser, operation):
    answer = browser.get(address(operation))
    assert answer.status_code == 200
    return Page(answer)


def test_it_tells_its_attempts_its_effects_and_its_deliveries(workshop, viewer, sign_in):
    operation = workshop.act("keyed")
    page = opened(sign_in(viewer), operation)
    for words in ("completed", "attempt 1", "act", "id-keyed-5", "it was enqueued by its code", "keyed"):
        assert words in page.text, words
    assert at("job", "orders", operation.job_id) in page.links


def test_of_a_failed_one_it_says_what_a_retry_would_do_and_by_which_row(workshop, operator, sign_in):
    page = opened(sign_in(operator), workshop.failed())
    assert "R24: nothing_begun" in page.text and "Its failed job is put back on its queue." in page.text
    assert "PermanentError: no such period" in page.text


def test_opening_it_writes_nothing(workshop, operator, sign_in):
    operation, browser = workshop.failed(), sign_in(operator)
    before = snapshot(workshop.client), operation.version
    opened(browser, operation)
    browser.get(address(operation, "retry"))
    operation.refresh_from_db()
    assert (snapshot(workshop.client), operation.version) == before
