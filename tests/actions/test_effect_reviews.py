"""What people say in the review of an effect, and what becomes of the effect and its operation."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.core.exceptions import PermissionDenied
from guardian.shortcuts import remove_perm

from jobs.actions.reviews import Saying, claim, resolve
from jobs.broker import connections
from jobs.domain.verdicts import Verdict
from jobs.models import Attempt, AuditEntry, Effect, Operation, Resolution, Review
from tests.support.reviews import GIVEN, review_of

pytestmark = pytest.mark.django_db

UNDONE = {"undone_by": "refund-7", "undone_why": "the customer asked for it"}
MORE = {Verdict.PROBE_AGAIN: {}, Verdict.REVERSED: UNDONE}


def say(person, verdict, review=None, **changes):
    """He takes the review and says it."""
    now = datetime.now(UTC)
    review = review or Review.objects.get(closed_at=None)
    claim(person, review.pk, now)
    review.refresh_from_db()
    usual = {
        "review_id": review.pk,
        "version": review.version,
        "given": {**GIVEN, **MORE}[verdict] | ({"until": "x"} if verdict is Verdict.SNOOZE else {}),
        "look_again_at": now + timedelta(hours=1) if verdict is Verdict.SNOOZE else None,
        "now": now,
    }
    return resolve(Saying(actor=person, verdict=verdict, **{**usual, **changes}))


def where():
    """Where effect, operation and review stand."""
    return Effect.objects.get().status, Operation.objects.get().status, Review.objects.get().verdict


def ask_about(workshop, **changes):
    """An unsafe effect is in review, with these columns changed."""
    operation = workshop.in_review()
    Effect.objects.update(**changes)
    return operation


@pytest.mark.parametrize(
    ("verdict", "effect", "operation"),
    [
        (Verdict.HAPPENED, "completed", "retry_wait"),
        (Verdict.DID_NOT_HAPPEN, "released", "retry_wait"),
        (Verdict.PROBE_AGAIN, "begun", "retry_wait"),
        (Verdict.REVERSED, "reversed", "cancelled"),
        (Verdict.ABANDON, "abandoned", "failed"),
    ],
)
def test_what_is_said_settles_the_effect_and_its_operation(workshop, operator, verdict, effect, operation):
    ask_about(workshop, has_probe=True)
    answer = say(operator, verdict)
    assert answer.is_done and answer.sentence.startswith("On record. ")
    assert where() == (effect, operation, verdict)
    assert (AuditEntry.objects.get(verb="resolve_review").status, Operation.objects.get().deliveries.count()) == (
        "done",
        1,
    )


def test_a_review_that_is_put_off_stays_open(workshop, operator):
    ask_about(workshop)
    assert say(operator, Verdict.SNOOZE).is_done
    assert where() == ("unknown", "unknown", "")
    assert Review.objects.get().snoozed_until is not None


def test_what_was_known_then_is_kept_with_the_word(workshop, operator):
    horizon = datetime(2026, 3, 15, tzinfo=UTC)
    ask_about(workshop, key_valid_until=horizon)
    say(operator, Verdict.DID_NOT_HAPPEN)
    kept = Resolution.objects.get()
    assert kept.evidence["key_valid_until"] == horizon.isoformat()
    assert (kept.decision_code, kept.liveness) == (
        "said_not_happened",
        "The attempt that began it is dead: it can no longer act.",
    )


def test_it_needs_no_job_store(workshop, operator, settings):
    ask_about(workshop)
    settings.OPSBOARD_CONNECTIONS = {"default": {"url": "redis://127.0.0.1:1/0"}}
    connections.reset()
    assert say(operator, Verdict.DID_NOT_HAPPEN).is_done


@pytest.mark.parametrize("verdict", [Verdict.DID_NOT_HAPPEN, Verdict.PROBE_AGAIN])
def test_while_its_attempt_may_act_nothing_that_leads_to_a_call_is_taken(workshop, operator, verdict):
    ask_about(workshop, has_probe=True)
    Effect.objects.update(begun_by=alive(Attempt.objects.get()))
    answer = say(operator, verdict)
    assert not answer.is_done and "may still act until" in answer.sentence
    assert where() == ("unknown", "unknown", "")
    assert AuditEntry.objects.get(verb="resolve_review").decision_code == "quarantine"


def test_before_the_other_side_has_settled_it_did_not_happen_is_not_taken(workshop, operator):
    ask_about(workshop, settles_in_seconds=3600)
    assert "The other side may still change its answer until" in say(operator, Verdict.DID_NOT_HAPPEN).sentence


@pytest.mark.parametrize("verdict", [Verdict.DID_NOT_HAPPEN, Verdict.PROBE_AGAIN])
def test_without_the_right_to_retry_nobody_has_the_call_made_again(workshop, operator, orders, verdict):
    ask_about(workshop, has_probe=True)
    remove_perm("opsboard_jobs.retry_job", operator, orders)
    with pytest.raises(PermissionDenied):
        say(operator, verdict)
    assert where() == ("unknown", "unknown", "")
    assert "No right to retry" in AuditEntry.objects.get(verb="resolve_review").outcome


def test_what_others_said_meanwhile_is_not_overruled(workshop, operator, superuser):
    ask_about(workshop)
    review = Review.objects.get()
    assert say(operator, Verdict.ABANDON).is_done
    assert not say(superuser, Verdict.DID_NOT_HAPPEN, review).is_done
    assert where() == ("abandoned", "failed", "abandon")


def test_of_a_plain_job_nobody_says_what_is_said_of_effects(workshop, operator):
    workshop.client.hset("rq:job:plain", mapping={"status": "failed", "origin": "orders", "created_at": "2026-01-01"})
    workshop.client.zadd("rq:failed:orders", {"plain": 9e9})
    answer = say(operator, Verdict.REVERSED, review_of("plain"))
    assert not answer.is_done and "plain job" in answer.sentence


def alive(attempt):
    """An attempt like this one that still goes on."""
    return Attempt.objects.create(
        operation=attempt.operation,
        number=2,
        fence=2,
        job_id=attempt.job_id,
        started_at=attempt.started_at,
        lease_until=datetime.now(UTC) + timedelta(minutes=5),
    )
