"""Who may see and do what: object permissions per queue, and nothing else."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import AnonymousUser, Group, User
from django.contrib.auth.models import Permission as PermissionRow
from django.core.exceptions import PermissionDenied
from django.http import Http404
from guardian.shortcuts import assign_perm, remove_perm

from jobs.models import Queue
from jobs.permissions import (
    MODEL_WIDE,
    PER_QUEUE,
    Permission,
    QueueNotVisible,
    find_queue,
    may,
    permissions_by_queue,
    permissions_on,
    require,
    require_wide,
    visibility,
)

pytestmark = pytest.mark.django_db

ODD_NAMES = ["mail/eu", "a b", "q?x=1#f", "ünï", "<b>x</b>", "../etc", " ", "x" * 512]


def fresh(user):
    """The account as the next request would load it, without cached permissions."""
    return User.objects.get(pk=user.pk)


def wide(*permissions):
    return PermissionRow.objects.filter(content_type__app_label="opsboard_jobs", codename__in=permissions)


def test_the_names_are_those_of_the_models():
    in_database = set(
        PermissionRow.objects.filter(content_type__app_label="opsboard_jobs").values_list("codename", flat=True)
    )
    assert {permission.value for permission in Permission} == in_database
    assert set(PER_QUEUE) | set(MODEL_WIDE) == set(Permission)
    assert len({permission.label for permission in Permission}) == 9


def test_a_viewer_sees_his_queue_and_may_do_nothing_there(viewer, orders, payroll):
    assert visibility(viewer).queues == (orders,)
    assert permissions_on(viewer, orders) == {Permission.VIEW_QUEUE}
    assert permissions_on(viewer, payroll) == frozenset()


def test_an_operator_may_do_everything_in_his_queue_and_nothing_elsewhere(operator, orders, payroll):
    assert permissions_on(operator, orders) == set(PER_QUEUE)
    assert permissions_on(operator, payroll) == frozenset()


def test_rights_of_a_group_count_as_ones_own(outsider, orders):
    group = Group.objects.get(name="Operators")
    outsider.groups.add(group)
    assign_perm("view_queue", group, orders)
    assign_perm("retry_job", outsider, orders)
    assert permissions_on(outsider, orders) == {Permission.VIEW_QUEUE, Permission.RETRY_JOB}
    assert visibility(outsider).sees("default", "orders")


def test_a_model_wide_grant_of_an_object_permission_does_not_count(outsider, orders):
    outsider.user_permissions.set(wide(*PER_QUEUE))
    user = fresh(outsider)
    assert user.has_perm("opsboard_jobs.view_queue")
    assert permissions_on(user, orders) == frozenset()
    assert not visibility(user).queues
    with pytest.raises(QueueNotVisible):
        find_queue(user, "default", "orders")


def test_to_act_without_the_right_to_see_is_no_right(outsider, orders):
    assign_perm("retry_job", outsider, orders)
    assert permissions_on(outsider, orders) == frozenset()
    with pytest.raises(QueueNotVisible):
        require(outsider, Permission.RETRY_JOB, orders)


def test_who_lacks_the_right_reads_which_one(viewer, orders):
    sentence = r"Nothing was done. You may not delete jobs in this queue; the right delete_job is missing."
    with pytest.raises(PermissionDenied, match=sentence):
        require(viewer, Permission.DELETE_JOB, orders)


def test_who_holds_the_right_passes(viewer, operator, superuser, orders):
    require(viewer, Permission.VIEW_QUEUE, orders)
    require(operator, Permission.DELETE_JOB, orders)
    require(superuser, Permission.DELETE_JOB, orders)


def test_a_right_that_was_taken_is_gone_at_once(operator, orders):
    remove_perm("delete_job", operator, orders)
    with pytest.raises(PermissionDenied):
        require(operator, Permission.DELETE_JOB, orders)


@pytest.mark.parametrize("name", ["payroll", "nowhere", "Orders", "orders ", "", "orders\0"])
def test_hidden_and_unknown_queues_give_the_same_answer(viewer, payroll, name):
    with pytest.raises(QueueNotVisible) as caught:
        find_queue(viewer, "default", name)
    assert (isinstance(caught.value, Http404), caught.value.args) == (True, ())


def test_the_same_name_on_another_connection_is_another_queue(viewer, orders):
    Queue.objects.create(connection="other", name="orders")
    assert not visibility(viewer).sees("other", "orders")
    with pytest.raises(QueueNotVisible):
        find_queue(viewer, "other", "orders")


@pytest.mark.parametrize("name", ODD_NAMES)
def test_rights_hold_for_odd_names_too(viewer, name):
    queue = Queue.objects.create(connection="default", name=name)
    assign_perm("view_queue", viewer, queue)
    assert find_queue(viewer, "default", name) == queue
    assert visibility(viewer).sees("default", name)


def test_a_superuser_sees_everything_and_gets_an_unsaved_queue_without_a_record(superuser, orders):
    seen = visibility(superuser)
    assert (seen.everything, seen.queues, seen.sees("x", "y")) == (True, (orders,), True)
    assert find_queue(superuser, "default", "orders") == orders
    unsaved = find_queue(superuser, "default", "new\0")
    assert not unsaved.pk
    assert unsaved.name == "new\0"
    require(superuser, Permission.RETRY_JOB, unsaved)


def test_nobody_else_has_rights_on_a_queue_without_a_record(operator):
    assert permissions_on(operator, Queue(connection="default", name="new")) == frozenset()


def test_who_is_switched_off_has_nothing(operator, superuser, orders):
    for user in (operator, superuser):
        user.is_active = False
        user.save()
        assert visibility(fresh(user)) == type(visibility(user))(everything=False, queues=())
        assert permissions_on(fresh(user), orders) == frozenset()
        assert not may(fresh(user), Permission.VIEW_AUDIT)


def test_who_is_not_signed_in_has_nothing_and_is_no_account(orders):
    assert not User.objects.exists()
    assert not visibility(AnonymousUser()).queues
    assert permissions_on(AnonymousUser(), orders) == frozenset()
    assert not may(AnonymousUser(), Permission.VIEW_AUDIT)
    with pytest.raises(QueueNotVisible):
        find_queue(AnonymousUser(), "default", "orders")


def test_model_wide_rights_are_model_wide(lead, operator, superuser, orders):
    assert all(may(lead, permission) and may(superuser, permission) for permission in MODEL_WIDE)
    assign_perm("manage_access", operator, orders)
    assert not any(may(operator, permission) for permission in MODEL_WIDE)


def test_a_right_per_queue_is_never_model_wide(superuser):
    assert not any(may(superuser, permission) for permission in PER_QUEUE)


def test_a_page_for_a_model_wide_right_does_not_exist_for_others(lead, operator):
    require_wide(lead, Permission.MANAGE_ACCESS)
    with pytest.raises(Http404):
        require_wide(operator, Permission.MANAGE_ACCESS)


def test_queues_come_in_order_of_connection_and_name(viewer, orders):
    for connection, name in [("b", "a"), ("a", "z"), ("a", "b")]:
        assign_perm("view_queue", viewer, Queue.objects.create(connection=connection, name=name))
    seen = [(queue.connection, queue.name) for queue in visibility(viewer).queues]
    assert seen == [("a", "b"), ("a", "z"), ("b", "a"), ("default", "orders")]


def test_the_number_of_queries_does_not_grow_with_queues(viewer, orders, django_assert_num_queries):
    group = Group.objects.get(name="Viewers")
    viewer.groups.add(group)
    queues = Queue.objects.bulk_create(Queue(connection="default", name=f"q{number}") for number in range(40))
    for queue in queues[:20]:
        assign_perm("view_queue", group, queue)
    visibility(viewer)
    with django_assert_num_queries(1):
        assert len(visibility(viewer).queues) == 21
    with django_assert_num_queries(2):
        assert sum(map(bool, permissions_by_queue(viewer, queues).values())) == 20
    with django_assert_num_queries(3):
        find_queue(viewer, "default", "q7")
    with django_assert_num_queries(2):
        require(viewer, Permission.VIEW_QUEUE, queues[7])
