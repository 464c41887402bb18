"""A review, in every state that it can be seen in, by everybody: readable, reachable, within the screen."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from jobs.domain.verdicts import Verdict
from jobs.models import JobType, Review
from tests.browser.hands import answer_button, told
from tests.browser.test_accessibility import COLOURS, grave
from tests.browser.test_phone import PHONE, scrolls_sideways, too_small
from tests.support.observer import watch
from tests.support.reviews import plain_review, say


@pytest.fixture
def review(shop):
    """Of the job whose process was killed, overdue; beside it there are one that is put off and one answered."""
    watch()
    now = timezone.now()
    JobType.objects.create(
        path="fx.horse_dies_after_effect",
        runbook_text="Ask the bank.\n" + "9" * 90,
        runbook_url="https://wiki.example/",
    )
    plain_review(1, now, snoozed_until=now + timedelta(hours=3))
    answered = plain_review(2, now)
    say(answered, None, Verdict.HAPPENED, evidence={"result_id": "1-0", "ended_at": now.isoformat()})
    found = Review.objects.get(operation__job_type="fx.horse_dies_after_effect")
    Review.objects.filter(pk=found.pk).update(opened_at=now - timedelta(hours=30), due_at=now - timedelta(hours=6))
    return found


def hindrances(page):
    """What hinders anybody on this page as it is now, on a screen of this width; colours are the same on any."""
    page.emulate_media(color_scheme="light")
    found = {"light": grave(page)}
    if page.viewport_size["width"] == 320:
        found |= {"sideways": scrolls_sideways(page), "too small": too_small(page)}
    else:
        page.emulate_media(color_scheme="dark")
        found["dark"] = grave(page, COLOURS)
    return {kind: what for kind, what in found.items() if what}


@pytest.mark.parametrize("screen", [{}, PHONE], ids=["desk", "phone"])
def test_no_state_of_a_review_hinders_anybody(open_tab, viewer, operator, lead, review, screen):
    found = {}
    address = f"/review/{review.pk}/"
    page = open_tab(lead, "/review/", **screen)
    found["list"] = hindrances(page)
    page.goto("/review/?show=closed")
    found["list of answers"] = hindrances(page)
    page.goto(address)
    found["free"] = hindrances(page)

    page.get_by_role("button", name=re.compile("^Take the review")).click()
    expect(told(page, "You have taken this review")).to_be_visible()
    page.get_by_role("radio", name=re.compile("^It happened")).check()
    answer_button(page).click()
    expect(page.get_by_role("alert").filter(has_text="Nothing was recorded yet")).to_be_focused()
    found["incomplete"] = hindrances(page)
    for name, person in {"seen by another": operator, "seen by a viewer": viewer}.items():
        found[name] = hindrances(open_tab(person, address, **screen))

    review.refresh_from_db()
    say(review, lead, Verdict.ABANDON, evidence={"reason": "x" * 200, "told": "Mia"}, reason="x" * 200)
    page.goto(address)
    expect(page.get_by_role("region", name="The answer")).to_be_visible()
    found["closed"] = hindrances(page)
    assert {state: what for state, what in found.items() if what} == {}
