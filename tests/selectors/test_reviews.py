"""Which reviews a person may see, in which order and in which pages."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from guardian.shortcuts import assign_perm

from jobs.domain.verdicts import Verdict
from jobs.models import Queue
from jobs.permissions import visibility
from jobs.selectors.paging import PAGE_SIZE
from jobs.selectors.reviews import Narrowed, Place, reviews_page
from tests.support.reviews import plain_review, say, take

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)


@pytest.fixture
def read(now):
    def read(reader, after=None, before=None, at=now, **narrowed):
        return reviews_page(reader, visibility(reader), Narrowed(**narrowed), now=at, after=after, before=before)

    return read


def ids(page):
    return [row.review.operation.job_id for row in page.rows]


def walk(read, reader, way, start=None, **narrowed):
    """Every page from one end to the other, by the links."""
    place, pages = start, []
    while True:
        page = read(reader, **{way: place}, **narrowed)
        pages.append(ids(page))
        link = page.next if way == "after" else page.previous
        if link is None:
            return pages
        place = Place.decode(link)


@pytest.fixture
def closed(now, orders, operator, lead):
    """Three that were answered, the last one first in time: by otto, by lena, and by late evidence."""
    found = [plain_review(number, now - 30 * HOUR + number * HOUR) for number in range(3)]
    for review, actor, ago in zip(found, (operator, lead, None), (1, 2, 9), strict=True):
        if actor:
            take(review, actor, now=now - ago * HOUR)
        say(review, actor, Verdict.HAPPENED if actor is None else Verdict.ABANDON, now=now - ago * HOUR)
    return found


def test_the_oldest_open_one_comes_first_and_the_one_that_is_put_off_last(now, orders, viewer, read):
    plain_review(1, now - HOUR)
    plain_review(2, now - 3 * HOUR)
    plain_review(3, now - 5 * HOUR, snoozed_until=now + HOUR)
    plain_review(4, now - 2 * HOUR)
    assert ids(read(viewer)) == ["job-2", "job-4", "job-1", "job-3"]


def test_what_somebody_meant_to_look_at_by_now_comes_before_all_others(now, orders, viewer, read):
    plain_review(1, now - 9 * HOUR)
    plain_review(2, now - HOUR, snoozed_until=now)
    page = read(viewer)
    assert ids(page) == ["job-2", "job-1"]
    assert page.rows[0].is_promised and not page.rows[0].is_put_off


@pytest.mark.parametrize("open_or_closed", [{}, {"closed": True}])
def test_nobody_counts_for_ever(now, orders, viewer, closed, read, monkeypatch, open_or_closed):
    for number in range(4, 7):
        plain_review(number, now - 30 * HOUR)
    monkeypatch.setattr("jobs.selectors.reviews.COUNTED", 1)
    with CaptureQueriesContext(connection) as queries:
        page = read(viewer, **open_or_closed)
    assert (page.total, page.counted, page.overdue, page.is_capped) == (2, 1, 1, True)
    assert [one["sql"] for one in queries if "COUNT" in one["sql"] and "LIMIT 2" not in one["sql"]] == []


def test_only_reviews_of_queues_that_one_may_see_are_listed_and_counted(now, orders, payroll, viewer, outsider, read):
    plain_review(1, now)
    plain_review(2, now - 48 * HOUR, queue="payroll")
    page = read(viewer)
    assert (ids(page), page.total, page.overdue) == (["job-1"], 1, 0)
    assert ids(read(outsider)) == []


def test_a_queue_of_the_same_name_in_another_store_is_another_queue(now, orders, viewer, read):
    assign_perm("view_queue", viewer, Queue.objects.create(connection="other", name="payroll"))
    plain_review(1, now, queue="payroll")
    assert ids(read(viewer)) == []


def test_a_superuser_sees_those_of_queues_without_a_record_too(now, superuser, read):
    plain_review(1, now, queue="unheard of")
    assert ids(read(superuser)) == ["job-1"]


def test_it_is_overdue_from_the_age_limit_on(now, orders, viewer, read):
    review = plain_review(1, now - HOUR)
    before, then = (read(viewer, at=review.due_at - timedelta(seconds=step)) for step in (1, 0))
    assert (before.overdue, before.rows[0].is_overdue) == (0, False)
    assert (then.overdue, then.rows[0].is_overdue) == (1, True)
    assert ids(read(viewer, overdue=True)) == []
    assert ids(read(viewer, overdue=True, at=review.due_at)) == ["job-1"]


def test_mine_are_those_that_i_hold_now(now, orders, operator, lead, read):
    mine, over, hers = (plain_review(number, now) for number in range(3))
    take(mine, operator, now=now)
    take(over, operator, now=now - HOUR)
    take(hers, lead, now=now)
    assert ids(read(operator, mine=True)) == ["job-0"]
    rows = {row.review.operation.job_id: row.is_held for row in read(operator).rows}
    assert rows == {"job-0": True, "job-1": False, "job-2": True}


def test_a_queue_narrows_the_list(now, orders, payroll, superuser, read):
    plain_review(1, now)
    plain_review(2, now, queue="payroll")
    assert ids(read(superuser, queue=payroll)) == ["job-2"]


def test_answered_ones_are_apart_with_the_answer_and_the_last_one_first(now, orders, closed, viewer, read):
    plain_review(7, now)
    page = read(viewer, closed=True)
    assert ids(page) == ["job-0", "job-1", "job-2"]
    assert [row.answer.actor_name for row in page.rows] == ["otto", "lena", ""]
    assert ids(read(viewer)) == ["job-7"]


def test_of_the_answered_ones_mine_are_those_that_i_answered_and_late_those_past_their_limit(closed, operator, read):
    assert ids(read(operator, closed=True, mine=True)) == ["job-0"]
    # Opened 30, 29 and 28 hours ago with a limit of 24 hours, and answered 1, 2 and 9 hours ago.
    assert ids(read(operator, closed=True, overdue=True)) == ["job-0", "job-1"]


@pytest.mark.parametrize("closed", [False, True])
def test_pages_turned_by_their_links_show_every_review_once_both_ways(now, orders, viewer, read, closed):
    """Many of one moment, in each of the groups."""
    for number in range(2 * PAGE_SIZE + 20):
        snoozed = {0: None, 1: now - HOUR, 2: now + HOUR}[number % 3]
        end = {"closed_at": now - HOUR, "verdict": "abandon"} if closed else {}
        plain_review(number, now - (number // 40) * HOUR, snoozed_until=snoozed, **end)
    forth = walk(read, viewer, "after", closed=closed)
    assert [len(page) for page in forth] == [PAGE_SIZE, PAGE_SIZE, 20]
    flat = [one for page in forth for one in page]
    assert len(set(flat)) == len(flat) == 2 * PAGE_SIZE + 20
    second = Place.decode(read(viewer, closed=closed).next)
    third = Place.decode(read(viewer, after=second, closed=closed).next)
    last = read(viewer, after=third, closed=closed)
    back = walk(read, viewer, "before", start=Place.decode(last.previous), closed=closed)
    assert back == [flat[PAGE_SIZE : 2 * PAGE_SIZE], flat[:PAGE_SIZE]]


def test_a_place_whose_review_is_gone_still_turns_the_page(now, orders, viewer, read):
    reviews = [plain_review(number, now + number * timedelta(seconds=1)) for number in range(3)]
    place = Place(1, reviews[1].opened_at, reviews[1].pk)
    take(reviews[1], viewer, now=now)
    say(reviews[1], viewer, Verdict.ABANDON, now=now)
    assert ids(read(viewer, after=place)) == ["job-2"]


@pytest.mark.parametrize(
    "text", ["", "1-2", "3-1-1", "1-x-1", "1--1-1", "1-1-1-1", "1-" + "9" * 18 + "-1", "\N{FULLWIDTH DIGIT ONE}-1-1"]
)
def test_what_is_no_place_is_refused(text):
    with pytest.raises(ValueError, match="does not name a place"):
        Place.decode(text)


@pytest.mark.parametrize("closed", [False, True])
def test_fifty_rows_take_as_many_queries_as_one(now, orders, viewer, read, closed):
    taken = []
    for number in (1, 50):
        for one in range(number):
            end = {"closed_at": now, "verdict": "abandon"} if closed else {}
            plain_review(100 * number + one, now, **end)
        with CaptureQueriesContext(connection) as queries:
            page = read(viewer, closed=closed)
            assert all(row.answer is None and row.review.operation.queue for row in page.rows)
        taken.append(len(queries))
    assert taken[0] == taken[1]
