"""What is in the mail, whom it goes to, and what is never put into one."""

from __future__ import annotations

from datetime import timedelta
from email.utils import parsedate_to_datetime

import pytest
from django.utils import timezone
from rq import SimpleWorker

from exports.mail_states import MailState, mail_state
from exports.mailing import ready_mail
from exports.models import Export
from exports.requesting import request_export
from jobs.safety import PermanentError
from tests.exports.mail_scene import CLARA, read, sink_in_use, told_of

pytestmark = pytest.mark.django_db(transaction=True)
REFUSED = ("failed", "failed", "failed")


@pytest.fixture
def sink(settings):
    with sink_in_use(settings) as sink:
        yield sink


@pytest.fixture
def built(sink, queues, exporter, make_orders):
    """An export that is ready; its mail is still to be sent."""
    make_orders(3)
    export = request_export(exporter, "2025-01", "").export
    SimpleWorker(queues[:1], connection=queues[0].connection).work(burst=True)
    return export


def reason(export):
    return read(export).mail_operation.reason_text


def test_it_is_plain_text_by_a_machine_with_a_link_that_asks_to_sign_in(built, sink, run_jobs, settings):
    settings.DEFAULT_FROM_EMAIL = "Exports <exports@shop.example>"
    settings.OPSBOARD_SITE_URL = "https://ops.shop.example"
    run_jobs()
    (mail,) = sink.mails
    message = mail.message
    assert (mail.sender, mail.to, message["To"]) == ("exports@shop.example", CLARA, CLARA)
    assert message["From"] == "Exports <exports@shop.example>"
    assert message["Subject"] == "Your export of orders for 2025-01 is ready"
    assert (message.get_content_type(), message["Auto-Submitted"]) == ("text/plain", "auto-generated")
    assert abs(parsedate_to_datetime(message["Date"]).timestamp() - timezone.now().timestamp()) < 600
    assert message["Message-ID"].startswith(f"<export-{built.pk}.") and message["Message-ID"].endswith("@shop.example>")
    text = message.get_content()
    assert "3 rows" in text and f"https://ops.shop.example/exports/{built.pk}/" in text.splitlines()
    assert "/file" not in text and ".csv" not in text


def test_it_says_until_when_in_the_time_of_the_site(built, settings):
    Export.objects.update(expires_at="2030-01-01T12:00:00Z")
    with timezone.override("Asia/Kolkata"):
        assert "It is kept until 2030-01-01 17:30 IST." in ready_mail(read(built), "key").body


def test_it_goes_to_the_address_of_the_day(built, exporter, sink, run_jobs):
    exporter.email = "clara.new@shop.example"
    exporter.save()
    run_jobs()
    assert [mail.to for mail in sink.mails] == ["clara.new@shop.example"]


def test_without_an_address_there_is_no_mail_to_be_sent(sink, exporter, make_orders, run_jobs):
    exporter.email = ""
    exporter.save()
    export = request_export(exporter, "2025", "").export
    run_jobs()
    assert read(export).mail_operation is None
    assert mail_state(read(export)) is MailState.NONE


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("", "no mail address any more"),
        ("jürgen@shop.example", "letters before the @ that can't be sent"),
        ("clara@shop.example\nBcc: eve@shop.example", "can't be written"),
        ("clara@shop.example, eve@shop.example", "can't be written"),
    ],
)
def test_to_an_address_that_none_can_be_sent_to_it_fails_for_good(built, exporter, sink, run_jobs, address, why):
    exporter.email = address
    exporter.save()
    run_jobs()
    assert told_of(built) == REFUSED
    assert why in reason(built)
    assert "eve" not in reason(built) and "rgen" not in reason(built)
    assert sink.heard == []


def test_a_domain_with_other_letters_is_written_as_mail_servers_know_it(built, exporter, sink, run_jobs):
    exporter.email = "clara@bücher.example"
    exporter.save()
    run_jobs()
    assert [mail.to for mail in sink.mails] == ["clara@xn--bcher-kva.example"]


def test_no_line_of_a_header_comes_out_of_a_period(built):
    with pytest.raises(PermanentError, match="can't be written: BadHeaderError"):
        ready_mail(
            Export(pk=built.pk, owner=built.owner, period="2025\nBcc: eve@shop.example", expires_at=later()), "k"
        )


def test_of_a_file_that_is_kept_no_longer_nobody_is_told(built, sink, run_jobs):
    Export.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    run_jobs()
    operation = read(built).mail_operation
    assert (operation.status, sink.heard) == ("failed", [])
    assert "kept no longer" in operation.reason_text


def test_who_may_have_no_exports_any_more_is_told_of_none(built, exporter, sink, run_jobs):
    exporter.user_permissions.clear()
    run_jobs()
    assert told_of(built) == REFUSED
    assert sink.heard == []


def later():
    return timezone.now() + timedelta(days=1)
