"""Signing in, signing out, and what ends a session."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.urls import reverse
from django.utils import timezone

from tests.access.routes import every_address
from tests.conftest import PASSWORD

pytestmark = pytest.mark.django_db


def sign_in_at(client, address, name="vera"):
    return client.post(address, {"username": name, "password": PASSWORD})


def is_signed_in(client):
    return client.get(reverse("jobs:access")).status_code == 404


def test_a_page_opens_to_the_sign_in_and_then_to_the_same_place(client, superuser):
    login = client.get("/access/?page=2").headers["Location"]
    assert login == "/login/?next=%2Faccess%2F%3Fpage%3D2"
    assert sign_in_at(client, login, "root").headers["Location"] == "/access/?page=2"


@pytest.mark.parametrize("address", ["/login/", "/login/?next=/"])
def test_without_a_place_the_start_follows_and_that_is_the_overview(client, viewer, address):
    assert sign_in_at(client, address).headers["Location"] == "/start/"
    assert client.get("/start/").headers["Location"] == "/"


@pytest.mark.parametrize(
    "place",
    [
        "http://evil.example/access/",
        "//evil.example/access/",
        "///evil.example",
        "/\\evil.example",
        "https:evil.example",
        "javascript:alert(1)",
        "http://[",
        "/nowhere/",
        "/login/",
        "/login/?next=/login/",
        "/logout/",
        "",
    ],
)
def test_no_other_site_and_no_loop_follows(client, viewer, place):
    answer = client.post("/login/", {"username": "vera", "password": PASSWORD, "next": place})
    assert (answer.status_code, answer.headers["Location"]) == (302, "/start/")


def test_an_act_never_follows_only_the_page_above_it(client, superuser):
    answer = client.post("/login/?next=/access/give/", {"username": "root", "password": PASSWORD})
    assert answer.headers["Location"] == "/access/"


def test_who_is_signed_in_already_is_sent_on(sign_in, viewer):
    assert sign_in(viewer).get("/login/?next=/access/").headers["Location"] == "/access/"


def test_a_wrong_password_says_nothing_about_the_name(client, viewer):
    texts = {client.post("/login/", {"username": name, "password": "x"}).text for name in ("vera", "nobody")}
    assert len({text.replace("vera", "").replace("nobody", "").partition("csrf")[0] for text in texts}) == 1


def test_signing_out_ends_the_session(sign_in, viewer):
    browser = sign_in(viewer)
    answer = browser.post("/logout/")
    assert answer.headers["Location"] == "/login/?signed_out=1"
    assert not is_signed_in(browser)
    assert not Session.objects.exists()


@pytest.mark.parametrize("method", ["get", "head"])
def test_signing_out_takes_a_post(sign_in, viewer, method):
    browser = sign_in(viewer)
    assert getattr(browser, method)("/logout/").status_code == 405
    assert is_signed_in(browser)


def test_signing_out_twice_is_no_error(client):
    assert client.post("/logout/").headers["Location"] == "/login/?signed_out=1"


def test_a_session_ends_when_its_account_is_switched_off_and_stays_ended(sign_in, viewer):
    browser = sign_in(viewer)
    type(viewer).objects.update(is_active=False)
    assert browser.get("/access/").status_code == 302
    type(viewer).objects.update(is_active=True)
    assert browser.get("/access/").status_code == 302


def test_a_session_ends_with_its_account(sign_in, viewer):
    browser = sign_in(viewer)
    viewer.delete()
    assert browser.get("/access/").status_code == 302


def test_a_session_ends_when_the_password_changes(sign_in, viewer):
    browser = sign_in(viewer)
    viewer.set_password("another one entirely")
    viewer.save()
    assert browser.get("/access/").status_code == 302


def test_a_session_ends_after_half_a_day_however_busy(sign_in, viewer):
    browser = sign_in(viewer)
    assert browser.get("/access/").status_code == 404
    left = Session.objects.get().expire_date - timezone.now()
    assert timedelta(hours=11, minutes=59) < left <= timedelta(hours=12)


def test_an_account_that_is_switched_off_cannot_sign_in(client, viewer):
    type(viewer).objects.update(is_active=False)
    assert sign_in_at(client, "/login/").status_code == 200


def test_every_page_but_the_sign_in_and_the_health_asks_for_it(client):
    open_to_all = {name for name, address in every_address().items() if client.get(address).status_code != 302}
    assert open_to_all == {"login", "logout", "healthz"}
