"""P21: somebody else's export. Otto's is number 17; to everybody else it is a number like any other."""

from __future__ import annotations

from datetime import timedelta
from itertools import product
from pathlib import Path

import pytest
from django.conf import settings as configured
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.utils import timezone

from exports.files import path_of
from exports.mailing import ready_mail
from exports.models import Export
from tests.conftest import PASSWORD
from tests.exports.laid import CONTENT, lay_export, lay_ready
from tests.support.pages import Page

pytestmark = pytest.mark.django_db

ADDRESSES = ["/exports/17/", "/exports/17/file/"]
NOWHERE = "/exports/18/"
WAYS = [{}, {"accept": "application/json"}, {"range": "bytes=0-9"}, {"hx-request": "true"}, {"if-none-match": "*"}]
"""As a person, a program, a client that wants a part, a page that refreshes itself, a browser that may have it."""
LIKELY = [
    *(
        f"/{folder}/export{name}"
        for folder in ("static", "media", "var", "files")
        for name in ("s/", "s/export-17.csv")
    ),
    *("/static/", "/media/", "/exports/export-17.csv", "/exports/17", "/exports/17/file", "/exports/17/export-17.csv"),
    *("/exports/../var/exports/export-17.csv", "/static/../var/exports/export-17.csv", "/exports/17/file/../"),
    *("/static/%2e%2e/var/exports/export-17.csv", "/exports/-17/file/", "/exports/17%00/file/", "/exports/017/x/"),
]


@pytest.fixture(autouse=True)
def export(operator, pia, settings, tmp_path) -> Export:
    """Otto's, ready, with its file; pia has number 16, which is still being made."""
    settings.OPSBOARD_EXPORTS_DIR = tmp_path / "exports"
    for person in (operator, pia):
        person.email = f"{person.username}@shop.example"
        person.save()
        person.user_permissions.add(right())
    lay_export(pia, "running", id=16)
    return lay_ready(operator, id=17)


def right() -> Permission:
    return Permission.objects.get(content_type__app_label="exports", codename="request_export")


def asked(browser: Client, address: str) -> list[tuple[int, bytes]]:
    """Status and body, by GET and HEAD, in each way."""
    answers = [getattr(browser, method)(address, headers=way) for way, method in product(WAYS, ("get", "head"))]
    return [(one.status_code, b"".join(one)) for one in answers]


def test_p21_its_owner_sees_it_and_gets_it(operator, sign_in):
    """Else the refusals below would prove nothing."""
    browser = sign_in(operator, watched=False)
    answers = [browser.get(address) for address in ADDRESSES]
    assert [one.status_code for one in answers] == [200, 200]
    assert b"".join(answers[1]) == CONTENT.encode()
    assert Page(browser.get("/exports/")).rows() == ["17"]


@pytest.mark.parametrize("who", ["pia", "viewer", "outsider", "lead", "superuser"])
def test_p21_to_everybody_else_it_is_a_number_that_does_not_exist(request, sign_in, who):
    browser = sign_in(request.getfixturevalue(who), watched=False)
    nothing = asked(browser, NOWHERE)
    assert {status for status, _body in nothing} == {404}
    for address in ADDRESSES:
        assert asked(browser, address) == nothing, address


def test_p21_nor_does_pias_list_or_otto_see_the_other(operator, pia, sign_in):
    assert Page(sign_in(pia, watched=False).get("/exports/")).rows() == ["16"]
    browser = sign_in(operator, watched=False)
    assert asked(browser, "/exports/16/") == asked(browser, NOWHERE)
    assert "17" not in [row["id"] for row in programs_list(sign_in(pia, watched=False))]


def programs_list(browser: Client) -> list[dict[str, object]]:
    found: list[dict[str, object]] = browser.get("/exports/", headers={"accept": "application/json"}).json()["exports"]
    return found


@pytest.mark.parametrize("address", [*ADDRESSES, NOWHERE, f"{NOWHERE}file/", "/exports/"])
def test_p21_who_is_signed_out_is_asked_to_sign_in_whatever_the_number(client, address):
    # Nobody lands on a file, but on the page that offers it.
    page = address.removesuffix("file/")
    for way, method in product(WAYS, ("get", "head")):
        answer = getattr(client, method)(address, headers=way)
        if "hx-request" in way:
            assert answer.status_code == 401
        else:
            assert (answer.status_code, answer.headers["Location"]) == (
                302,
                f"/login/?next={page.replace('/', '%2F')}",
            )
        assert b"2025" not in answer.content


@pytest.mark.parametrize("number", [0, 16, 18, 2**31, 2**63 - 1, 2**63, 10**30])
def test_p21_no_other_number_leads_anywhere(operator, sign_in, number):
    browser = sign_in(operator, watched=False)
    for address in (f"/exports/{number}/", f"/exports/{number}/file/"):
        assert browser.get(address).status_code == 404


def test_p21_after_the_right_was_taken_away_there_is_no_cabinet_at_all(operator, sign_in):
    browser = sign_in(operator, watched=False)
    assert {status for status, _body in asked(browser, ADDRESSES[0])} == {200}
    operator.user_permissions.remove(right())
    for address in ["/exports/", *ADDRESSES]:
        assert {status for status, _body in asked(browser, address)} == {404}, address
    assert browser.post("/exports/", {"period": "2025"}).status_code == 404
    assert "/exports/" not in Page(browser.get("/observer/")).links
    assert Export.objects.count() == 2


def test_p21_after_its_time_it_is_gone_also_for_its_owner(operator, sign_in, export):
    Export.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    answers = asked(sign_in(operator, watched=False), ADDRESSES[1])
    assert {status for status, _body in answers} == {410}
    assert path_of(export.pk).exists()


def test_p21_no_answer_may_be_kept_by_anybody_on_the_way(operator, sign_in):
    browser = sign_in(operator, watched=False)
    for address, way in product(["/exports/", *ADDRESSES, NOWHERE], WAYS):
        answer = browser.get(address, headers=way)
        b"".join(answer)
        assert answer.headers["Cache-Control"] == "no-store, private", (address, way)


def test_p21_the_files_lie_where_nothing_is_served():
    """As the settings have it, not as this test does. There is no media folder at all."""
    folder = Path(configured.VAR_DIR) / "exports"
    assert not [one for one in (configured.STATIC_ROOT, *configured.STATICFILES_DIRS) if folder.is_relative_to(one)]
    assert configured.MEDIA_ROOT == ""


@pytest.mark.parametrize("address", LIKELY)
def test_p21_no_guess_at_an_address_leads_to_the_file(operator, sign_in, address):
    answer = sign_in(operator, watched=False).get(address)
    assert answer.status_code in (301, 404)
    assert b"O-000001" not in b"".join(answer)


def test_p21_the_link_in_the_mail_asks_to_sign_in(export, client):
    mail = ready_mail(export, "key")
    link = f"{configured.OPSBOARD_SITE_URL}/exports/17/"
    assert [line for line in mail.body.splitlines() if "://" in line] == [link]
    answer = client.get("/exports/17/")
    assert (answer.status_code, answer.headers["Location"]) == (302, "/login/?next=%2Fexports%2F17%2F")
    form = {"username": "otto", "password": PASSWORD}
    assert client.post(answer.headers["Location"], form).headers["Location"] == "/exports/17/"
    assert client.get("/exports/17/").status_code == 200


def test_p21_the_link_in_the_mail_opens_nothing_for_another_who_signs_in(client):
    form = {"username": "pia", "password": PASSWORD}
    assert client.post("/login/?next=%2Fexports%2F17%2F", form).headers["Location"] == "/exports/17/"
    assert client.get("/exports/17/").status_code == 404


def test_p21_whose_account_is_gone_has_left_no_file_that_anybody_could_get(operator, pia, sign_in):
    User.objects.filter(pk=operator.pk).update(is_active=False)
    assert asked(sign_in(pia, watched=False), ADDRESSES[1]) == asked(sign_in(pia, watched=False), NOWHERE)
