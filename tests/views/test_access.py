"""/access/, /access/give/ and /access/take/."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from guardian.shortcuts import assign_perm, get_group_perms, get_user_perms

from jobs.models import AuditEntry, Queue
from jobs.selectors.access import read_access

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis_client")]


@pytest.fixture
def operators():
    return Group.objects.get(name="Operators")


def form(holder, *permissions, queue="orders", connection="default", **more):
    return {"connection": connection, "queue": queue, "holder": holder, "permission": permissions, **more}


def rows(user, number=None):
    return {(row.connection, row.name): row for row in read_access(user, number).page}


def cells(row, name):
    return {cell.right.value: cell for holder in row.holders if holder.name == name for cell in holder.cells}


@pytest.mark.parametrize("person", ["outsider", "viewer", "operator", "pia"])
@pytest.mark.parametrize("path", ["/access/", "/access/give/", "/access/take/"])
def test_to_who_may_not_manage_access_the_pages_do_not_exist(request, sign_in, person, path, operators):
    browser = sign_in(request.getfixturevalue(person))
    answer = (
        browser.get(path) if path == "/access/" else browser.post(path, form(f"group:{operators.pk}", "view_queue"))
    )
    assert answer.status_code == 404
    assert not get_group_perms(operators, Queue.objects.first() or Queue(pk=1))


@pytest.mark.parametrize(("path", "verb"), [("/access/give/", "grant_access"), ("/access/take/", "revoke_access")])
def test_who_tries_to_give_or_take_without_the_right_is_on_record(sign_in, operator, operators, path, verb):
    sign_in(operator).post(path, form(f"group:{operators.pk}", "view_queue"))
    entry = AuditEntry.objects.get()
    assert (entry.actor_name, entry.verb, entry.status, entry.queue) == ("otto", verb, "refused", "orders")


@pytest.mark.parametrize("path", ["/access/give/", "/access/take/"])
@pytest.mark.parametrize("method", ["get", "head", "put", "delete"])
def test_giving_and_taking_take_a_post(sign_in, superuser, path, method):
    assert getattr(sign_in(superuser), method)(path).status_code == 405


@pytest.mark.parametrize("path", ["/access/", "/access/give/", "/access/take/"])
def test_who_is_signed_out_is_asked_to_sign_in(client, path):
    assert client.get(path).headers["Location"].startswith("/login/?next=%2Faccess%2F")


def test_the_page_itself_takes_no_post(sign_in, superuser):
    assert sign_in(superuser).post("/access/").status_code == 405


def test_a_lead_sees_the_queues_that_he_may_view_and_no_other(sign_in, lead, payroll, redis_client):
    redis_client.sadd("rq:queues", "rq:queue:orders", "rq:queue:secret")
    page = sign_in(lead).get("/access/")
    assert page.status_code == 200
    assert "orders" in page.text
    assert "payroll" not in page.text
    assert "secret" not in page.text


def test_a_superuser_sees_also_queues_that_have_no_record_yet_and_looking_makes_none(sign_in, superuser, redis_client):
    redis_client.sadd("rq:queues", "rq:queue:mail/eu")
    assert "mail/eu" in sign_in(superuser).get("/access/").text
    assert rows(superuser)["default", "mail/eu"].recorded is False
    assert not Queue.objects.exists()


def test_a_store_that_does_not_answer_hides_no_queue_on_record(sign_in, superuser, orders, settings):
    from jobs.broker import connections

    settings.OPSBOARD_CONNECTIONS = {"default": {"url": "redis://127.0.0.1:1/0", "read_url": None, "prefix": "rq"}}
    connections.reset()
    assert sign_in(superuser).get("/access/").status_code == 200
    shown = read_access(superuser, None)
    assert (shown.store_unreachable, len(shown.page)) == (True, 1)


def test_a_lead_gives_a_right_to_a_group(sign_in, lead, orders, operators):
    answer = sign_in(lead).post("/access/give/", form(f"group:{operators.pk}", "retry_job"), follow=True)
    assert answer.redirect_chain == [("/access/", 302)]
    assert "Given to Operators in default:orders: see the queue, retry jobs." in answer.text
    assert {str(one) for one in get_group_perms(operators, orders)} == {"view_queue", "retry_job"}
    assert AuditEntry.objects.filter(verb="grant_access", actor=lead).count() == 2


def test_a_lead_takes_a_right_from_a_person(sign_in, lead, orders, operator):
    answer = sign_in(lead).post("/access/take/", form(f"user:{operator.pk}", "delete_job", page="1"), follow=True)
    assert answer.redirect_chain == [("/access/?page=1", 302)]
    assert "Taken from otto in default:orders: delete jobs." in answer.text
    assert "delete_job" not in get_user_perms(operator, orders)


def test_what_is_so_already_is_said(sign_in, lead, orders, viewer):
    answer = sign_in(lead).post("/access/give/", form(f"user:{viewer.pk}", "view_queue"), follow=True)
    assert "Nothing to change: it was so already." in answer.text
    assert not AuditEntry.objects.exists()


@pytest.mark.parametrize(
    "change",
    [
        {"permission": []},
        {"permission": ["manage_access"]},
        {"permission": ["retry_job", "x"]},
        {"holder": ""},
        {"holder": "user:99999"},
        {"holder": "group:1 OR 1=1"},
        {"queue": ""},
        {"queue": "x" * 513},
        {"queue": "orders\0"},
        {"connection": ""},
    ],
)
def test_a_form_that_says_too_little_or_too_much_changes_nothing(sign_in, superuser, orders, operators, change):
    answer = sign_in(superuser).post(
        "/access/give/", {**form(f"group:{operators.pk}", "view_queue"), **change}, follow=True
    )
    assert answer.status_code == 200
    assert "Nothing was done. Choose a person or a group, and at least one right." in answer.text
    assert not get_group_perms(operators, orders)


@pytest.mark.parametrize("name", ["mail/eu", "a b", "q?x=1#f", "ünï", "<b>x</b>", "../etc", " orders "])
def test_odd_names_work_and_are_escaped(sign_in, superuser, operators, name):
    queue = Queue.objects.create(connection="default", name=name)
    answer = sign_in(superuser).post(
        "/access/give/", form(f"group:{operators.pk}", "view_queue", queue=name), follow=True
    )
    assert "view_queue" in get_group_perms(operators, queue)
    assert "<b>x</b>" not in answer.text


def test_a_right_that_the_giver_lacks_is_refused_with_its_name(sign_in, lead, orders, viewer):
    lead.userobjectpermission_set.filter(permission__codename="delete_job").delete()
    answer = sign_in(lead).post("/access/give/", form(f"user:{viewer.pk}", "delete_job"))
    assert answer.status_code == 403
    assert "delete_job" in answer.text
    assert "delete_job" not in get_user_perms(viewer, orders)


@pytest.mark.parametrize("queue", ["payroll", "no-such-queue"])
def test_hidden_and_unknown_queues_give_the_same_answer(sign_in, lead, payroll, viewer, queue):
    answer = sign_in(lead).post("/access/give/", form(f"user:{viewer.pk}", "view_queue", queue=queue))
    assert (answer.status_code, queue in answer.text) == (404, False)


def test_another_site_changes_nothing(superuser, orders, operators):
    browser = Client(HTTP_HOST="localhost", enforce_csrf_checks=True)
    browser.force_login(superuser, backend="django.contrib.auth.backends.ModelBackend")
    data = form(f"group:{operators.pk}", "view_queue")
    answers = [
        browser.post("/access/give/", data),
        browser.post("/access/give/", data, headers={"origin": "http://evil.example"}),
        browser.post("/access/give/", data, content_type="application/json"),
        browser.post("/access/give/", "permission=view_queue", content_type="text/plain"),
    ]
    assert [answer.status_code for answer in answers] == [403] * 4
    assert not get_group_perms(operators, orders)


def test_the_cells_say_what_is_held_and_what_the_reader_may_change(lead, orders, viewer):
    lead.userobjectpermission_set.filter(permission__codename="delete_job").delete()
    seen = {
        name: (cell.held, cell.may_give, cell.may_take)
        for name, cell in cells(rows(lead)["default", "orders"], "vera").items()
    }
    assert seen["view_queue"] == (True, False, True)
    assert seen["retry_job"] == (False, True, False)
    assert seen["delete_job"] == (False, False, False)


def test_groups_are_always_listed_and_people_only_when_they_hold_something(lead, orders, outsider, viewer):
    names = [holder.name for holder in rows(lead)["default", "orders"].holders]
    assert names == ["Exporters", "Leads", "Operators", "Viewers", "lena", "vera"]


def test_who_can_be_chosen_leaves_out_superusers_and_accounts_that_are_switched_off(lead, superuser, viewer, outsider):
    User.objects.filter(pk=outsider.pk).update(is_active=False)
    assert [choice.name for choice in read_access(lead, None).users] == ["lena", "vera"]


@pytest.mark.parametrize(
    ("number", "shown"), [(None, 1), ("2", 2), ("0", 2), ("-1", 2), ("99999999", 2), ("abc", 1), ("", 1)]
)
def test_a_page_number_of_any_shape_finds_a_page(sign_in, superuser, number, shown):
    Queue.objects.bulk_create(Queue(connection="default", name=f"q{one:03}") for one in range(30))
    assert sign_in(superuser).get("/access/", {"page": number} if number is not None else {}).status_code == 200
    assert read_access(superuser, number).page.number == shown


def test_the_number_of_queries_does_not_grow_with_queues_and_people(lead, orders, django_assert_max_num_queries):
    people = User.objects.bulk_create(User(username=f"u{number}") for number in range(30))
    for number in range(24):
        queue = Queue.objects.create(connection="default", name=f"q{number}")
        assign_perm("view_queue", lead, queue)
        assign_perm("view_queue", people[number], queue)
    rows(lead)
    with django_assert_max_num_queries(9):
        assert len(rows(lead)) == 25
