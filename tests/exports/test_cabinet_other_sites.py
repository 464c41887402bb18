"""P14 and P16 for the cabinet: what another site may not trigger, and a session that ends before the click."""

from __future__ import annotations

import json
from itertools import product

import pytest
from django.contrib.sessions.models import Session
from django.test import Client

from exports.models import Export
from tests.cases.test_p14_other_sites import EVIL, is_closed
from tests.cases.test_p16_session_ends import SORRY
from tests.conftest import PASSWORD
from tests.exports.laid import lay_export, lay_ready
from tests.support.pages import Page

pytestmark = pytest.mark.django_db

HERE = "/exports/"
WISH = {"period": "2025", "order_status": ""}


@pytest.fixture
def browser(exporter):
    """Signed in through the page; its forms need their token as real ones do."""
    exporter.set_password(PASSWORD)
    exporter.save()
    browser = Client(HTTP_HOST="localhost", enforce_csrf_checks=True)
    sign_in(browser, "/login/")
    return browser


def sign_in(browser, address):
    fields = Page(browser.get(address)).form("/login/").fields
    return browser.post(address, {**fields, "username": "clara", "password": PASSWORD})


@pytest.fixture
def form(browser):
    """What the form sends."""
    return {**Page(browser.get(HERE)).form(HERE).fields, **WISH}


def test_from_our_own_page_a_wish_is_accepted(browser, form):
    """Else the refusals below would prove nothing."""
    assert browser.post(HERE, form, headers={"origin": "http://localhost"}).status_code == 303
    assert Export.objects.count() == 1


def test_a_program_sends_the_token_in_a_header(browser, form):
    headers = {"x-csrftoken": form["csrfmiddlewaretoken"]}
    answer = browser.post(HERE, json.dumps(WISH), content_type="application/json", headers=headers)
    assert answer.status_code == 202


@pytest.mark.parametrize("token", [{}, {"csrfmiddlewaretoken": ""}, {"csrfmiddlewaretoken": "x" * 64}])
def test_a_wish_without_its_token_is_refused(browser, form, token):
    answer = browser.post(HERE, WISH | token)
    assert (answer.status_code, "Nothing was done." in answer.text) == (403, True)
    assert not Export.objects.exists()


@pytest.mark.parametrize("kind", ["text/plain", "application/json", "application/octet-stream"])
def test_a_wish_as_another_kind_of_text_is_refused(browser, form, kind):
    """What another site may send without asking first; the token in such a body does not count."""
    for body in ("&".join(f"{name}={value}" for name, value in form.items()), json.dumps(form)):
        assert browser.post(HERE, body, content_type=kind).status_code == 403
    assert not Export.objects.exists()


def test_a_wish_from_another_site_is_refused_even_with_its_token(browser, form):
    assert browser.post(HERE, form, headers={"origin": EVIL}).status_code == 403
    assert not Export.objects.exists()


def test_get_and_head_ask_for_nothing(browser, form):
    for method, fields in product((browser.get, browser.head), ({}, form)):
        assert method(HERE, fields).status_code == 200
    assert not Export.objects.exists()


def test_no_answer_can_be_framed_or_read_by_another_site(browser, exporter, settings, tmp_path):
    settings.OPSBOARD_EXPORTS_DIR = tmp_path / "exports"
    ready, running = lay_ready(exporter), lay_export(exporter, "running")
    addresses = [HERE, *(f"{HERE}{one.pk}/{file}" for one in (ready, running) for file in ("", "file/")), "/exports/0/"]
    for address, method in product(addresses, ("get", "head", "post", "options")):
        answer = getattr(browser, method)(address, headers={"origin": EVIL})
        b"".join(answer)
        assert is_closed(answer), (address, method)


# The session ends -----------------------------------------------------------------------------------------------------


def test_a_wish_that_came_too_late_leads_to_the_sign_in_and_back_with_nothing_done(browser, form):
    Session.objects.all().delete()
    lost = browser.post(HERE, form, headers={"referer": f"http://localhost{HERE}"})
    assert lost.headers["Location"] == "/login/?next=%2Fexports%2F&lost=1"
    assert SORRY in browser.get(lost.headers["Location"]).text
    answer = sign_in(browser, lost.headers["Location"])
    assert answer.headers["Location"] == HERE
    assert SORRY in browser.get(HERE).text
    assert not Export.objects.exists()


def test_the_token_of_an_earlier_session_asks_for_nothing(browser, form):
    Session.objects.all().delete()
    sign_in(browser, "/login/")
    answer = browser.post(HERE, form)
    assert (answer.status_code, "Nothing was done." in answer.text) == (403, True)
    assert not Export.objects.exists()


@pytest.mark.parametrize("export", ["ready", "not there"])
def test_who_signs_in_for_a_file_lands_on_the_page_that_offers_it(browser, exporter, export):
    """A browser saves a file and goes on showing what it showed: the form, whose token the sign-in has used up."""
    page = f"{HERE}{lay_ready(exporter).pk if export == 'ready' else 17}/"
    Session.objects.all().delete()
    to_sign_in = browser.get(f"{page}file/").headers["Location"]
    assert sign_in(browser, to_sign_in).headers["Location"] == page
    by_hand = browser.get(f"/login/?next={page}file/")
    assert by_hand.headers["Location"] == page


@pytest.mark.parametrize("address", [HERE, "/exports/17/"])
def test_a_part_that_refreshes_itself_says_signed_out_instead_of_a_form(browser, address):
    Session.objects.all().delete()
    headers = {"hx-request": "true", "hx-current-url": f"http://localhost{address}"}
    answer = browser.get(address, headers=headers)
    assert (answer.status_code, "igned out" in answer.text, "<form" in answer.text) == (401, True, False)
    assert f"/login/?next={address.replace('/', '%2F')}" in answer.text
