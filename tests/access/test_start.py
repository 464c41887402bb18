"""Where one begins after signing in: on the overview, or with the exports who sees no queue and may ask for those."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from tests.conftest import PASSWORD
from tests.support.pages import Page

pytestmark = pytest.mark.django_db


@pytest.fixture
def may_export():
    """Gives somebody the right."""
    right = Permission.objects.get(content_type__app_label="exports", codename="request_export")
    return lambda person: person.user_permissions.add(right)


def begun(name: str, place: str = "/login/") -> list[str]:
    """The addresses that a browser is led to after signing in there."""
    browser = Client(HTTP_HOST="localhost")
    answer = browser.post(place, {"username": name, "password": PASSWORD}, follow=True)
    assert answer.status_code == 200
    return [address for address, _status in answer.redirect_chain]


@pytest.mark.usefixtures("redis_client")
@pytest.mark.parametrize("place", ["/login/", "/login/?next=/"])
def test_who_sees_no_queue_begins_with_the_exports(outsider, may_export, place):
    may_export(outsider)
    assert begun("nina", place) == ["/start/", "/exports/"]


@pytest.mark.usefixtures("redis_client")
def test_all_others_begin_with_the_overview(outsider, viewer, superuser, may_export):
    may_export(viewer)
    assert [begun(name) for name in ("nina", "vera", "root")] == [["/start/", "/"]] * 3


@pytest.mark.usefixtures("redis_client")
def test_who_asked_for_a_page_gets_it(outsider, may_export):
    may_export(outsider)
    assert begun("nina", "/login/?next=/failed/") == ["/failed/"]


@pytest.mark.usefixtures("redis_client")
def test_without_exports_nobody_is_led_there(outsider, may_export, settings):
    may_export(outsider)
    settings.OPSBOARD_EXPORTS = False
    assert begun("nina") == ["/start/", "/"]


@pytest.mark.usefixtures("redis_client")
@pytest.mark.parametrize("address", ["/", "/failed/", "/review/", "/queues/"])
def test_a_page_that_shows_no_queue_leads_to_the_exports(outsider, sign_in, may_export, address):
    browser = sign_in(outsider, watched=False)
    assert "/exports/" not in Page(browser.get(address)).links
    may_export(outsider)
    page = Page(browser.get(address))
    assert page.links.count("/exports/") == 3  # twice in the menu, for wide and narrow screens
    assert "ask for exports" in page.text
