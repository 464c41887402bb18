"""Guessing passwords behind a proxy: an address locks a name for itself, and many addresses lock it for all."""

from __future__ import annotations

import pytest
from axes.models import AccessAttempt
from django.test import Client

from tests.conftest import PASSWORD
from tests.support.proxied import FORWARDED

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("proxied")]


def guess(address, name="vera", password="wrong", **more):
    browser = Client(**{**FORWARDED, "HTTP_X_FORWARDED_FOR": address, **more})
    return browser.post("/login/", {"username": name, "password": password}).status_code


def guess_wrong(times, address):
    return [guess(address) for _ in range(times)]


def test_who_guesses_is_locked_out_and_the_person_elsewhere_is_not(viewer):
    assert guess_wrong(8, "198.51.100.7") == [200] * 7 + [429]
    assert guess("198.51.100.7", password=PASSWORD) == 429
    assert guess("192.0.2.1", password=PASSWORD) == 302


def test_other_names_at_the_same_address_are_not_locked(viewer, operator):
    guess_wrong(8, "198.51.100.7")
    assert guess("198.51.100.7", "otto", PASSWORD) == 302


@pytest.mark.parametrize("forged", ["10.0.0.{}, 198.51.100.7", "10.0.0.{}, 10.9.9.{}, 198.51.100.7"])
def test_an_address_that_the_client_adds_in_front_changes_nothing(viewer, forged):
    answers = [guess(forged.replace("{}", str(number))) for number in range(8)]
    assert answers == [200] * 7 + [429]


def test_nor_do_other_headers_that_name_an_address(viewer):
    answers = [
        guess("198.51.100.7", HTTP_X_REAL_IP=f"10.0.0.{number}", HTTP_FORWARDED=f"for=10.0.0.{number}")
        for number in range(8)
    ]
    assert answers == [200] * 7 + [429]


def test_the_addresses_of_one_network_of_ipv6_are_one(viewer):
    assert [guess(f"2001:db8:0:1::{number}") for number in range(1, 9)] == [200] * 7 + [429]
    assert guess("2001:db8:0:2::1", password=PASSWORD) == 302


def test_from_many_addresses_the_name_is_locked_for_everybody(viewer, settings):
    rest = settings.OPSBOARD_FAILURE_LIMIT_ANYWHERE - 1
    for number in range(rest):
        AccessAttempt.objects.create(username="vera", ip_address=f"203.0.113.{number}", failures_since_start=1)
    assert guess("198.51.100.7") == 429
    assert guess("192.0.2.1", password=PASSWORD) == 429


def test_one_less_leaves_it_open(viewer, settings):
    for number in range(settings.OPSBOARD_FAILURE_LIMIT_ANYWHERE - 2):
        AccessAttempt.objects.create(username="vera", ip_address=f"203.0.113.{number}", failures_since_start=1)
    assert guess("198.51.100.7") == 200
    assert guess("192.0.2.1", password=PASSWORD) == 302


def test_a_name_that_does_not_exist_is_locked_alike(viewer):
    assert [guess("198.51.100.7", "nobody") for _ in range(8)] == [200] * 7 + [429]
