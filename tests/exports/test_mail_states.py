"""What is known of a mail, from what is on record of its operation and its effect."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from exports.mail_states import MailNews, MailState, mail_news, mail_state
from exports.models import Export
from tests.exports.laid import lay_export, lay_mail

pytestmark = pytest.mark.django_db


@pytest.fixture
def export(exporter):
    return lay_export(exporter, "completed")


def test_without_an_operation_there_is_no_mail(export):
    assert mail_news(export) == MailNews(MailState.NONE, None)


@pytest.mark.parametrize(
    ("status", "effect", "state"),
    [
        ("accepted", "", MailState.ON_ITS_WAY),
        ("queued", "", MailState.ON_ITS_WAY),
        ("running", "", MailState.ON_ITS_WAY),
        ("running", "begun", MailState.ON_ITS_WAY),
        ("running", "completed", MailState.SENT),
        ("retry_wait", "released", MailState.ON_ITS_WAY),
        ("retry_wait", "completed", MailState.SENT),
        ("unknown", "unknown", MailState.UNKNOWN),
        ("unknown", "", MailState.UNKNOWN),
        ("completed", "completed", MailState.SENT),
        ("failed", "", MailState.FAILED),
        ("failed", "released", MailState.FAILED),
        ("failed", "begun", MailState.UNKNOWN),
        ("failed", "abandoned", MailState.UNKNOWN),
        ("cancelled", "", MailState.FAILED),
        ("cancelled", "reversed", MailState.SENT),
    ],
)
def test_the_effect_tells_what_the_operation_leaves_open(export, status, effect, state):
    lay_mail(export, status, effect)
    assert mail_state(export) is state
    assert (mail_news(export).sent_at is not None) == (effect == "completed")


def test_a_list_of_exports_asks_for_all_mails_at_once(exporter):
    for _number in range(3):
        lay_mail(lay_export(exporter, "completed"), "completed", "completed")
    listed = Export.objects.select_related("mail_operation").prefetch_related("mail_operation__effects")
    with CaptureQueriesContext(
        connection,
    ) as asked:
        assert {mail_state(export) for export in listed} == {MailState.SENT}
    assert len(asked) == 2
