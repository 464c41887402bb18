"""One review: what is known, how to find out, and what a person says of it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from guardian.shortcuts import remove_perm

from jobs.broker import connections
from jobs.domain.verdicts import EVIDENCE, OF_RUNS, Verdict
from jobs.models import AuditEntry, FailedJob, JobType, Resolution, Review
from tests.support.keyspace import snapshot
from tests.support.observer import watch
from tests.support.pages import Page, at, press
from tests.support.reviews import GIVEN, fields, review_of, say, take
from tests.support.traffic import count_traffic

pytestmark = pytest.mark.django_db

SOON = timedelta(hours=2)


@pytest.fixture
def review(shop, orders):
    """Of 4713, whose process was killed."""
    return review_of("4713")


@pytest.fixture
def held(review, operator):
    """The same, and otto has taken it."""
    take(review, operator)
    return review


def here(review, act=""):
    return f"/review/{review.pk}/{act}"


def shown(browser, review):
    answer = browser.get(here(review))
    assert answer.status_code == 200
    return Page(answer)


def radios(page):
    """Each verdict on offer, and whether it can be chosen."""
    found = [one.attributes for one in page.elements if one.attributes.get("type") == "radio"]
    return {one["value"]: "disabled" not in one for one in found}


# What is known --------------------------------------------------------------------------------------------------------


def test_it_says_what_is_known_with_times_and_where_it_comes_from(review, browser_of):
    text = shown(browser_of("viewer"), review).text
    for words in (
        "result unknown Did its last run take effect? Nobody knows whether it took effect: its process was killed",
        "In Redis now result unknown",
        "Picked up",
        "Last sign of life",
        "Held for alive until no lease is left",
        "May still act The old run is proved dead: it can no longer act.",
        "RQ filed its end",
        "by the observer result_unknown",
        "To be answered by in 23 h 59 min",
        "Latest error",
        "Work-horse terminated unexpectedly",
        "Operation rq:default:4713",
    ):
        assert words in text


def test_a_review_that_somebody_asked_for_says_who(shop, operator, browser_of):
    text = shown(browser_of("viewer"), review_of("4711", by=operator)).text
    assert "by otto, who asked for a retry may_have_acted" in text


def test_the_runbook_the_ids_and_the_links_say_how_to_find_out(review, browser_of, settings):
    settings.OPSBOARD_LINKS = (
        ("Logs", "https://logs.example/?q={operation_id}&t={job_type}"),
        ("Bad", "javascript:alert({job_id})"),
    )
    book = {"runbook_text": "Ask the bank.", "runbook_url": "https://wiki.example/die", "id_parameters": ["#1"]}
    JobType.objects.create(path="fx.die", **book)
    page = shown(browser_of("viewer"), review)
    for words in ("Ask the bank.", "Runbook at wiki.example", "Logs logs.example", "#1 9", "undeclared"):
        assert words in page.text
    assert "https://logs.example/?q=rq%3Adefault%3A4713&t=fx.die" in page.links
    assert "Bad" not in page.text


def test_who_may_declare_is_led_to_the_type_and_others_are_not(review, browser_of):
    assert "/job-types/fx.die/" in shown(browser_of("lead"), review).links
    assert "/job-types/fx.die/" not in shown(browser_of("operator"), review).links


def test_of_a_job_that_left_redis_what_was_kept_is_shown(review, shop, browser_of):
    watch()
    FailedJob.objects.filter(job_id="4713").update(ids=[["#1", "9", "int", True]])
    shop.delete("rq:job:4713", "rq:results:4713")
    page = shown(browser_of("operator"), review)
    assert "gone Its data is gone from Redis." in page.text
    assert "Work-horse terminated unexpectedly" in page.text
    assert "#1 9" in page.text
    assert at("job", "orders", "4713") not in page.links


def test_another_job_of_the_same_id_bears_on_nothing(review, shop, browser_of):
    shop.hset("rq:job:4713", "created_at", "2026-01-01T00:00:00.000000Z")
    text = shown(browser_of("operator"), review).text
    assert "gone Another job has its id by now." in text
    assert "Work-horse" not in text


def test_what_the_index_has_of_another_job_of_that_id_is_not_taken_for_this_one(review, shop, browser_of):
    watch()
    shop.delete("rq:job:4713", "rq:results:4713")
    FailedJob.objects.filter(job_id="4713").update(created_at=timezone.now(), ids=[["#1", "80008", "number", True]])
    text = shown(browser_of("operator"), review).text
    assert "80008" not in text and "Work-horse" not in text


def test_an_error_of_another_run_says_so(review, shop, browser_of):
    browser = browser_of("operator")
    watch()
    assert "of another run" not in shown(browser, review).text
    shop.delete("rq:job:4713", "rq:results:4713")
    assert "of another run" not in shown(browser, review).text
    FailedJob.objects.filter(job_id="4713").update(started_at=timezone.now() + timedelta(minutes=1))
    text = shown(browser, review).text
    assert "Latest error of another run than the one that is asked about" in text and "Work-horse" in text


def test_an_error_that_redis_has_of_a_later_run_says_so(review, shop, browser_of):
    shop.hset("rq:job:4713", "started_at", "2026-03-14T15:09:26.000000Z")
    assert "of another run than the one that is asked about" in shown(browser_of("operator"), review).text


def test_what_is_an_id_no_more_is_masked_in_the_error_that_was_kept(review, shop, browser_of):
    watch()
    shop.delete("rq:job:4713", "rq:results:4713")
    FailedJob.objects.filter(job_id="4713").update(ids=[["#1", "Work-horse", "text", True]])
    assert "Work-horse terminated" in shown(browser_of("operator"), review).text
    JobType.objects.create(path="fx.die", id_parameters=["nothing"])
    text = shown(browser_of("operator"), review).text
    assert "terminated unexpectedly" in text and "Work-horse" not in text


def test_a_silent_store_takes_nothing_from_what_was_known(held, browser_of, settings):
    settings.OPSBOARD_CONNECTIONS = {"default": {"url": "redis://127.0.0.1:1/0"}}
    connections.reset()
    page = shown(browser_of("operator"), held)
    assert "What stands here is what was known before." in page.text
    assert "May still act No: the old run was proved dead." in page.text
    assert radios(page) == {"happened": True, "did_not_happen": False, "abandon": True, "snooze": True}
    assert "Whether the old run has ended is not known now." in page.text


def test_a_run_that_may_still_act_can_not_be_denied_and_it_says_until_when(shop, operator, browser_of):
    review = review_of("slow-1")
    take(review, operator)
    page = shown(browser_of("operator"), review)
    assert radios(page)["did_not_happen"] is False
    assert "Can’t be said now." in page.text
    assert "The old run may still act, at the latest until" in page.text


def test_a_job_that_was_run_again_says_that_this_is_another_run(review, shop, browser_of):
    earlier = review.evidence | {"started_at": "2026-03-14T15:09:26+00:00"}
    Review.objects.filter(pk=review.pk).update(run="an earlier one", evidence=earlier)
    assert (
        "It was run again since: this is not the run that is asked about." in shown(browser_of("viewer"), review).text
    )


# Who may say it -------------------------------------------------------------------------------------------------------


def test_who_may_not_answer_reads_who_has_it_and_why_he_may_not(held, browser_of):
    page = shown(browser_of("viewer"), held)
    assert "taken by otto, runs out in 29 min" in page.text
    assert "you may not resolve reviews of this queue. resolve_review" in page.text
    assert not [form for form in page.forms if form.action.startswith("/review/")]


def test_somebody_else_reads_who_has_it_and_until_when(held, browser_of):
    page = shown(browser_of("lead"), held)
    assert "taken by otto, runs out in 29 min" in page.text
    assert "One person at a time answers it." in page.text
    assert not [form for form in page.forms if form.action.startswith("/review/")]


def test_nobody_answers_what_nobody_has_taken(review, browser_of):
    page = shown(browser_of("operator"), review)
    assert [form.action for form in page.forms if form.action.startswith("/review/")] == [here(review, "take/")]
    assert not radios(page)


def test_a_read_only_opsboard_offers_nothing(held, browser_of, settings):
    settings.OPSBOARD_READ_ONLY = True
    page = shown(browser_of("operator"), held)
    assert "This opsboard is read-only" in page.text
    assert not [form for form in page.forms if form.action.startswith("/review/")]


def test_no_verdict_is_chosen_or_focused_beforehand_and_every_piece_of_evidence_has_its_field(held, browser_of):
    page = shown(browser_of("operator"), held)
    assert radios(page) == dict.fromkeys(map(str, OF_RUNS), True)
    chosen = [one.attributes.get("name") for one in page.elements if {"checked", "autofocus"} & set(one.attributes)]
    assert chosen == [None]
    names = {one.attributes.get("name") for one in page.elements}
    assert {f"{verdict}-{piece.name}" for verdict in OF_RUNS for piece in EVIDENCE[verdict]} <= names
    assert "(UTC)" in page.text


def test_without_the_right_to_retry_nobody_says_that_it_did_not_happen(held, operator, orders, browser_of):
    remove_perm("opsboard_jobs.retry_job", operator, orders)
    page = shown(browser_of("operator"), held)
    assert radios(page)["did_not_happen"] is False
    assert "you may not retry jobs of this queue" in page.text


# Taking it and giving it back -----------------------------------------------------------------------------------------


def test_it_is_taken_and_given_back_from_its_page(review, browser_of):
    browser = browser_of("operator")
    answer = press(browser, here(review), here(review, "take/"))
    assert (answer.status_code, answer.headers["Location"]) == (302, here(review))
    assert "You have taken this review" in shown(browser, review).text
    assert press(browser, here(review), here(review, "give-back/")).status_code == 302
    review.refresh_from_db()
    assert review.claimed_by is None
    assert list(AuditEntry.objects.order_by("created_at").values_list("verb", "status")) == [
        ("claim_review", "done"),
        ("release_review", "done"),
    ]


@pytest.mark.parametrize(("act", "words"), [("take/", "otto has taken this review"), ("give-back/", "do not hold")])
def test_who_comes_too_late_is_told_and_led_back(held, browser_of, act, words):
    answer = browser_of("lead").post(here(held, act))
    assert answer.status_code == 409
    page = Page(answer)
    assert words in page.text and here(held) in page.links


# Saying what happened -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verdict", [Verdict.HAPPENED, Verdict.ABANDON])
def test_an_answer_closes_the_review_and_its_page_has_the_grounds(held, shop, browser_of, verdict):
    browser, before = browser_of("operator"), snapshot(shop)
    answer = browser.post(here(held, "resolve/"), fields(held, verdict))
    assert (answer.status_code, answer.headers["Location"]) == (302, here(held))
    page = shown(browser, held)
    assert "On record:" in page.text and "This review is closed." in page.text and "by otto" in page.text
    for text in GIVEN[verdict].values():
        assert text in page.text or text in ("yes", "2026-03-14T15:00")
    assert not radios(page)
    assert snapshot(shop) == before
    held.refresh_from_db()
    assert held.verdict == verdict


def test_a_time_is_kept_with_its_zone(held, browser_of, settings):
    settings.TIME_ZONE = "Europe/Berlin"
    browser = browser_of("operator")
    assert "(Europe/Berlin)" in shown(browser, held).text
    sent = fields(held, Verdict.HAPPENED, observed_at="2026-03-14T16:09")
    assert browser.post(here(held, "resolve/"), sent).status_code == 302
    assert Resolution.objects.get().evidence["observed_at"] == "2026-03-14T16:09:00+01:00"
    assert "2026-03-14 16:09:00 CET" in shown(browser, held).text


@pytest.mark.parametrize("odd", ["0001-01-01T00:00:00+05:00", "9999-12-31T23:59:59-05:00", "yesterday"])
def test_a_time_that_can_not_be_told_in_every_zone_is_shown_as_the_text_that_it_is(held, operator, browser_of, odd):
    say(held, operator, Verdict.HAPPENED, evidence={"where": "bank.example", "observed_at": odd})
    assert odd in shown(browser_of("viewer"), held).text


def test_put_off_it_stays_open_and_says_until_when(held, browser_of):
    browser, until = browser_of("operator"), timezone.now() + SOON
    sent = fields(held, Verdict.SNOOZE, until=until.strftime("%Y-%m-%dT%H:%M"))
    assert browser.post(here(held, "resolve/"), sent).status_code == 302
    page = shown(browser, held)
    assert "It is put off, to be looked at again in 1 h" in page.text
    assert "put off by otto" in page.text and "Who looks again Otto" in page.text
    assert [form.action for form in page.forms if "/review/" in form.action] == [here(held, "take/")]


@pytest.mark.parametrize("verdict", OF_RUNS)
def test_what_is_missing_is_asked_for_under_its_field_and_what_was_typed_stays(held, shop, browser_of, verdict):
    browser, before = browser_of("operator"), snapshot(shop)
    for piece in EVIDENCE[verdict]:
        if not piece.missing:
            continue
        whole = fields(held, verdict, **({"until": "2999-01-01T00:00"} if verdict is Verdict.SNOOZE else {}))
        rest = {name: text for name, text in whole.items() if name != f"{verdict}-{piece.name}"}
        answer = browser.post(here(held, "resolve/"), rest)
        assert answer.status_code == 400
        page = Page(answer)
        wrong = {one.attributes["name"] for one in page.elements if one.attributes.get("aria-invalid")}
        assert f"{verdict}-{piece.name}" in wrong
        assert piece.missing in page.text and "Nothing was recorded yet" in page.text
        chosen = [one.attributes.get("value") for one in page.elements if "checked" in one.attributes]
        assert verdict.value in chosen
        for name, text in rest.items():
            assert text in answer.text, name
    assert not Resolution.objects.exists()
    assert snapshot(shop) == before


@pytest.mark.parametrize(
    ("verdict", "piece", "text", "words"),
    [
        (Verdict.HAPPENED, "observed_at", "2999-01-01T00:00", "This time is still to come."),
        (Verdict.HAPPENED, "observed_at", "0001-01-01T00:00:00+05:00", "Give a time since 1970."),
        (Verdict.HAPPENED, "observed_at", "yesterday", "Give a date and a time of day"),
        (Verdict.HAPPENED, "where", "x" * 2001, "At most 2000 characters are kept."),
        (Verdict.HAPPENED, "link", "x" * 2001, "At most 2000 characters are kept."),
        (Verdict.SNOOZE, "until", "2026-01-01T00:00", "Give a time that is still to come, within 30 days."),
        (Verdict.SNOOZE, "until", "2999-01-01T00:00", "Give a time that is still to come, within 30 days."),
        (Verdict.SNOOZE, "until", "9999-12-31T23:59", "Give a time that is still to come, within 30 days."),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_recorded(held, browser_of, verdict, piece, text, words):
    answer = browser_of("operator").post(here(held, "resolve/"), fields(held, verdict, **{piece: text}))
    assert answer.status_code == 400
    assert words in Page(answer).text
    assert not Resolution.objects.exists()


@pytest.mark.parametrize("verdict", ["", "retry", "HAPPENED"])
def test_without_a_verdict_nothing_is_recorded(held, browser_of, verdict):
    answer = browser_of("operator").post(here(held, "resolve/"), {"verdict": verdict, "version": "2"})
    assert answer.status_code == 400
    assert "choose what you found out" in Page(answer).text


@pytest.mark.parametrize("version", ["1", "3", "", "x", "9" * 30, "-1"])
def test_a_form_from_before_is_refused_and_hands_back_what_was_typed(held, browser_of, version):
    answer = browser_of("operator").post(here(held, "resolve/"), {**fields(held, Verdict.ABANDON), "version": version})
    assert answer.status_code == 409
    page = Page(answer)
    assert "the review changed since you looked" in page.text
    assert "the bank is closed" in page.text and "Mia" in page.text and here(held) in page.links
    assert not Resolution.objects.exists()


def test_who_does_not_hold_it_any_more_says_nothing(held, lead, browser_of):
    sent = fields(held, Verdict.ABANDON)
    Review.objects.update(claimed_until=timezone.now() - SOON)
    answer = browser_of("operator").post(here(held, "resolve/"), sent)
    assert answer.status_code == 409 and "take the review first" in Page(answer).text


def test_what_was_said_before_stands_in_order_with_what_came_of_it(held, operator, lead, browser_of):
    until = timezone.now() + SOON
    say(held, operator, Verdict.SNOOZE, snoozed_until=until, evidence={"owner": "Lena"})
    take(held, lead)
    say(held, lead, Verdict.ABANDON, reason="closed", evidence={"reason": "closed", "told": "Mia"})
    text = shown(browser_of("viewer"), held).text
    history = text.partition("What was said in order")[2]
    assert 0 <= history.index("put off by otto") < history.index("given up by lena")


def test_late_evidence_against_a_denial_after_which_nothing_ran_is_no_alarm(held, operator, browser_of):
    say(held, operator, Verdict.DID_NOT_HAPPEN)
    say(held, None, Verdict.HAPPENED, evidence={"result_id": "1-0"})
    text = shown(browser_of("viewer"), held).text
    assert "run again" not in text and "Contradicting evidence" not in text and "Contradicts the answer" in text


def test_late_evidence_that_contradicts_is_an_alarm_and_overwrites_nothing(held, operator, browser_of):
    entry = AuditEntry.objects.create(
        actor=operator, actor_name="otto", verb="retry_job", status="done", created_at=timezone.now()
    )
    said = {"review": held, "version_seen": 1, "created_at": timezone.now()}
    Resolution.objects.create(verdict="did_not_happen", actor_name="otto", audit_entry=entry, **said)
    Review.objects.update(closed_at=timezone.now(), verdict="did_not_happen", claimed_until=None)
    late = {"result_id": "1-0", "contradicts": "did_not_happen"}
    Resolution.objects.create(verdict="happened", source="late_evidence", evidence=late, **said)
    text = shown(browser_of("viewer"), held).text
    assert "Contradicting evidence" in text
    assert "it happened late evidence" in text and "Contradicts the answer" in text
    assert text.partition("The answer")[2].strip().startswith("it did not happen by otto")


def test_while_an_act_is_under_way_nothing_more_can_be_said(held, operator, browser_of):
    entry = AuditEntry.objects.create(actor=operator, actor_name="otto", verb="retry_job", created_at=timezone.now())
    Resolution.objects.create(
        review=held,
        verdict="did_not_happen",
        actor=operator,
        actor_name="otto",
        version_seen=2,
        audit_entry=entry,
        created_at=timezone.now(),
    )
    page = shown(browser_of("operator"), held)
    assert not radios(page)
    assert "it is not known yet whether it did" in page.text
    assert "the run: not known yet" in page.text


# Costs ----------------------------------------------------------------------------------------------------------------


def test_the_page_asks_redis_twice_and_sql_as_often_for_fifty_entries_as_for_one(held, shop, operator, browser_of):
    browser, taken = browser_of("operator"), []
    browser.get(here(held))
    for number in (1, 50):
        for _ in range(number):
            Resolution.objects.create(
                review=held,
                verdict="snooze",
                actor=operator,
                actor_name="otto",
                version_seen=1,
                created_at=timezone.now(),
            )
        with CaptureQueriesContext(connection) as queries, count_traffic(shop) as traffic:
            shown(browser, held)
        assert traffic.round_trips <= 2
        taken.append(len(queries))
    assert taken[0] == taken[1]


@pytest.mark.parametrize("pk", [0, 1, 2**63, 10**30])
def test_a_review_that_there_is_not_is_not_found(shop, operator, browser_of, pk):
    browser = browser_of("operator")
    assert browser.get(f"/review/{pk}/").status_code == 404
    assert browser.post(f"/review/{pk}/resolve/", {"verdict": "abandon"}).status_code == 404
