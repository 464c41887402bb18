"""Giving and taking rights: checked on the server, the same when repeated, on record."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.contrib.auth.models import Group
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.http import Http404
from guardian.shortcuts import assign_perm, get_group_perms, get_user_perms, remove_perm

from jobs.actions.access import find_holder, give, take
from jobs.models import AuditEntry, Queue
from jobs.permissions import Permission, QueueNotVisible

pytestmark = pytest.mark.django_db

RETRY, DELETE, VIEW = Permission.RETRY_JOB, Permission.DELETE_JOB, Permission.VIEW_QUEUE


@pytest.fixture
def operators(db):
    return Group.objects.get(name="Operators")


def audit():
    fields = ("verb", "status", "actor_name", "connection", "queue", "subject")
    return sorted(AuditEntry.objects.values_list(*fields))


def test_a_right_is_given_with_the_right_to_see_and_both_are_on_record(lead, orders, operators, now):
    assert give(lead, "default", "orders", operators, [RETRY], now) == (VIEW, RETRY)
    assert {str(one) for one in get_group_perms(operators, orders)} == {"view_queue", "retry_job"}
    assert audit() == [
        ("grant_access", "done", "lena", "default", "orders", "group Operators: retry_job"),
        ("grant_access", "done", "lena", "default", "orders", "group Operators: view_queue"),
    ]
    assert {entry.created_at for entry in AuditEntry.objects.all()} == {now}


def test_giving_again_changes_nothing_and_leaves_no_second_record(lead, orders, outsider, now):
    assert give(lead, "default", "orders", outsider, [RETRY], now) == (VIEW, RETRY)
    assert give(lead, "default", "orders", outsider, [RETRY], now) == ()
    assert AuditEntry.objects.count() == 2


def test_a_right_is_taken_and_others_stay(lead, orders, operator, now):
    assert take(lead, "default", "orders", operator, [RETRY], now) == (RETRY,)
    assert take(lead, "default", "orders", operator, [RETRY], now) == ()
    assert "retry_job" not in get_user_perms(operator, orders)
    assert "delete_job" in get_user_perms(operator, orders)
    assert audit() == [("revoke_access", "done", "lena", "default", "orders", "user otto: retry_job")]


def test_with_the_right_to_see_go_all_others(lead, orders, operator, now):
    assert len(take(lead, "default", "orders", operator, [VIEW], now)) == 6
    assert not get_user_perms(operator, orders)
    assert AuditEntry.objects.count() == 6


def test_taking_from_one_leaves_the_same_right_of_others(lead, orders, operator, operators, now):
    assign_perm("retry_job", operators, orders)
    take(lead, "default", "orders", operator, [RETRY], now)
    assert "retry_job" in get_group_perms(operators, orders)
    assert "retry_job" in get_user_perms(lead, orders)


def test_nobody_gives_a_right_that_he_does_not_hold_there(lead, orders, outsider, now):
    remove_perm("delete_job", lead, orders)
    with pytest.raises(PermissionDenied, match="You can't give a right that you do not hold in this queue: delete_job"):
        give(lead, "default", "orders", outsider, [RETRY, DELETE], now)
    assert not get_user_perms(outsider, orders)
    assert audit() == [("grant_access", "refused", "lena", "default", "orders", "user nina: delete_job")]


@pytest.mark.parametrize("change", [give, take])
@pytest.mark.parametrize("name", ["payroll", "nowhere"])
def test_a_queue_that_one_does_not_see_does_not_exist(lead, payroll, pia, now, change, name):
    with pytest.raises(QueueNotVisible):
        change(lead, "default", name, pia, [RETRY], now)
    assert "retry_job" in get_user_perms(pia, payroll)
    assert not AuditEntry.objects.exists()


@pytest.mark.parametrize("change", [give, take])
def test_who_may_not_manage_access_changes_nothing(operator, viewer, orders, now, change):
    with pytest.raises(Http404):
        change(operator, "default", "orders", viewer, [VIEW], now)
    assert {*get_user_perms(viewer, orders)} == {"view_queue"}


def test_a_superuser_gives_on_a_queue_without_a_record_which_makes_one(superuser, outsider, redis_client, now):
    assert give(superuser, "default", "new/one", outsider, [VIEW], now) == (VIEW,)
    assert "view_queue" in get_user_perms(outsider, Queue.objects.get(name="new/one"))


def test_taking_on_a_queue_without_a_record_makes_none(superuser, outsider, redis_client, now):
    assert take(superuser, "default", "new", outsider, [VIEW], now) == ()
    assert not Queue.objects.exists()


def test_no_record_is_made_on_a_connection_that_does_not_exist(superuser, outsider, redis_client, now):
    with pytest.raises(QueueNotVisible):
        give(superuser, "nowhere", "orders", outsider, [VIEW], now)
    assert not Queue.objects.exists()


def test_a_change_without_its_record_is_no_change(lead, orders, outsider, now, monkeypatch):
    def full(**details):
        raise OSError("no space left")

    monkeypatch.setattr("jobs.ledger.record_change", full)
    with pytest.raises(OSError, match="no space"):
        give(lead, "default", "orders", outsider, [RETRY], now)
    assert not get_user_perms(outsider, orders)


@pytest.mark.django_db(transaction=True)
def test_of_many_at_once_one_gives_and_the_record_is_written_once(superuser, orders, outsider, now):
    def once(_):
        try:
            return give(superuser, "default", "orders", outsider, [VIEW], now)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        changes = list(pool.map(once, range(16)))
    assert sorted(changes, key=len)[-2:] == [(), (VIEW,)]
    assert AuditEntry.objects.count() == 1


def test_a_holder_is_found_by_kind_and_number(viewer, operators):
    assert find_holder(f"user:{viewer.pk}") == viewer
    assert find_holder(f"group:{operators.pk}") == operators


@pytest.mark.parametrize(
    "value", ["", "user", "user:", "user:x", "user:99999", "group:99999", "queue:1", "user:1:2", "user:²"]
)
def test_no_other_value_names_a_holder(viewer, value):
    assert find_holder(value) is None
