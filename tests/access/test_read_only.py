"""OPSBOARD_READ_ONLY=1: nothing can be changed, and everyone can still look."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group
from guardian.models import GroupObjectPermission

from tests.conftest import PASSWORD

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _read_only(settings):
    settings.OPSBOARD_READ_ONLY = True


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
@pytest.mark.parametrize("path", ["/access/give/", "/", "/nowhere/", "/login/x/", "/jobs/default/orders/1/retry/"])
def test_whatever_could_change_something_is_refused(sign_in, superuser, method, path):
    answer = getattr(sign_in(superuser), method)(path)
    assert answer.status_code == 403
    assert "Nothing was done. This opsboard is read-only." in answer.text


def test_nothing_changes(sign_in, superuser, orders):
    group = Group.objects.get(name="Viewers")
    form = {"connection": "default", "queue": "orders", "holder": f"group:{group.pk}", "permission": "view_queue"}
    sign_in(superuser).post("/access/give/", form)
    assert not GroupObjectPermission.objects.exists()


def test_signing_in_and_out_still_works(client, superuser):
    assert client.post("/login/", {"username": "root", "password": PASSWORD}).status_code == 302
    assert client.get("/access/").status_code == 200
    assert client.post("/logout/").status_code == 302


def test_who_is_signed_out_is_refused_too(client):
    assert client.post("/access/give/").status_code == 403
