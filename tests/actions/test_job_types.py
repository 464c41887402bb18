"""Declaring a job type: one declaration at a time, each with its record."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from threading import Barrier

import pytest
from django.db import connection
from django.http import Http404

from jobs import ledger
from jobs.actions.job_types import Declaration, DeclaredMeanwhile, declare_job_type, version_of
from jobs.domain.idempotency import Idempotency
from jobs.models import AuditEntry, JobType

pytestmark = pytest.mark.django_db
PATH = "shop.charge"
UNSAFE = Declaration(idempotency=Idempotency.UNSAFE)
WHOLE = Declaration(
    idempotency=Idempotency.KEYED,
    remembered_for_seconds=86400,
    id_parameters=["order_id", "#2"],
    runbook_text="Look it up at the bank.\n\nThen tell Ina.",
    runbook_url="https://wiki.example/charge",
)


def declare(person, declaration, *, based_on="", reason="", path=PATH):
    return declare_job_type(person, path, declaration, based_on=based_on, reason=reason, now=datetime.now(UTC))


def test_all_of_it_is_kept(lead):
    declare(lead, WHOLE)
    found = JobType.objects.get()
    assert (found.path, found.declared_by) == (PATH, lead)
    assert (found.idempotency, found.remembered_for_seconds, found.id_parameters) == (
        "keyed",
        86400,
        ["order_id", "#2"],
    )
    assert (found.runbook_text, found.runbook_url) == (WHOLE.runbook_text, WHOLE.runbook_url)


def test_the_record_says_of_each_part_that_changed_what_it_was_and_is(lead):
    first = declare(lead, WHOLE)
    declare(lead, UNSAFE, based_on=version_of(first), reason="not so")
    newest, oldest = AuditEntry.objects.all()
    assert oldest.outcome == (
        "Run again: was undeclared, is keyed. Key recognised for: was none, is 24 h. "
        "Ids: was none, is order_id, #2. Runbook: was none, is “Look it up at the bank. Then tell Ina.”. "
        "Runbook link: was none, is https://wiki.example/charge."
    )
    assert newest.outcome.startswith("Run again: was keyed, is unsafe. Key recognised for: was 24 h, is none.")
    assert (newest.actor_name, newest.verb, newest.subject) == ("lena", "declare_job_type", PATH)
    assert (newest.status, newest.reason) == ("done", "not so")


def test_what_stays_as_it_was_is_not_on_record_again(lead):
    first = declare(lead, WHOLE)
    declare(lead, WHOLE, based_on=version_of(first))
    assert AuditEntry.objects.first().outcome == "Declared again as it was."


def test_of_a_long_runbook_only_the_first_words_are_on_record(lead):
    declare(lead, Declaration(runbook_text="Ask the bank. " * 280))
    outcome = AuditEntry.objects.get().outcome
    assert outcome.startswith("Runbook: was none, is “Ask the bank. Ask the bank.") and len(outcome) < 100
    assert len(JobType.objects.get().runbook_text) == 14 * 280


@pytest.mark.parametrize("declared", [True, False])
def test_a_declaration_that_was_based_on_another_state_changes_nothing_and_is_on_record(lead, superuser, declared):
    """Whether two people declared the type anew, or one of them for the first time."""
    based_on = version_of(declare(superuser, WHOLE)) if declared else ""
    declare(superuser, Declaration(idempotency=Idempotency.CHECKABLE), based_on=based_on)
    with pytest.raises(DeclaredMeanwhile):
        declare(lead, UNSAFE, based_on=based_on, reason="it mails")
    assert (JobType.objects.get().idempotency, JobType.objects.get().declared_by) == ("checkable", superuser)
    entry = AuditEntry.objects.first()
    assert (entry.actor_name, entry.status, entry.reason) == ("lena", "refused", "it mails")
    assert entry.outcome == "Not done: somebody else declared it meanwhile."


def test_a_version_that_never_was_is_a_conflict_too(lead):
    with pytest.raises(DeclaredMeanwhile):
        declare(lead, UNSAFE, based_on="2026-01-01T00:00:00+00:00")
    assert not JobType.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_of_two_first_declarations_at_once_one_holds_and_the_other_is_told(lead, superuser):
    barrier = Barrier(2)

    def one(person, kind):
        try:
            barrier.wait(10)
            return declare(person, Declaration(idempotency=kind)).idempotency
        except DeclaredMeanwhile:
            return None
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(one, lead, Idempotency.UNSAFE), pool.submit(one, superuser, Idempotency.REPEATABLE)]
        answers = [future.result(30) for future in asked]
    (winner,) = [answer for answer in answers if answer]
    assert JobType.objects.get().idempotency == winner
    assert sorted(AuditEntry.objects.values_list("status", flat=True)) == ["done", "refused"]


@pytest.mark.django_db(transaction=True)
def test_without_its_record_nothing_is_declared(lead, monkeypatch):
    def fail(**details):
        raise OSError

    monkeypatch.setattr(ledger, "record_change", fail)
    with pytest.raises(OSError):
        declare(lead, WHOLE)
    assert not JobType.objects.exists()


@pytest.mark.parametrize("who", ["outsider", "viewer", "operator", "pia"])
def test_without_the_right_nothing_is_declared_and_the_attempt_is_on_record(who, request):
    with pytest.raises(Http404):
        declare(request.getfixturevalue(who), WHOLE)
    assert not JobType.objects.exists()
    assert AuditEntry.objects.get().status == "refused"
