"""P24: what time did it fail? Shown in the zone of the settings, with the zone said each time."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from jobs.models import AuditEntry, JobType
from tests.support.pages import Page, at
from tests.support.runs import rq_time

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def rq_version():
    """One is enough: tests/broker reads what both have written, and from there on it is the same."""
    return "3.0"


ZONES = {"Europe/Berlin": {"CET", "CEST"}, "Asia/Kolkata": {"IST"}}
FIRST, SECOND = datetime(2026, 10, 25, 0, 30, tzinfo=UTC), datetime(2026, 10, 25, 1, 30, tzinfo=UTC)
"""Both are 02:30 in Berlin, the night the clocks go back."""
CLOCK = re.compile(r"\b\d{1,2}:\d{2}(?::\d{2})?(?P<zone>[ +]\S*)?")
PAGES = [at("overview"), at("failed"), at("queues"), at("workers"), at("queue-state", "orders", "failed")]


@pytest.fixture(params=ZONES)
def zone(request, settings):
    settings.TIME_ZONE = request.param
    return request.param


@pytest.fixture
def now(monkeypatch):
    """The hour of the pages: that morning, at 11:00 UTC."""
    at_eleven = datetime(2026, 10, 25, 11, 0, tzinfo=UTC)
    monkeypatch.setattr(timezone, "now", lambda: at_eleven)
    return at_eleven


@pytest.fixture
def failed(lay_once, redis_client, now, zone):
    """Five failures: just now, the two of that night, one without an end, and one ten minutes ahead."""
    ends = {"just": now - timedelta(seconds=47), "first": FIRST, "second": SECOND, "ahead": now + timedelta(minutes=10)}
    lay_once(lay)
    for job_id, ended in ends.items():
        times = {"started_at": rq_time(ended - timedelta(seconds=1)), "ended_at": rq_time(ended)}
        redis_client.hset(f"rq:job:{job_id}", mapping=times)
        redis_client.zadd("rq:failed:orders", {job_id: ended.timestamp() + 31_536_000})
    redis_client.hdel("rq:job:never", "ended_at")
    redis_client.delete("rq:results:never")
    return redis_client


def lay(rq, redis):
    for job_id in ("just", "first", "second", "ahead", "never"):
        rq.enqueue("fx.boom", 7, job_id=job_id)
    rq.burst("orders")


@pytest.fixture
def browser(failed, superuser, sign_in):
    return sign_in(superuser)


def row_of(browser, job_id):
    html = browser.get(at("failed")).content.decode()
    return Page(html.partition(f'data-key="orders:{job_id}"')[2].partition("</tr>")[0])


def ended_on_page(browser, job_id):
    html = browser.get(at("job", "orders", job_id)).content.decode()
    return Page(html.partition("<dt>Ended</dt>")[2].partition("</dd>")[0])


def moments(page):
    """What the machine-readable times on a page say."""
    return [one.attributes["datetime"] for one in page.elements if one.tag == "time" and "datetime" in one.attributes]


def zones_in(text):
    """The zone behind each time of day in a text."""
    return [(match["zone"] or "").strip(" .,;)") for match in CLOCK.finditer(text)]


def test_p24_every_time_has_its_zone_and_there_is_one_zone_to_a_page(browser, failed, zone):
    with_sentences(failed)
    jobs = [
        at(name, "orders", job_id) for name in ("job", "job-delete") for job_id in ("just", "second", "ahead", "lost")
    ]
    for address in [*PAGES, *jobs, at("queue-state", "orders", "scheduled"), at("job", "orders", "later")]:
        answer = browser.get(address)
        assert answer.status_code == 200, address
        found = zones_in(Page(answer).text)
        assert found and set(found) <= ZONES[zone], (address, found)


def with_sentences(redis_client):
    """What has times within sentences: a run that may still go on, and a scheduled job."""
    JobType.objects.create(path="fx.boom", idempotency="repeatable")
    for job_id in ("lost", "later"):
        redis_client.copy("rq:job:just", f"rq:job:{job_id}")
    redis_client.hset("rq:job:lost", "started_at", "2026-10-25T10:59:00.000000Z")
    redis_client.zadd("rq:failed:orders", {"lost": SECOND.timestamp()})
    redis_client.hset("rq:job:later", "status", "scheduled")
    redis_client.zadd("rq:scheduled:orders", {"later": SECOND.timestamp() + 86_400 * 30})


def test_p24_the_two_half_past_two_can_be_told_apart(browser, zone):
    shown = [[ended_on_page(browser, job_id).text, row_of(browser, job_id).text] for job_id in ("first", "second")]
    expected = {
        "Europe/Berlin": ["02:30:00 CEST", "02:30:00 CET"],
        "Asia/Kolkata": ["06:00:00 IST", "07:00:00 IST"],
    }
    for texts, words in zip(shown, expected[zone], strict=True):
        assert all(words in text for text in texts)
    assert [moments(ended_on_page(browser, job_id))[0] for job_id in ("first", "second")] == [
        "2026-10-25T00:30:00Z",
        "2026-10-25T01:30:00Z",
    ]


def test_p24_they_sort_properly_newest_first(browser):
    keys = [key.removeprefix("orders:") for key in Page(browser.get(at("failed"))).rows()]
    assert [key for key in keys if key != "never"] == ["ahead", "just", "second", "first"]


@pytest.mark.parametrize(
    ("job_id", "words"), [("just", "47 s ago"), ("second", "9 h 30 min ago"), ("first", "10 h 30 min ago")]
)
def test_p24_relative_times_are_right_to_the_second(browser, job_id, words):
    assert words in row_of(browser, job_id).text
    assert words in ended_on_page(browser, job_id).text


def test_p24_a_time_ahead_says_that_a_clock_is_ahead(browser):
    assert "clock is ahead by 10 min" in row_of(browser, "ahead").text
    assert "clock is ahead by 10 min" in ended_on_page(browser, "ahead").text


def test_p24_no_relative_time_is_negative(browser):
    for address in [*PAGES, *(at("job", "orders", job_id) for job_id in ("just", "ahead", "never"))]:
        assert not re.search(r"-\s?\d+ (ms|s|min|h|d)\b", Page(browser.get(address)).text)


def test_p24_what_just_happened_is_just_now(browser, failed, now):
    failed.hset("rq:job:just", "ended_at", rq_time(now))
    assert "just now" in row_of(browser, "just").text


def test_p24_a_missing_time_reads_unknown(browser):
    row = row_of(browser, "never")
    assert "unknown" in row.text and not moments(row)
    assert "no end on record" in ended_on_page(browser, "never").text


def test_p24_times_for_machines_are_iso_8601_with_offset(browser):
    for address in [*PAGES, at("job", "orders", "second")]:
        page = Page(browser.get(address))
        found = moments(page)
        assert found or address in (at("overview"), at("queues"))
        assert all(datetime.fromisoformat(moment).utcoffset() == timedelta(0) for moment in found)
        now = next(one.attributes["data-now"] for one in page.elements if one.tag == "body")
        assert datetime.fromisoformat(now).utcoffset() is not None


def test_p24_the_record_of_an_act_has_its_zone(browser, zone):
    browser.post(at("job-retry", "orders", "just"), {"seen": "1-1", "reason": "look"})
    assert AuditEntry.objects.get().created_at == datetime(2026, 10, 25, 11, 0, tzinfo=UTC)
    text = Page(browser.get(at("job", "orders", "just"))).text.partition("Reason given: look")
    words = {"Europe/Berlin": "12:00:00 CET", "Asia/Kolkata": "16:30:00 IST"}
    assert f"just now · {words[zone]}" in text[0].rpartition(" by ")[2]
