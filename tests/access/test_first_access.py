"""The groups, the first run, and accounts made at the terminal."""

from __future__ import annotations

from io import StringIO

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import CommandError, call_command
from guardian.shortcuts import get_group_perms, remove_perm

from jobs.first_access import ensure_groups, grant_first_access
from jobs.models import Queue

pytestmark = pytest.mark.django_db

VIEW = {"view_queue"}
ACT = {"view_queue", "retry_job", "delete_job", "cancel_job", "resolve_review", "triage_failure"}


def run(command, *args, **options):
    out, err = StringIO(), StringIO()
    call_command(command, *args, stdout=out, stderr=err, **options)
    return out.getvalue() + err.getvalue()


def wide(name):
    return set(Group.objects.get(name=name).permissions.values_list("codename", flat=True))


def held(name, queue):
    return set(get_group_perms(Group.objects.get(name=name), queue))


def test_the_groups_are_there_after_migrating_and_only_leads_hold_model_wide_rights():
    assert {name: wide(name) for name in ("Viewers", "Operators", "Leads")} == {
        "Viewers": set(),
        "Operators": set(),
        "Leads": {"change_jobtype", "view_audit", "manage_access"},
    }


def test_migrating_again_does_not_give_back_what_a_person_took():
    Group.objects.get(name="Leads").permissions.clear()
    call_command("migrate", verbosity=0)
    assert wide("Leads") == set()


def test_a_group_that_was_deleted_is_made_again_with_its_rights():
    Group.objects.all().delete()
    ensure_groups()
    assert wide("Leads") == {"change_jobtype", "view_audit", "manage_access"}
    assert Group.objects.count() == 3


def test_the_first_run_makes_admin_and_gives_the_queues_found_to_the_groups(redis_client):
    redis_client.sadd("rq:queues", "rq:queue:orders", "rq:queue:mail/eu")
    said = run("grant_first_access")
    password = said.partition("password ")[2].partition(" ")[0]
    admin = User.objects.get(username="admin")
    assert (admin.is_superuser, admin.check_password(password), len(password)) == (True, True, 20)
    for queue in Queue.objects.all():
        assert (held("Viewers", queue), held("Operators", queue), held("Leads", queue)) == (VIEW, ACT, ACT)
    assert {queue.name for queue in Queue.objects.all()} == {"orders", "mail/eu"}


def test_a_second_run_prints_no_password_and_gives_nothing(redis_client):
    run("grant_first_access", "default:orders")
    remove_perm("retry_job", Group.objects.get(name="Operators"), Queue.objects.get())
    redis_client.sadd("rq:queues", "rq:queue:payroll")
    assert run("grant_first_access", "default:orders") == ""
    assert held("Operators", Queue.objects.get()) == ACT - {"retry_job"}


def test_a_first_run_without_any_queue_leaves_the_giving_to_the_next(redis_client):
    run("grant_first_access")
    redis_client.sadd("rq:queues", "rq:queue:orders")
    assert run("grant_first_access") == "Queue default:orders: given to Viewers, Operators and Leads.\n"


def test_a_store_that_does_not_answer_stops_nothing():
    said = run("grant_first_access", "default:a:b")
    assert "can't be reached" in said
    assert "127.0.0.1" not in said
    assert Queue.objects.get().name == "a:b"


def test_an_account_called_admin_is_left_alone(db):
    User.objects.create_user("admin", password="x")
    done = grant_first_access({})
    assert (done.admin_password, done.has_superuser) == (None, False)
    assert not User.objects.get().is_superuser


def test_a_superuser_that_exists_is_enough(superuser):
    done = grant_first_access({})
    assert (done.admin_password, done.has_superuser) == (None, True)


def test_an_account_is_added_with_its_groups_and_a_password_printed_once():
    said = run("add_user", "vera", "--group", "Viewers", "--group", "Operators")
    user = User.objects.get(username="vera")
    assert user.check_password(said.partition("password ")[2].partition(" ")[0])
    assert {group.name for group in user.groups.all()} == {"Viewers", "Operators"}
    assert not (user.is_superuser or user.is_staff)
    assert user.email == ""


def test_who_is_to_get_mails_has_an_address(db):
    run("add_user", "otto", "--group", "Exporters", "--email", "otto@shop.example")
    assert User.objects.get(username="otto").email == "otto@shop.example"


def test_what_is_no_address_adds_nobody(db):
    with pytest.raises(CommandError, match="valid email address"):
        run("add_user", "otto", "--email", "otto")
    assert not User.objects.exists()


@pytest.mark.parametrize("name", ["vera", "", "a b", "x" * 151])
def test_a_name_that_is_taken_or_no_name_adds_nobody(viewer, name):
    with pytest.raises(CommandError):
        run("add_user", name)
    assert User.objects.count() == 1


def test_a_group_that_does_not_exist_adds_nobody():
    with pytest.raises(
        CommandError, match="There is no group Boss; the groups are: Exporters, Leads, Operators, Viewers"
    ):
        run("add_user", "vera", "--group", "Boss")
    assert not User.objects.exists()


def test_an_account_that_is_there_joins_groups_leaves_others_and_gets_an_address(viewer):
    run("add_user", "otto", "--group", "Viewers")
    said = run("change_user", "otto", "--join", "Exporters", "--leave", "Viewers", "--email", "otto@shop.example")
    user = User.objects.get(username="otto")
    assert [group.name for group in user.groups.all()] == ["Exporters"]
    assert user.email == "otto@shop.example"
    assert "groups Exporters; address otto@shop.example" in said
    assert "groups Exporters; address none" in run("change_user", "otto", "--email", "")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("nobody",), "There is no account nobody; make one with: manage.py add_user nobody"),
        (("vera", "--join", "Exporters", "--leave", "Boss"), "There is no group Boss"),
        (("vera", "--join", "Exporters", "--email", "vera"), "valid email address"),
    ],
)
def test_what_can_not_be_changed_changes_nothing(viewer, arguments, reason):
    with pytest.raises(CommandError, match=reason):
        run("change_user", *arguments)
    assert not viewer.groups.exists()
    viewer.refresh_from_db()
    assert viewer.email == ""
