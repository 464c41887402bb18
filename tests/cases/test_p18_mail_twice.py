"""P18: the mail goes out twice. Here one goes at most, unless a person has decided otherwise, and the export stays."""

# ruff: noqa: F401, F811  # fixtures are imported, and asked for by their names

from __future__ import annotations

import pytest
from django.urls import reverse

from exports.requesting import request_export
from jobs.domain.verdicts import Verdict
from jobs.models import Review
from tests.exports.conftest import exporter, make_orders, queues, run_jobs
from tests.exports.harm import has_happened, plan
from tests.exports.mail_scene import (
    CLARA,
    GIVEN_UP,
    TRIES,
    mailing_to,
    observe,
    read,
    retry_at_once,
    say,
    sink_in_use,
    told_of,
)
from tests.exports.processes import IN_THE_END, a_harmed_site, queues_of
from tests.support import database
from tests.support.pages import Page
from tests.support.real_rq import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def sink(settings):
    with sink_in_use(settings) as sink:
        yield sink


@pytest.fixture
def send(sink, queues, run_jobs, exporter, make_orders, monkeypatch):
    """send({place: what the server says there}): an export is asked for, and everything runs that will run."""
    make_orders(1)
    retry_at_once(monkeypatch)

    def run(told):
        sink.told = told
        export = request_export(exporter, "2025", "").export
        for _look in range(2):
            run_jobs()
            observe()
        return export

    return run


def is_retry_offered(browser, export):
    """On the page of the mail's operation."""
    operation = read(export).mail_operation.operation_id
    forms = Page(browser.get(reverse("jobs:operation", args=[operation]))).forms
    return reverse("jobs:operation-retry", args=[operation]) in [form.action for form in forms]


def is_handed_out(browser, export):
    """Its file, to its owner."""
    answer = browser.get(reverse("exports:file", args=[export.pk]))
    return answer.status_code == 200 and len(b"".join(answer)) == read(export).size


def test_p18a_taken_and_no_answer_it_is_in_review_and_no_retry_is_offered(send, sink, superuser, exporter, sign_in):
    export = send({"MESSAGE": "close"})
    assert told_of(export) == ("unknown", "unknown", "unknown")
    assert Review.objects.get(closed_at=None).operation == read(export).mail_operation
    assert not is_retry_offered(sign_in(superuser), export)
    assert is_handed_out(sign_in(exporter), export)
    assert sink.taken_for(CLARA) == 1


def test_p18a_who_says_that_it_did_not_happen_has_one_sent(send, sink, superuser, run_jobs):
    export = send({"DATA": "close"})
    sink.told.clear()
    assert say(superuser, Verdict.DID_NOT_HAPPEN).is_done
    for _look in range(2):
        observe()
        run_jobs()
    assert told_of(export) == ("completed", "unknown completed", "sent")
    assert sink.taken_for(CLARA) == 1


def test_p18b_a_server_that_has_no_time_is_asked_again_a_bounded_number_of_times(send, sink, exporter, sign_in):
    export = send({"MESSAGE": "451 later"})
    assert told_of(export) == ("failed", GIVEN_UP, "failed")
    assert is_handed_out(sign_in(exporter), export)
    assert (sink.taken_for(CLARA), sink.heard.count("DATA")) == (0, TRIES)


def test_p18c_a_mail_that_is_refused_fails_for_good_with_the_words_of_the_server(
    send,
    sink,
    superuser,
    exporter,
    sign_in,
    run_jobs,
):
    export = send({"RCPT": "550 5.1.1 no such mailbox here"})
    assert told_of(export) == ("failed", "failed", "failed")
    page = Page(sign_in(superuser).get(reverse("jobs:operation", args=[read(export).mail_operation.operation_id])))
    assert "refused all recipients with 550: 5.1.1 no such mailbox here" in page.text
    assert is_handed_out(sign_in(exporter), export)
    assert (sink.taken_for(CLARA), sink.heard.count("RCPT")) == (0, 1)
    assert is_retry_offered(sign_in(superuser), export)


def test_p18d_taken_and_the_worker_killed_before_it_noted_that_it_is_in_review(
    sink,
    superuser,
    exporter,
    make_orders,
    sign_in,
    tmp_path,
    settings,
):
    make_orders(1)
    settings.OPSBOARD_EXPORTS_DIR = tmp_path / "site" / "exports"
    with a_harmed_site(tmp_path, database.url(), **mailing_to(sink)) as site:
        with queues_of(site):
            export = request_export(exporter, "2025", "").export
        plan(tmp_path / "harm", export.pk, "after_call.kill_both", "mail_export")
        site.observer()
        site.worker()
        wait_until(lambda: has_happened(tmp_path / "harm", export.pk, "mail_export"), "the worker dies", 60)
        site.worker()

        def is_over():
            mail = read(export).mail_operation
            return mail is not None and mail.status in IN_THE_END

        wait_until(is_over, "it is at rest", 60)
    assert told_of(export) == ("unknown", "lost", "unknown")
    assert not is_retry_offered(sign_in(superuser), export)
    assert is_handed_out(sign_in(exporter), export)
    assert sink.taken_for(CLARA) == 1
