"""A worker and its process are killed, nobody knows what the job did, and an operator finds out and says so."""

from __future__ import annotations

import re
import string
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from jobs.domain.verdicts import Verdict
from jobs.models import AuditEntry, JobType, Resolution, Review
from tests.browser.hands import answer_button, look_up, retry_button, review_button, told, wanted
from tests.kills.hands import begin, clean_up, forget_worker, let_lease_run_out
from tests.support.observer import watch
from tests.support.pages import at
from tests.support.reviews import plain_review, take
from tests.support.runs import ago, rq_time

NAME_OF_FOCUS = """() => {
  const { activeElement: here, body } = document;
  return here === body ? "" : (here.labels?.[0] ?? here).innerText;
}"""
RUNBOOK = "Open the bank's page “Payments” and search for the number of the order."


@pytest.fixture
def payments(site):
    """What charges a card is declared unsafe, and how to find out is written down."""
    for path in ("fx.die_after_effect", "fx.wait_for_go"):
        JobType.objects.create(path=path, idempotency="unsafe", id_parameters=["order_id"], runbook_text=RUNBOOK)


@pytest.fixture
def killed_after(payments, real_rq, redis_client):
    """The card was charged; then the worker and the process of the job were killed, and their lease ran out."""
    real_rq.enqueue("fx.die_after_effect", "4712", job_id="charge-4712")
    real_rq.start("orders", ready=False).wait()
    assert redis_client.get("effect:4712") == b"1"
    let_lease_run_out(redis_client, "charge-4712")
    watch()
    return "charge-4712"


@pytest.fixture
def killed_before(payments, real_rq, redis_client):
    """The host went down before the card was charged, two minutes ago; RQ has given the run up."""
    worker = begin(real_rq, redis_client, "fx.wait_for_go", "4713")
    worker.kill_session()
    forget_worker(redis_client, worker)
    let_lease_run_out(redis_client, "4713")
    clean_up(real_rq)
    redis_client.hset("rq:job:4713", "started_at", rq_time(ago(120)))
    watch()
    return "4713"


def let_its_time_run_out(redis_client, job_id):
    """As if the job's limit, and the grace that RQ gives it, were over."""
    redis_client.hset(f"rq:job:{job_id}", "timeout", 5)


def choose(page, words):
    page.get_by_role("radio", name=re.compile(f"^{words}")).check()


def in_order(page, *words):
    """The timeline of the operation tells these, one after the other."""
    text = page.get_by_role("region", name="What happened").inner_text()
    places = [text.find(word) for word in words]
    assert -1 not in places and places == sorted(places), (list(zip(words, places, strict=True)), text)


# The way of one job ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("script", [True, False], ids=["with script", "without"])
def test_what_happened_is_found_out_said_and_never_run_again(
    open_tab, operator, killed_after, real_rq, redis_client, script
):
    page = open_tab(operator, "/", java_script_enabled=script)
    page.get_by_role("row", name="orders").get_by_role("link", name="1 in review").click()
    page.get_by_role("link", name=killed_after).click()
    read_the_evidence(page)
    page.get_by_role("button", name=re.compile("^Take the review")).click()
    expect(told(page, "You have taken this review")).to_be_visible()
    say_too_little(page)
    assert not Resolution.objects.exists()
    say_that_it_happened(page)
    said = Resolution.objects.get()
    assert (said.verdict, said.actor_name, said.evidence["external_id"]) == ("happened", "otto", "tx-99")

    # RQ gives it up meanwhile and lists it as failed; a worker is there again.
    clean_up(real_rq)
    real_rq.burst()
    page.goto(at("job", "orders", killed_after))
    expect(page.get_by_text("it happened", exact=True)).to_be_visible()
    expect(retry_button(page)).to_have_count(0)
    expect(review_button(page)).to_have_count(0)
    assert redis_client.get("effect:4712") == b"1"
    find_it_among_the_answered(page, killed_after)


def read_the_evidence(page):
    expect(page.get_by_role("region", name="What is known")).to_contain_text("by the observer")
    expect(page.get_by_role("region", name="How to find out")).to_contain_text(RUNBOOK)
    expect(page.get_by_role("region", name="What to look for")).to_contain_text("4712")
    expect(page.get_by_role("radio")).to_have_count(0)


def say_too_little(page):
    """First nothing at all, then a part of what is wanted, which stays on the page."""
    answer_button(page).click()
    expect(page.get_by_role("alert").filter(has_text="choose what you found out")).to_be_focused()
    choose(page, "It happened")
    wanted(page, "Where you looked").fill("bank.example, Payments")
    answer_button(page).click()
    expect(page.get_by_role("alert").filter(has_text="Nothing was recorded yet")).to_be_focused()
    expect(page.get_by_text("Give its id there, or a link, or a quotation.")).to_be_visible()
    expect(wanted(page, "Where you looked")).to_have_value("bank.example, Payments")


def say_that_it_happened(page):
    wanted(page, "When it took effect").fill(f"{timezone.now():%Y-%m-%dT%H:%M}")
    wanted(page, "Its id there").fill("tx-99")
    wanted(page, "I compared amount").check()
    answer_button(page).click()
    expect(told(page, "On record: it took effect. The job is not run again.")).to_be_visible()
    expect(page.get_by_role("region", name="The answer")).to_contain_text("tx-99")
    expect(page.get_by_role("radio")).to_have_count(0)


def find_it_among_the_answered(page, job_id):
    look_up(page, f"rq:default:{job_id}")
    in_order(page, "review opened", "take the review", "it happened", "said in the review")
    page.goto("/review/")
    expect(page.get_by_text("No review is open")).to_be_visible()
    page.get_by_role("link", name="Answered").click()
    expect(page.get_by_role("row", name=job_id)).to_contain_text("otto")


def test_what_did_not_happen_is_said_once_the_old_run_is_proved_dead_and_then_runs(
    open_tab, operator, killed_before, real_rq, redis_client
):
    page = open_tab(operator, at("job", "orders", killed_before))
    expect(retry_button(page)).to_have_count(0)
    page.get_by_role("link", name=re.compile("^Open the review")).click()
    page.get_by_role("button", name=re.compile("^Take the review")).click()
    denial = page.get_by_role("radio", name=re.compile("^It did not happen"))
    expect(denial).to_be_disabled()
    expect(page.get_by_text("The old run may still act, at the latest until").first).to_be_visible()

    let_its_time_run_out(redis_client, killed_before)
    page.reload()
    denial.check()
    wanted(page, "Where you looked").fill("bank.example, Payments")
    wanted(page, "What you searched for").fill("order 4713")
    wanted(page, "Which time you searched").fill("14:00 to 16:00 UTC")
    wanted(page, "The search gave no result at all").check()
    answer_button(page).click()
    expect(told(page, "is back on the queue orders")).to_be_visible()
    assert redis_client.lrange("rq:queue:orders", 0, -1) == [killed_before.encode()]

    redis_client.set(f"go:{killed_before}", 1)
    real_rq.burst()
    assert redis_client.get(f"effect:{killed_before}") == b"1"
    look_up(page, f"rq:default:{killed_before}")
    in_order(page, "review opened", "take the review", "it did not happen", "finished")
    assert AuditEntry.objects.get(verb="retry_job").status == "done"


# Two people -----------------------------------------------------------------------------------------------------------


def test_two_people_do_not_decide_one_review_and_what_the_late_one_typed_can_be_copied(open_tab, operator, lead, site):
    review = plain_review(7, timezone.now())
    take(review, operator)
    hers = open_tab(lead, f"/review/{review.pk}/")
    expect(hers.get_by_text("by otto, runs out")).to_be_visible()
    expect(hers.get_by_text("One person at a time answers it.")).to_be_visible()
    expect(answer_button(hers)).to_have_count(0)

    his = open_tab(operator, f"/review/{review.pk}/")
    choose(his, "Nobody can find out")
    wanted(his, "Why it is given up").fill("The bank has closed.\nFor good.")
    wanted(his, "Who was told").fill("Mia")

    Review.objects.update(claimed_until=timezone.now() - timedelta(seconds=1))
    hers.reload()
    hers.get_by_role("button", name=re.compile("^Take the review")).click()
    expect(told(hers, "You have taken this review")).to_be_visible()

    answer_button(his).click()
    expect(his.get_by_role("heading", level=1)).to_have_text("Not done")
    expect(his.get_by_role("alert").filter(has_text="lena has taken this review")).to_be_visible()
    expect(his.get_by_text("For good.")).to_be_visible()
    expect(his.get_by_text("Mia")).to_be_visible()
    his.get_by_role("link", name="Back to the review").click()
    expect(his.get_by_text("by lena, runs out")).to_be_visible()
    assert not Resolution.objects.exists()


def test_a_viewer_reads_it_all_and_is_told_why_she_cannot_answer(open_tab, viewer, operator):
    review = plain_review(7, timezone.now())
    take(review, operator)
    page = open_tab(viewer, f"/review/{review.pk}/")
    expect(page.get_by_role("region", name="What is known")).to_be_visible()
    expect(page.get_by_text("you may not resolve reviews of this queue")).to_be_visible()
    posts = page.locator("form[method=post]").evaluate_all("forms => forms.map(form => form.getAttribute('action'))")
    assert set(posts) == {"/logout/"}


# Hands on the keyboard ------------------------------------------------------------------------------------------------


def press(page, keys):
    for key in keys.split():
        page.keyboard.press(key)


def arrive(page, address):
    """There, and its scripts listen."""
    expect(page).to_have_url(address)
    page.wait_for_load_state()


def tab_to(page, label, most=60):
    """Tab until this has the focus; returns how many steps it took."""
    for steps in range(most):
        if label in page.evaluate(NAME_OF_FOCUS):
            return steps
        page.keyboard.press("Tab")
    raise AssertionError(f"no way to {label} by Tab")


def test_by_key_a_review_is_found_and_left(open_tab, operator, site):
    older, newer = (plain_review(number, timezone.now() - timedelta(hours=9 - number)) for number in (1, 2))
    page = open_tab(operator, "/")
    press(page, "g u")
    arrive(page, f"{site.address}/review/")
    press(page, "j j Enter")
    arrive(page, f"{site.address}/review/{newer.pk}/")
    press(page, "Escape")
    arrive(page, f"{site.address}/review/")
    press(page, "j Enter")
    arrive(page, f"{site.address}/review/{older.pk}/")


def test_by_key_it_is_taken_and_put_off_and_no_single_key_decides(open_tab, operator, site):
    page = open_tab(operator, f"/review/{plain_review(1, timezone.now()).pk}/")
    tab_to(page, "Take the review")
    press(page, "Enter")
    expect(told(page, "You have taken this review")).to_be_visible()
    assert page.evaluate("document.activeElement === document.body")
    posts = []
    page.on("request", lambda request: posts.append(request.url) if request.method != "GET" else None)
    for key in string.ascii_lowercase.replace("g", "").replace("r", "") + string.digits + " !":
        page.keyboard.press(key)
    assert posts == []

    tab_to(page, "It happened")
    assert page.locator("input[type=radio]:checked").count() == 0
    press(page, "ArrowUp")
    expect(page.get_by_role("radio", name=re.compile("^Not yet"))).to_be_checked()
    press(page, "Tab")
    expect(wanted(page, "When somebody looks again")).to_be_focused()
    wanted(page, "When somebody looks again").fill(f"{timezone.now() + timedelta(hours=3):%Y-%m-%dT%H:%M}")
    tab_to(page, "Who looks again")
    page.keyboard.type("Otto, jk gu x")
    tab_to(page, "Put it on record")
    press(page, "Enter")
    expect(told(page, "The review is put off.")).to_be_visible()
    assert [one.verdict for one in Resolution.objects.all()] == [Verdict.SNOOZE]
