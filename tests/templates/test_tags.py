"""The template tags: each time with its zone, each number grouped, each text escaped."""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime, timedelta

import pytest
from django.template import Context, Template
from django.test import RequestFactory
from django.urls import resolve
from django.utils import timezone

from jobs.domain.frames import Frame
from jobs.domain.tracebacks import parse_traceback
from jobs.templatetags.opsboard import fold_frames, newest_first

NOW = datetime(2026, 11, 29, 14, 2, 11, tzinfo=UTC)
HOSTILE = [
    '"><img src=x onerror=alert(1)>',
    "<script>alert(1)</script>",
    "</title><svg onload=alert(1)>",
    "' onfocus=x ",
]


def render(source, **context):
    return Template("{% load opsboard %}" + source).render(Context({"now": NOW, **context}))


def text(markup):
    return html.unescape(re.sub(r"<[^>]*>", "", markup))


def test_a_time_of_today_says_how_long_ago_and_when():
    shown = render("{% when at %}", at=NOW - timedelta(minutes=4))
    assert text(shown) == "4 min ago · 13:58:11 UTC"
    assert 'datetime="2026-11-29T13:58:11Z" title="2026-11-29T13:58:11Z"' in shown


def test_a_time_of_the_day_before_leads_with_its_date():
    assert text(render("{% when at %}", at=NOW - timedelta(days=3, hours=4))) == "2026-11-26 10:02:11 UTC · 3 d 4 h ago"


@pytest.mark.parametrize("tag", ["when", "due", "clock"])
def test_a_time_that_is_missing_is_said_to_be_unknown(tag):
    assert text(render(f"{{% {tag} at %}}", at=None)) == "unknown"


@pytest.mark.parametrize(
    ("ahead", "words"), [(3, "just now"), (600, "clock is ahead by 10 min"), (65, "clock is ahead by 1 min 5 s")]
)
def test_what_happened_ahead_of_our_clock_is_never_negative(ahead, words):
    assert text(render("{% when at %}", at=NOW + timedelta(seconds=ahead))).startswith(f"{words} · 14:")


@pytest.mark.parametrize(("seconds", "words"), [(180, "in 3 min"), (-240, "4 min ago"), (0, "just now")])
def test_what_is_planned_says_how_long_until(seconds, words):
    assert text(render("{% due at %}", at=NOW + timedelta(seconds=seconds))).startswith(words)


def test_the_two_half_past_twos_of_an_autumn_night_can_be_told_apart():
    with timezone.override("Europe/Berlin"):
        first = text(render("{% when at %}", at=datetime(2026, 10, 25, 0, 30, tzinfo=UTC)))
        second = text(render("{% when at %}", at=datetime(2026, 10, 25, 1, 30, tzinfo=UTC)))
    assert first.startswith("2026-10-25 02:30:00 CEST")
    assert second.startswith("2026-10-25 02:30:00 CET ")


@pytest.mark.parametrize(
    ("zone", "shown"),
    [("Asia/Kolkata", "19:32:11 IST"), ("America/Sao_Paulo", "11:02:11 UTC-03"), ("UTC", "14:02:11 UTC")],
)
def test_every_time_names_its_zone(zone, shown):
    with timezone.override(zone):
        assert text(render("{% clock at %}", at=NOW)) == shown


def test_a_time_without_zone_is_read_as_utc_as_rq_means_it():
    assert text(render("{% clock at %}", at=NOW.replace(tzinfo=None))) == "14:02:11 UTC"


def test_all_times_of_a_page_are_measured_from_its_one_now():
    assert text(render("{% when at %}", at=NOW - timedelta(seconds=9), now=NOW)) == "9 s ago · 14:02:02 UTC"
    assert text(render("{% when at %}", at=timezone.now(), now=None)).startswith("just now")


@pytest.mark.parametrize(
    ("value", "shown"), [(None, "unknown"), (0.84, "840 ms"), (75, "1 min 15 s"), (timedelta(hours=30), "1 d 6 h")]
)
def test_a_duration_takes_seconds_or_a_timedelta(value, shown):
    assert render("{% duration value %}", value=value) == shown


def test_between_two_times_lies_a_duration_unless_clocks_disagree():
    later = NOW + timedelta(seconds=90)
    assert render("{% between a b %}", a=NOW, b=later) == "1 min 30 s"
    assert render("{% between a b %}", a=later, b=NOW) == "unknown"
    assert render("{% between a b %}", a=None, b=NOW) == "unknown"


@pytest.mark.parametrize(
    ("value", "cap", "shown"),
    [
        (0, None, "0"),
        (999, None, "999"),
        (1234567, None, "1 234 567"),
        (None, None, "unknown"),
        (9999, 10_000, "9 999"),
        (10_000, 10_000, "≥ 10 000"),
        (50_000, 10_000, "≥ 10 000"),
    ],
)
def test_a_number_is_grouped_and_a_capped_one_says_so(value, cap, shown):
    assert render("{% count value cap %}", value=value, cap=cap).replace("\N{NARROW NO-BREAK SPACE}", " ") == shown


def test_a_state_shows_icon_word_and_colour_together():
    shown = render("{% state_badge 'result_unknown' %}")
    assert text(shown) == "result unknown"
    assert shown == '<span class="state state--review">result unknown</span>'


def test_a_state_may_have_an_icon_of_its_own():
    assert 'class="state state--review icon--stopped"' in render("{% state_badge 'stopped' %}")


def test_a_number_leads_to_what_it_counts_and_says_what_that_is():
    shown = render("{% figure 3 'failed' '/queues/default/x/failed/' 'failed' %}")
    assert shown.startswith('<a class="figure figure--failed" href="/queues/default/x/failed/">3')
    assert text(shown) == "3 failed"


@pytest.mark.parametrize("value", [0, None])
def test_nothing_to_do_is_quiet(value):
    assert "figure--quiet" in render("{% figure value 'failed' '/x/' 'failed' %}", value=value)


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize(
    "source",
    [
        "{% state_badge text %}",
        "{% state_name text %}",
        "{% verb_name text %}",
        "{% icon text %}",
        "{% figure 1 text text text %}",
        "{{ text|breakable }}",
        "{{ text|function_name }}",
        "{{ text|function_module }}",
    ],
)
def test_no_text_becomes_markup(source, hostile):
    shown = render(source, text=hostile)
    harmless = re.sub(r'</?(?:a|span|svg|use|wbr)(?: [a-z-]+="[^"<>]*")*>', "", shown)
    assert "<" not in harmless and "'" not in harmless and '"' not in harmless


def test_a_path_may_break_between_its_names_only():
    assert render("{{ path|breakable }}", path="shop.tasks.send_it") == "shop.<wbr>tasks.<wbr>send_<wbr>it"


@pytest.mark.parametrize(
    ("path", "name", "module"),
    [("shop.tasks.send", "send", "shop.tasks"), ("send", "send", ""), (None, "unreadable call", "")],
)
def test_a_function_is_known_by_its_name(path, name, module):
    assert render("{{ path|function_name }}|{{ path|function_module }}", path=path) == f"{name}|{module}"


def test_the_page_one_is_on_is_marked_in_the_navigation():
    request = RequestFactory().get("/failed/")
    request.resolver_match = resolve("/failed/")
    shown = render("{% nav_link 'jobs:failed' 'Failed' %}{% nav_link 'jobs:queues' 'Queues' %}", request=request)
    assert shown.count("aria-current") == 1
    assert 'href="/failed/" data-go="" aria-current="page">Failed' in shown


def test_a_page_below_marks_its_section():
    request = RequestFactory().get("/queues/default/x/failed/")
    request.resolver_match = resolve("/queues/default/x/failed/")
    assert 'aria-current="true"' in render("{% nav_link 'jobs:queues' 'Queues' below='queue-state' %}", request=request)


def frame(file, *, library=False, raising=False):
    return Frame(file=file, line=1, function="f", is_library=library, is_raising=raising)


def test_library_frames_are_folded_between_own_ones():
    frames = [frame("a", library=True), frame("b", library=True), frame("c"), frame("d", library=True), frame("e")]
    folded = [(is_folded, [one.file for one in run]) for is_folded, run in fold_frames(frames)]
    assert folded == [(True, ["a", "b"]), (False, ["c"]), (True, ["d"]), (False, ["e"])]


def test_the_frame_that_raised_is_never_folded():
    frames = [frame("a", library=True), frame("b", library=True, raising=True)]
    assert [is_folded for is_folded, _ in fold_frames(frames)] == [True, False]


def test_the_exception_that_ended_the_job_comes_first():
    chain = (
        "Traceback (most recent call last):\nKeyError: 1\n\n"
        "The above exception was the direct cause of the following exception:\n\n"
        "Traceback (most recent call last):\nValueError: 2\n\n"
        "During handling of the above exception, another exception occurred:\n\n"
        "Traceback (most recent call last):\nOSError: 3\n"
    )
    shown = [(link, raised.kind) for link, raised in newest_first(parse_traceback(chain))]
    assert shown == [("", "OSError"), ("context", "ValueError"), ("cause", "KeyError")]
