"""Guessing passwords: after some wrong ones the name is locked for a while, whoever asks."""

from __future__ import annotations

from datetime import timedelta

import pytest
import time_machine
from axes.models import AccessAttempt
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from tests.conftest import PASSWORD

pytestmark = pytest.mark.django_db


def guess(name="vera", password="wrong", agent="a"):
    browser = Client(HTTP_HOST="localhost", HTTP_USER_AGENT=agent)
    return browser.post("/login/", {"username": name, "password": password})


@pytest.fixture
def locked(viewer, settings):
    return [guess(agent=str(number)).status_code for number in range(settings.AXES_FAILURE_LIMIT)]


def test_the_last_of_the_guesses_locks_the_name_from_every_browser(locked):
    assert locked == [200] * 7 + [429]
    assert guess(password=PASSWORD, agent="another").status_code == 429


def test_other_names_are_not_locked(locked, operator):
    assert guess("otto", PASSWORD).status_code == 302


def test_a_name_that_does_not_exist_is_locked_alike(viewer, settings):
    answers = [guess("nobody").status_code for _ in range(settings.AXES_FAILURE_LIMIT)]
    assert answers == [200] * 7 + [429]


def test_the_page_says_how_long_and_how_to_end_it_sooner(locked):
    answer = guess()
    assert "15" in answer.text
    assert "axes_reset_username" in answer.text
    assert "vera" not in answer.text


def test_the_lock_ends_by_the_command_that_the_page_names(locked):
    call_command("axes_reset_username", "vera", verbosity=0)
    assert guess(password=PASSWORD).status_code == 302


def test_the_lock_ends_by_itself_although_somebody_keeps_guessing(locked):
    began = timezone.now()
    with time_machine.travel(began + timedelta(minutes=10)):
        assert guess().status_code == 429
    with time_machine.travel(began + timedelta(minutes=15, seconds=1)):
        assert guess(password=PASSWORD).status_code == 302


def test_signing_in_forgets_the_wrong_guesses(viewer, settings):
    for _ in range(settings.AXES_FAILURE_LIMIT - 1):
        guess()
    assert guess(password=PASSWORD).status_code == 302
    assert guess().status_code == 200


def test_neither_passwords_nor_tokens_nor_places_are_kept(client, viewer):
    form = {
        "username": "vera",
        "password": "hunter2",
        "csrfmiddlewaretoken": "t0ken",
        "next": "/jobs/default/orders/1/",
    }
    client.post("/login/?next=/jobs/default/orders/1/", form)
    kept = AccessAttempt.objects.get()
    assert (kept.username, kept.failures_since_start) == ("vera", 1)
    for value in ("hunter2", "t0ken", "orders"):
        assert value not in kept.post_data + kept.get_data
