"""How far a job is, on its operation's page and on its own: live while it runs, and never that of another attempt."""

from __future__ import annotations

import pytest
from django.urls import reverse

from jobs.models import Operation
from jobs.safety import report_progress
from tests.safety import work
from tests.support.pages import Page, at

pytestmark = pytest.mark.django_db
LARGEST = 2**63 - 1
PART = {"hx-request": "true"}


@pytest.fixture
def running(workshop):
    """running(done, total): an operation whose second attempt goes on, and has said so."""
    return lambda done=None, total=None: workshop.running(done=done, total=total)


@pytest.fixture
def browser(viewer, sign_in):
    return sign_in(viewer)


def pages_of(operation):
    """Where it is told, whole and as the part that refreshes itself."""
    places = reverse("jobs:operation", args=(operation.operation_id,)), at("job", "orders", operation.job_id)
    return [(place, headers) for place in places for headers in ({}, PART)]


def bars(page):
    return [(one.attributes["value"], one.attributes["max"]) for one in page.elements if one.tag == "progress"]


@pytest.mark.parametrize(
    ("said", "words", "bar"),
    [
        ((12_000, 40_000), "12 000 of 40 000, 30 %", [("12000", "40000")]),
        ((40_000, 40_000), "40 000 of 40 000, 100 %", [("40000", "40000")]),
        ((12_000, None), "12 000 done; it has not said of how many", []),
        ((50, 40), "50 done, more than the 40 that it expected", []),
        ((0, 0), "0 of 0", []),
        ((LARGEST, LARGEST), "9 223 372 036 854 775 807, 100 %", [(str(LARGEST), str(LARGEST))]),
    ],
)
def test_while_it_runs_it_is_told_in_words_and_as_a_bar_where_there_is_a_share(running, browser, said, words, bar):
    for place, headers in pages_of(running(*said)):
        page = Page(browser.get(place, headers=headers))
        assert words in page.text, place
        assert bars(page) == bar, place


def test_the_bar_has_a_name_for_those_who_do_not_see_it(running, browser):
    for place, _headers in pages_of(running(12, 40)):
        named = [one.attributes["aria-label"] for one in Page(browser.get(place)).elements if one.tag == "progress"]
        assert named == ["How far it is"]


def test_of_a_job_that_says_nothing_nothing_is_told(running, browser):
    for place, headers in pages_of(running()):
        page = Page(browser.get(place, headers=headers))
        assert "it has not said" not in page.text and not bars(page)


@pytest.mark.parametrize("status", ["queued", "retry_wait", "failed", "completed", "cancelled", "unknown"])
def test_afterwards_it_says_how_far_which_attempt_came_and_its_job_says_nothing(running, browser, status):
    operation = running(12, 40)
    Operation.objects.update(status=status, current_attempt=None, lease_until=None)
    (place, _), (part, headers), *of_job = pages_of(operation)
    page = Page(browser.get(place))
    assert "How far it came 12 of 40, 30 % attempt 2" in page.text and len(bars(page)) == 1
    assert not bars(Page(browser.get(part, headers=headers)))
    assert [bars(Page(browser.get(job, headers=headers))) for job, headers in of_job] == [[], []]


def test_while_it_runs_nothing_outside_the_part_that_refreshes_tells_it(running, browser):
    (place, _), *_others = pages_of(running(12, 40))
    assert len(bars(Page(browser.get(place)))) == 1


def test_an_older_job_of_it_is_not_told_how_far_the_newer_one_is(running, browser):
    operation = running(12, 40)
    Operation.objects.update(job_id="newer")
    assert not bars(Page(browser.get(at("job", "orders", operation.job_id))))


def test_what_a_job_says_while_it_runs_is_there_at_once(workshop, browser):
    """Through the whole layer: the job reports, and the page that is looked at meanwhile has it."""
    seen = []

    def report_and_look(_order):
        report_progress(12_000, 40_000)
        place = reverse("jobs:operation", args=("plain:5",))
        seen.append(Page(browser.get(place, headers=PART)).text)

    work.BEHAVIOUR["touch"] = report_and_look
    workshop.declared("touch").delay(5)
    workshop.work()
    assert "12 000 of 40 000, 30 %" in seen[0]
