"""What those who look after the jobs see of an export, and what they can do: by its id, and without what is in it."""

from __future__ import annotations

import errno
import re
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from guardian.shortcuts import assign_perm

from exports import tasks
from exports.files import path_of
from exports.models import Export
from exports.requesting import request_export
from exports.states import ExportState, reason_of, state_of
from jobs.domain.verdicts import Verdict
from jobs.models import Operation, Queue
from jobs.observer import operations
from jobs.safety import OutcomeUnknown, report_progress, should_stop
from tests.support.observer import watch
from tests.support.pages import Page, at, press
from tests.support.reviews import fields, take

pytestmark = pytest.mark.django_db(transaction=True)
ACTS = ("retry_job", "delete_job", "cancel_job", "resolve_review", "triage_failure")


# Who looks on ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def crew(db, sign_in):
    """crew(name, *rights): a browser of somebody with these rights on both queues of the exports; none to export."""

    def join(name: str, *rights: str) -> Client:
        person = User.objects.create_user(name)
        for queue in ("exports", "mail"):
            found, _made = Queue.objects.get_or_create(connection="default", name=queue)
            for right in ("view_queue", *rights):
                assign_perm(right, person, found)
        return sign_in(person)

    return join


@pytest.fixture
def operator(crew):
    return crew("otto", *ACTS)


@pytest.fixture
def lead(crew):
    """An operator who also declares job types and reads the audit."""
    browser = crew("lena", *ACTS)
    rights = Permission.objects.filter(codename__in=("change_jobtype", "view_audit"))
    User.objects.get(username="lena").user_permissions.add(*rights)
    return browser


@pytest.fixture
def viewer(crew):
    return crew("vera")


@dataclass
class Asked:
    """An export that somebody has asked for, and what runs of it."""

    pk: int
    run: Any

    @property
    def export(self) -> Export:
        return Export.objects.select_related("operation", "mail_operation", "owner").get(pk=self.pk)

    @property
    def build(self) -> Operation:
        found = self.export.operation
        assert found is not None
        return found

    @property
    def mail(self) -> Operation:
        found = self.export.mail_operation
        assert found is not None
        return found

    @property
    def state(self) -> ExportState:
        return state_of(self.export, timezone.now())

    def last_try(self) -> None:
        """What runs next is the last attempt at whatever is not over."""
        for one in Operation.objects.exclude(status="completed"):
            Operation.objects.filter(pk=one.pk).update(max_attempts=one.attempts_used + 1)


@pytest.fixture
def asked(exporter, make_orders, run_jobs) -> Asked:
    make_orders(1500)
    return Asked(request_export(exporter, "2025", "").export.pk, run_jobs)


@pytest.fixture
def failed(asked, monkeypatch) -> Asked:
    """Its tries are used up on an error that passes: the folder was full, and is not any more."""
    full = OSError(errno.ENOSPC, "No space left on device", str(path_of(asked.pk)))
    with monkeypatch.context() as patch:
        patch.setattr(tasks, "write_file", raising(full))
        asked.last_try()
        asked.run()
    return asked


@pytest.fixture
def in_doubt(asked, monkeypatch) -> Asked:
    """It is ready, and nobody knows whether its mail was sent."""
    with monkeypatch.context() as patch:
        patch.setattr(tasks, "send_ready_mail", raising(OutcomeUnknown("The connection broke.")))
        asked.run()
    return asked


def raising(error: Exception):
    def fail(*_args, **_options):
        raise error

    return fail


def page_of(operation: Operation, act: str = "") -> str:
    return reverse(f"jobs:operation-{act}" if act else "jobs:operation", args=(operation.operation_id,))


def job_page_of(operation: Operation) -> str:
    return at("job", operation.queue, operation.job_id)


# Found by its id ------------------------------------------------------------------------------------------------------


def test_by_the_exports_id_both_its_operations_are_found(asked, viewer):
    asked.run()
    answer = viewer.get(at("lookup"), {"q": str(asked.pk)})
    assert {page_of(asked.build), page_of(asked.mail)} <= set(Page(answer).links)


def test_before_there_is_a_mail_the_id_leads_to_the_one_operation_there_is(asked, viewer):
    answer = viewer.get(at("lookup"), {"q": str(asked.pk)})
    assert (answer.status_code, answer.url) == (302, page_of(asked.build))


def test_what_was_done_in_the_database_alone_is_told_as_done(asked, viewer, run_jobs):
    run_jobs()
    told = Page(viewer.get(page_of(asked.build))).text.partition("What happened")[2]
    assert "begun · effect file" in told and "completed · effect file" in told
    assert "completed · effect ready" in told and "begun · effect ready" not in told


def test_both_pages_of_it_name_the_export_and_the_way_between_them(asked, viewer):
    asked.run()
    for operation in (asked.build, asked.mail):
        of_operation, of_job = (Page(viewer.get(place)) for place in (page_of(operation), job_page_of(operation)))
        assert f"Is about {asked.pk}" in of_operation.text and f"export_id {asked.pk}" in of_operation.text
        assert f"export_id {asked.pk}" in of_job.text
        assert job_page_of(operation) in of_operation.links and page_of(operation) in of_job.links


# Nothing of what is in it ---------------------------------------------------------------------------------------------


def everything(browser: Client, asked: Asked) -> str:
    """All that an operator's pages say of an export, attributes and all."""
    watch()
    places = [at(name) for name in ("overview", "failed", "reviews", "job-types", "audit")]
    places += [at("lookup") + f"?q={asked.pk}", at("job-types") + "?path=exports.tasks.build_export"]
    for operation in Operation.objects.all():
        places += [
            page_of(operation),
            job_page_of(operation),
            page_of(operation, "retry"),
            page_of(operation, "cancel"),
        ]
        places += [reverse("jobs:review", args=(one.pk,)) for one in operation.reviews.all()]
    states = ("queued", "started", "failed", "finished", "scheduled")
    places += [at("queue-state", queue, state) for queue in ("exports", "mail") for state in states]
    answers = {place: browser.get(place, follow=True) for place in places}
    assert [place for place, answer in answers.items() if answer.status_code != 200] == []
    return "".join(one.content.decode() for one in answers.values())


@pytest.mark.parametrize("how", ["asked", "failed", "in_doubt", "ready"])
def test_no_row_no_address_and_no_path_is_on_any_page_of_an_operator(request, lead, asked, tmp_path, how):
    if how == "ready":
        asked.run()
    else:
        request.getfixturevalue(how)
    said = everything(lead, asked)
    assert f"export:{asked.pk}" in said
    rows, place = ("Customer 7", "O-000007", "2025-01-01T"), (str(tmp_path), f"export-{asked.pk}.csv")
    assert [secret for secret in (*rows, *place, "shop.example") if secret in said] == []
    assert not re.search(r"\bclara\b", said)


@pytest.mark.parametrize(
    "trouble",
    [
        PermissionError(errno.EACCES, "Permission denied", "/srv/secret-place"),
        OSError(errno.EXDEV, "Invalid cross-device link", "/srv/secret-place", None, "/srv/secret-other"),
    ],
    ids=["one path", "two paths"],
)
def test_what_keeps_a_file_from_being_written_is_told_without_its_place(asked, lead, monkeypatch, trouble):
    monkeypatch.setattr(tasks, "write_file", raising(trouble))
    asked.last_try()
    asked.run()
    said = everything(lead, asked)
    assert trouble.strerror in said and "secret-" not in said
    assert "secret-" not in Operation.objects.get(pk=asked.build.pk).reason_text


# Run again ------------------------------------------------------------------------------------------------------------


def test_with_its_tries_used_up_the_owner_is_told_and_an_operator_may_run_it_again_by_the_rule_repeatable(
    failed, operator
):
    assert (failed.build.status, failed.build.reason_code) == ("failed", "attempts_exhausted")
    assert (failed.state, reason_of(failed.export)) == (
        ExportState.FAILED,
        "It failed, and we are looking into it. You need not ask again.",
    )
    for place in (page_of(failed.build), job_page_of(failed.build)):
        assert "R22: repeatable" in Page(operator.get(place)).text


@pytest.mark.parametrize("where", [page_of, job_page_of], ids=["operation", "job"])
def test_an_operators_retry_makes_it_ready_and_its_owner_reads_so(failed, operator, exporter, sign_in, where):
    operation = failed.build
    action = page_of(operation, "retry") if where is page_of else where(operation) + "retry/"
    press(operator, where(operation), action)
    failed.run()
    assert (failed.state, failed.export.reason, failed.export.rows) == (ExportState.READY, "", 1500)
    assert failed.mail.status == "completed"
    assert "ready" in Page(sign_in(exporter).get(reverse("exports:export", args=(failed.pk,)))).text


def test_that_it_was_run_again_by_whom_stands_on_its_page(failed, operator):
    press(operator, page_of(failed.build), page_of(failed.build, "retry"))
    assert "otto had it run again" in Page(operator.get(page_of(failed.build))).text


def test_bad_data_may_be_run_again_once_somebody_has_put_it_right(exporter, run_jobs, make_orders, operator):
    make_orders(3)
    asked = Asked(request_export(exporter, "2025-13", "").export.pk, run_jobs)
    asked.run()
    assert (asked.build.reason_code, asked.build.attempts_used) == ("bad_data", 1)
    assert "R24: nothing_begun" in Page(operator.get(page_of(asked.build))).text
    Export.objects.filter(pk=asked.pk).update(period="2025-01")
    press(operator, page_of(asked.build), page_of(asked.build, "retry"))
    asked.run()
    assert (asked.state, asked.export.rows) == (ExportState.READY, 3)


# A mail in doubt ------------------------------------------------------------------------------------------------------


def test_a_mail_that_may_have_been_sent_is_for_a_person_to_find_out_and_no_plain_retry_is_offered(in_doubt, operator):
    assert (in_doubt.mail.status, in_doubt.state) == ("unknown", ExportState.READY)
    page = Page(operator.get(page_of(in_doubt.mail)))
    review = in_doubt.mail.reviews.get()
    assert reverse("jobs:review", args=(review.pk,)) in page.links
    assert page_of(in_doubt.mail, "retry") not in [form.action for form in page.forms]
    assert job_page_of(in_doubt.mail) + "retry/" not in [
        form.action for form in Page(operator.get(job_page_of(in_doubt.mail))).forms
    ]


def test_who_asks_for_it_all_the_same_is_refused_and_no_second_mail_is_sent(in_doubt, operator, mailoutbox):
    answer = operator.post(page_of(in_doubt.mail, "retry"), {"seen": in_doubt.mail.version})
    assert (answer.status_code, "Its review is open" in Page(answer).text) == (409, True)
    in_doubt.run()
    assert (in_doubt.mail.status, mailoutbox) == ("unknown", [])


@pytest.mark.parametrize(("verdict", "mails"), [(Verdict.DID_NOT_HAPPEN, 1), (Verdict.HAPPENED, 0)])
def test_what_a_person_has_found_out_decides_whether_it_is_sent(in_doubt, operator, mailoutbox, verdict, mails):
    review = in_doubt.mail.reviews.get()
    take(review, User.objects.get(username="otto"))
    operator.post(reverse("jobs:review-resolve", args=(review.pk,)), fields(review, verdict))
    operations.deliver("default", timezone.now())
    in_doubt.run()
    assert (in_doubt.mail.status, len(mailoutbox)) == ("completed", mails)


# Who may only look ----------------------------------------------------------------------------------------------------


def test_who_may_only_look_sees_it_and_can_do_nothing(failed, viewer):
    page = Page(viewer.get(page_of(failed.build)))
    assert "Not offered: you may not retry jobs of this queue" in page.text
    for act in ("retry", "cancel"):
        answer = viewer.post(page_of(failed.build, act), {"seen": failed.build.version})
        assert answer.status_code == 403
    assert failed.build.status == "failed"


def test_who_sees_only_the_mails_does_not_see_who_builds(asked, sign_in):
    asked.run()
    person = User.objects.create_user("mia")
    assign_perm("view_queue", person, Queue.objects.create(connection="default", name="mail"))
    browser = sign_in(person)
    assert browser.get(page_of(asked.build)).status_code == 404
    answer = browser.get(at("lookup"), {"q": str(asked.pk)})
    assert (answer.status_code, answer.url) == (302, page_of(asked.mail))


def test_an_operator_has_no_way_to_the_export_itself(asked, operator):
    asked.run()
    for name in ("exports:export", "exports:file"):
        assert operator.get(reverse(name, args=(asked.pk,))).status_code == 404


# Cancelled ------------------------------------------------------------------------------------------------------------


def cancel(browser: Client, operation: Operation):
    return press(browser, page_of(operation, "cancel"), page_of(operation, "cancel"), reason="asked for twice")


def test_one_that_waits_is_cancelled_and_its_owner_reads_so(asked, operator):
    cancel(operator, asked.build)
    asked.run()
    assert (asked.build.status, asked.state) == ("cancelled", ExportState.FAILED)
    assert reason_of(asked.export) == "It was cancelled. Ask for it again if you still need it."
    assert not path_of(asked.pk).exists()


def test_one_that_runs_is_cancelled_before_its_file_is_begun(asked, operator, monkeypatch):
    period = tasks.read_period

    def cancelled_meanwhile(*args):
        cancel(operator, asked.build)
        return period(*args)

    monkeypatch.setattr(tasks, "read_period", cancelled_meanwhile)
    asked.run()
    assert (asked.build.status, list(asked.build.effects.all())) == ("cancelled", [])
    assert not path_of(asked.pk).exists()


def test_once_its_file_is_begun_it_is_too_late_and_the_page_says_why(asked, operator, monkeypatch):
    write, said = tasks.write_file, []

    def asked_meanwhile(*args):
        report_progress(0, 1500)
        page = Page(operator.get(page_of(asked.build)))
        said.append((page.text, page_of(asked.build, "cancel") in page.links, should_stop()))
        return write(*args)

    monkeypatch.setattr(tasks, "write_file", asked_meanwhile)
    asked.run()
    (text, is_offered, stops), *_others = said
    assert "It can’t be called cancelled: “file” was begun" in text and "R15: has_begun" in text
    assert (is_offered, stops, asked.state) == (False, False, ExportState.READY)


# Its job type ---------------------------------------------------------------------------------------------------------


def test_nobody_is_asked_to_declare_what_its_code_declares(failed, lead):
    for place in (job_page_of(failed.build), at("failed")):
        assert "Declare this job type" not in Page(lead.get(place)).text
    listed = Page(lead.get(at("job-types"))).text
    assert "exports.tasks.build_export as its operation’s effects allow" in listed
    page = Page(lead.get(reverse("jobs:job-type", args=("exports.tasks.build_export",))))
    assert "Its jobs run as operations" in page.text and "so it is not retried" not in page.text


def test_its_runbook_stands_on_the_page_of_its_job(failed, lead, operator):
    place = reverse("jobs:job-type", args=("exports.tasks.build_export",))
    lead.post(place, {"idempotency": "repeatable", "runbook_text": "Look whether the disk is full.", "based_on": ""})
    assert "Look whether the disk is full." in Page(operator.get(job_page_of(failed.build))).text
    assert "Its jobs run as operations" in Page(lead.get(place)).text
