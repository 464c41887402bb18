"""Entries are written before, closed once, and never undone by a transaction around them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import transaction

from jobs import ledger
from jobs.models import AuditEntry


def open_entry(person, now, **details):
    return ledger.open_entry(actor=person, verb="retry_job", subject="job-7", now=now, **details)


@pytest.mark.django_db(transaction=True)
def test_an_open_entry_waits_for_its_outcome(operator, now):
    entry = open_entry(operator, now, connection="default", queue="orders", deadline_at=now + timedelta(seconds=3))
    assert (entry.status, entry.closed_at, entry.actor_name) == ("intended", None, "otto")


@pytest.mark.django_db(transaction=True)
def test_an_entry_is_closed_once(operator, now):
    entry = open_entry(operator, now)
    assert ledger.close_entry(entry, status="done", outcome="It is so.", now=now) is True
    assert ledger.close_entry(entry, status="refused", outcome="It is not.", now=now) is False
    assert AuditEntry.objects.get().outcome == "It is so."


@pytest.mark.django_db(transaction=True)
def test_an_intent_inside_a_transaction_is_an_error(operator, now):
    with pytest.raises(RuntimeError), transaction.atomic():
        open_entry(operator, now)
    assert not AuditEntry.objects.exists()


def test_the_name_stays_when_the_account_goes(operator, now):
    ledger.record_refusal(actor=operator, verb="retry_job", subject="job-7", outcome="No.", now=now)
    operator.delete()
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.actor_name) == (None, "otto")


def test_what_is_too_long_or_holds_a_nul_is_kept_as_far_as_it_fits(operator, now):
    entry = ledger.record_refusal(
        actor=operator, verb="retry_job", subject="x" * 600, reason="a\0b" + "y" * 5000, outcome="No.", now=now
    )
    assert (len(entry.subject), len(entry.reason), entry.reason[:3]) == (512, 2000, "aby")


def test_a_jobs_entries_are_its_own_and_newest_first(operator, now):
    for minutes, subject, queue in ((1, "a", "orders"), (2, "a", "orders"), (3, "b", "orders"), (4, "a", "payroll")):
        ledger.record_change(
            actor=operator,
            verb="retry_job",
            subject=subject,
            connection="default",
            queue=queue,
            now=now + timedelta(minutes=minutes),
        )
    found = ledger.entries_of_job("default", "orders", "a")
    assert [entry.created_at for entry in found] == [now + timedelta(minutes=2), now + timedelta(minutes=1)]


def test_a_deletion_is_remembered_by_its_job(operator, now):
    about = {"actor": operator, "subject": "a", "connection": "default", "queue": "orders", "now": now}
    assert ledger.deletion_of_job("default", "orders", "a") is None
    ledger.record_refusal(verb="delete_job", outcome="No.", **about)
    assert ledger.deletion_of_job("default", "orders", "a") is None
    done = ledger.record_change(verb="delete_job", **about)
    assert ledger.deletion_of_job("default", "orders", "a") == done
