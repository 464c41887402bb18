"""What the header of every page says."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import AnonymousUser, Group, User

from opsboard.context import header


@pytest.fixture
def header_for(rf):
    def of(user, host="localhost", **environ):
        request = rf.get("/", headers={"host": host}, **environ)
        request.user = user
        return header(request)["header"]

    return of


@pytest.mark.parametrize(
    ("host", "exposure"),
    [
        ("localhost:8000", "This machine or an ssh tunnel only"),
        ("[::1]:8000", "This machine or an ssh tunnel only"),
        ("localhost:18000", "Through an ssh tunnel"),
        ("localhost", "Through an ssh tunnel"),
    ],
)
def test_another_port_than_ours_is_a_tunnel(header_for, host, exposure):
    assert header_for(AnonymousUser(), host, SERVER_PORT="8000").exposure == exposure


def test_behind_a_proxy_it_is_the_name_that_was_asked_for(header_for, settings):
    settings.OPSBOARD_MODE, settings.ALLOWED_HOSTS = "proxied", ["ops.example.org", "jobs.example.org"]
    assert header_for(AnonymousUser(), "jobs.example.org").exposure == "Behind a proxy: jobs.example.org"


@pytest.mark.django_db
def test_the_role_is_that_of_the_person(header_for, viewer, superuser):
    assert header_for(AnonymousUser()).role == "Signed out"
    assert header_for(superuser).role == "Superuser"
    assert header_for(viewer).role == "No group"
    viewer.groups.set(Group.objects.filter(name__in=["Operators", "Leads"]))
    assert header_for(viewer).role == "Leads, Operators"


@pytest.mark.django_db
def test_the_menu_shows_what_a_person_may_do(header_for, lead, operator):
    for name in ("may_manage_access", "may_view_audit", "may_change_jobtype"):
        assert getattr(header_for(User.objects.get(pk=lead.pk)), name) is True
        assert getattr(header_for(operator), name) is False


def test_nothing_is_asked_before_a_template_asks(header_for, settings):
    """Without the mark django_db, every query of this test is an error of its own."""
    settings.OPSBOARD_READ_ONLY = True
    shown = header_for(User(pk=1, username="vera"))
    assert (shown.read_only, shown.demo, shown.environment_colour) == (True, True, "grey")
